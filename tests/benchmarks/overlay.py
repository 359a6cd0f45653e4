"""`overlay`: a repository on disk under an overlay, against the same directory written directly."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import ToolMessage
from langgraph.types import Checkpointer

from langgraph_filesystem import FilesystemBackend, OverlayBackend, create_filesystem_agent
from tests.benchmarks.contestants import Agent, Contestant
from tests.benchmarks.corpus import many_files, real_text, step, with_steps
from tests.benchmarks.many_files import Turn, scripts
from tests.benchmarks.rounds import median_ratio, samples
from tests.benchmarks.rows import Row
from tests.benchmarks.runs import files_of, run
from tests.benchmarks.savers import database_bytes, open_saver, write_back
from tests.benchmarks.scripted import Call, call

__all__ = ("OVERLAY", "PLAIN", "measure", "title")

title = "overlay: a turn among 5,000 files on disk, on SQLite; and what changes take there"

OVERLAY, PLAIN = "OverlayBackend", "FilesystemBackend"
_TARGET, _TARGET_KB = 1.3, 14.0
_STEPS = "/src/steps.py"
_CHANGED = 20
"""Files that the agent has changed before it looks around."""


@dataclass(frozen=True)
class Task:
    """The calls before those that are timed, and these with what each answer must name."""

    before: Sequence[Call]
    turns: Sequence[Turn]


def measure(
    rounds: int = 5,
    turns: int = 100,
    files: int = 5_000,
    edits: int = 1_000,
    sizes: Sequence[int] = (100_000, 1_000_000),
) -> list[Row]:
    """Return what a turn of each operation takes, and what the changes of a file add."""
    rows = _times(rounds, turns, files)
    for size in sizes:
        rows += _bytes(size, edits)
    return rows


# Time


def _times(rounds: int, turns: int, files: int) -> list[Row]:
    given = {**many_files(files), _STEPS: with_steps(real_text(0, 10_000), turns)}
    with _tree(given) as root:
        tasks = _tasks(given, turns)
        measures = {
            (what, contestant.name): _timed(contestant, root, given, task)
            for what, task in tasks.items()
            for contestant in _contestants(root)
        }
        found = samples(measures, rounds)
    rows = []
    for what in tasks:
        ours, plain = found[what, OVERLAY], found[what, PLAIN]
        rows.append(Row(what, OVERLAY, median(ours), "ms"))
        rows.append(Row(what, PLAIN, median(plain), "ms", median_ratio(ours, plain), _TARGET))
    return rows


def _tasks(files: Mapping[str, str], turns: int) -> dict[str, Task]:
    paths = [path for path in files if path != _STEPS]
    places = [number * len(paths) // turns for number in range(turns)]
    first = [_changed(paths[place], place) for place in places]
    reads = [call("read_file", file_path=paths[place]) for place in places]
    changed = min(_CHANGED, turns)
    before = [*reads[:changed], *(edit for edit, _ in first[:changed])]
    again = [(edit, _STEPS) for edit in _step_edits(_STEPS, turns)]
    return {
        "edit_file, one file": Task([call("read_file", file_path=_STEPS)], again),
        "edit_file, each turn another": Task(reads, first),
        **{name: Task(before, script) for name, script in scripts(paths, turns).items()},
    }


def _changed(path: str, place: int) -> Turn:
    """Return the edit of a file that keeps what the other operations look for."""
    old = f", part {place}\n"
    edit = call(
        "edit_file", file_path=path, old_string=old, new_string=f", part {place}, changed\n"
    )
    return edit, path


def _step_edits(path: str, count: int, first: int = 0) -> list[Call]:
    return [
        call("edit_file", file_path=path, old_string=step(n), new_string=step(n, "x"))
        for n in range(first, first + count)
    ]


def _timed(
    contestant: Contestant, root: Path, files: Mapping[str, str], task: Task
) -> Callable[[], float]:
    changed = {args["file_path"] for name, args in _calls(task) if name == "edit_file"}

    def measured() -> float:
        with TemporaryDirectory() as directory, open_saver(Path(directory, "bench.db")) as saver:
            run(contestant, saver, task.before)
            write_back(Path(directory, "bench.db"))
            seconds, state = run(contestant, saver, [asked for asked, _ in task.turns])
        answers = [m for m in state["messages"] if isinstance(m, ToolMessage)]
        for answer, (asked, named) in zip(answers[len(task.before) :], task.turns, strict=True):
            assert named in str(answer.content), f"{contestant.name} answered {asked} without it"
        on_disk = {path: Path(f"{root}{path}").read_text() for path in changed}
        original = {path: files[path] for path in changed}
        if contestant.name == OVERLAY:
            assert on_disk == original, "an overlay changes nothing on disk"
            assert files_of(state).keys() == changed
        else:
            assert changed == {path for path in changed if on_disk[path] != original[path]}
            _write(root, original)
        return seconds * 1000 / len(task.turns)

    return measured


def _calls(task: Task) -> Iterator[Call]:
    yield from task.before
    yield from (asked for asked, _ in task.turns)


# Bytes


def _bytes(size: int, edits: int) -> list[Row]:
    """Return what the first edit of a file adds to the database, and what each later one adds."""
    overlay, plain = (_added(place, size, edits) for place in (0, 1))
    first, later = f"first edit of {size / 1000:,.0f} kB", f"each of {edits:,} later ones"
    return [
        Row(first, OVERLAY, overlay[0] / 1000, "kB", overlay[0] / size),
        Row(first, PLAIN, plain[0] / 1000, "kB"),
        Row(later, OVERLAY, overlay[1] / 1000, "kB", target=_TARGET_KB),
        Row(later, PLAIN, plain[1] / 1000, "kB"),
    ]


def _added(place: int, size: int, edits: int) -> tuple[float, float]:
    steps = len(step(0)) + 1
    text = with_steps(real_text(0, size - (edits + 1) * steps), edits + 1)
    after = text.replace("# [ ]", "# [x]")
    scripts = (
        [call("read_file", file_path=_STEPS)],
        _step_edits(_STEPS, 1),
        _step_edits(_STEPS, edits, first=1),
    )
    with _tree({_STEPS: text}) as root, TemporaryDirectory() as directory:
        contestant = _contestants(root)[place]
        database = Path(directory, "bench.db")
        sizes = []
        for script in scripts:
            with open_saver(database) as saver:
                _, state = run(contestant, saver, script)
            sizes.append(database_bytes(database))
        if contestant.name == OVERLAY:
            assert files_of(state)[_STEPS] == after
        else:
            assert Path(f"{root}{_STEPS}").read_text() == after
    read, first, last = sizes
    return first - read, (last - first) / edits


# The directory, and who works on it


@contextmanager
def _tree(files: Mapping[str, str]) -> Iterator[Path]:
    with TemporaryDirectory(prefix="lgfs-bench-") as directory:
        root = Path(directory)
        for parent in {os.path.dirname(path) for path in files}:
            Path(f"{root}{parent}").mkdir(parents=True, exist_ok=True)
        _write(root, files)
        os.sync()  # what is still to be written would slow those down who come first
        yield root


def _write(root: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        Path(f"{root}{path}").write_text(text)


def _contestants(root: Path) -> tuple[Contestant, Contestant]:
    plain = FilesystemBackend(root)
    return _contestant(OVERLAY, OverlayBackend(plain)), _contestant(PLAIN, plain)


def _contestant(name: str, backend: Any) -> Contestant:
    def build(model: BaseChatModel, checkpointer: Checkpointer) -> Agent:
        return create_filesystem_agent(model, mounts={"/": backend}, checkpointer=checkpointer)

    return Contestant(name, build)
