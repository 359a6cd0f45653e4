"""`many_files`: milliseconds per turn of an agent that looks around among many files."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median

from langchain_core.messages import ToolMessage

from tests.benchmarks.contestants import OURS, Contestant, peers, with_savers
from tests.benchmarks.corpus import FILES_PER_TICKET, many_files
from tests.benchmarks.rounds import median_ratio, samples
from tests.benchmarks.rows import Row
from tests.benchmarks.runs import timed_run
from tests.benchmarks.savers import Opener
from tests.benchmarks.scripted import Call, call

__all__ = ("Turn", "measure", "scripts", "title")

title = "many_files: milliseconds per turn with 5,000 files of 1 kB in state"

_TARGET = 1.0
Turn = tuple[Call, str]
"""A call, and what its answer must name."""


def measure(
    rounds: int = 5,
    turns: int = 100,
    files: int = 5_000,
    contestants: Sequence[Contestant] | None = None,
) -> list[Row]:
    """Return what a turn of each operation takes, with no saver and on SQLite."""
    chosen = [OURS, *peers()] if contestants is None else contestants
    given = many_files(files)
    measures = {
        (f"{operation}, {saver}", contestant): _measure(contestant, opener, given, script)
        for operation, script in scripts(list(given), turns).items()
        for contestant in chosen
        for saver, opener in with_savers().items()
    }
    found = samples(measures, rounds)
    return [
        _row(what, contestant, value, found.get((what, OURS)))
        for (what, contestant), value in sorted(found.items(), key=lambda item: item[0][0])
    ]


def _row(what: str, contestant: Contestant, taken: list[float], ours: list[float] | None) -> Row:
    value = median(taken)
    if contestant is OURS or ours is None:
        return Row(what, contestant.name, value, "ms")
    return Row(what, contestant.name, value, "ms", median_ratio(ours, taken), _TARGET)


def _measure(
    contestant: Contestant, opener: Opener, files: dict[str, str], script: Sequence[Turn]
) -> Callable[[], float]:
    def measured() -> float:
        milliseconds, state = timed_run(contestant, opener, files, [call for call, _ in script])
        answers = [m for m in state["messages"] if isinstance(m, ToolMessage)]
        for answer, (asked, named) in zip(answers, script, strict=True):
            assert named in str(answer.content), f"{contestant.name} answered {asked} without it"
        return milliseconds

    return measured


def scripts(paths: Sequence[str], turns: int) -> Mapping[str, list[Turn]]:
    """Return the turns of each operation, spread over the files."""
    asked = [place * len(paths) // turns for place in range(turns)]
    return {
        "ls": [_ls(paths[place]) for place in asked],
        "glob": [_glob(paths[place]) for place in asked],
        "grep": [_grep(paths[place], place) for place in asked],
        "read_file": [_read_file(paths[place], place) for place in asked],
    }


def _ls(path: str) -> Turn:
    directory, _, name = path.rpartition("/")
    return call("ls", path=directory), name


def _glob(path: str) -> Turn:
    name = path.rpartition("/")[2]
    return call("glob", pattern=f"**/{name}", path="/"), path


def _grep(path: str, place: int) -> Turn:
    ticket = f"ticket {place // FILES_PER_TICKET:04}"
    return call("grep", pattern=ticket, path="/", output_mode="files_with_matches"), path


def _read_file(path: str, place: int) -> Turn:
    return call("read_file", file_path=path), f"part {place}"
