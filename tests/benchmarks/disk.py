"""`disk`: operations on a tree of many files and on a large one, against the peer and the limit.

The limit is what the machine can do with no backend at all: `rg`, a walk with `os.scandir`, a
`pread`, a write to a temporary file that is renamed.
"""

import contextlib
import itertools
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from langgraph_filesystem.state.backends.disk.ripgrep import find_ripgrep
from tests.benchmarks import disk_memory
from tests.benchmarks.contestants import peers
from tests.benchmarks.corpus import FILES_PER_TICKET
from tests.benchmarks.disk_limits import first_lines, page, replaced, rg, walk
from tests.benchmarks.disk_tree import LARGE, PER_DIRECTORY, Tree, made_tree
from tests.benchmarks.rounds import median_ratio, samples
from tests.benchmarks.rows import Row

__all__ = ("measure", "title")

title = "disk: milliseconds on 100,000 files and on a file of 1 GB (--quick: a tenth)"

OURS, PEER, LIMIT = "FilesystemBackend", "deepagents", "limit"
_AHEAD, _OF_THE_LIMIT, _GREP_OF_THE_LIMIT, _MEGABYTES = 1.0, 2.0, 1.5, 20.0
_PAGE = 2_000
_REGEX = r"ticket \d+0, part \d+5$"
Work = Callable[[], object]


@dataclass(frozen=True)
class Task:
    """One thing to do, and who can do it. Each of them says whether it did."""

    what: str
    target: float
    ours: Work
    limit: Work
    peer: Work | None = None
    times: int = 1


def measure(
    rounds: int = 5, files: int | None = None, large: int | None = None, *, with_peers: bool = True
) -> list[Row]:
    """Return what each operation takes."""
    share = 10 if rounds <= 1 else 1
    files = 100_000 // share if files is None else files
    large = 1_000_000_000 // share if large is None else large
    with made_tree(files, large) as tree, _rg_on_path():
        ours, peer = FilesystemBackend(tree.root), _peer(tree) if with_peers else None
        rows = []
        for task in _tasks(tree, ours, peer):
            rows += _rows(task, rounds)
        rows += _memory(tree, peer is not None)
        ours.close()
    return rows


def _peer(tree: Tree) -> Any:
    if not peers():
        return None
    from deepagents.backends import FilesystemBackend as Theirs

    return Theirs(tree.root, virtual_mode=True)


@contextlib.contextmanager
def _rg_on_path() -> Iterator[None]:
    """Let the peer find the same `rg`, which it looks for on the path."""
    program, path = find_ripgrep(), os.environ.get("PATH", "")
    assert program is not None, "`make bench` installs it"
    os.environ["PATH"] = f"{os.path.dirname(program)}{os.pathsep}{path}"
    try:
        yield
    finally:
        os.environ["PATH"] = path


def _rows(task: Task, rounds: int) -> list[Row]:
    works = {OURS: task.ours, LIMIT: task.limit} | ({PEER: task.peer} if task.peer else {})
    taken = samples(
        {name: partial(_timed, task, name, work) for name, work in works.items()}, rounds
    )
    targets = {LIMIT: task.target, PEER: _AHEAD}
    rows = [Row(task.what, OURS, median(taken[OURS]), "ms")]
    for name in (PEER, LIMIT):
        if name in taken:
            ratio = median_ratio(taken[OURS], taken[name])
            rows.append(Row(task.what, name, median(taken[name]), "ms", ratio, targets[name]))
    return rows


def _timed(task: Task, name: str, work: Work) -> float:
    start = time.perf_counter()
    for _ in range(task.times):
        done = work()
    milliseconds = (time.perf_counter() - start) * 1000 / task.times
    assert done, f"{name} did not do it: {task.what}"
    return milliseconds


def _tasks(tree: Tree, ours: FilesystemBackend, peer: Any) -> list[Task]:
    return [
        *_globs(tree, ours, peer),
        *_greps(tree, ours, peer),
        *_greps_of_large(tree, ours, peer),
        _ls(tree, ours, peer),
        *_pages(tree, ours, peer),
        _edit(tree, ours, peer),
    ]


# Searches


def _globs(tree: Tree, ours: FilesystemBackend, peer: Any) -> list[Task]:
    def task(pattern: str, ending: str) -> Task:
        expected = tree.ending_in(ending)

        def found(backend: Any) -> bool:
            return len(backend.glob(pattern, "/src").matches) == expected

        def found_some() -> bool:
            # The peer gives up after 5 s, with what it has by then.
            return 0 < len(peer.glob(pattern, "/src").matches) <= expected

        limit = partial(walk, tree.root / "src", tree.files)
        work = found_some if peer else None
        return Task(f"glob {pattern}", _OF_THE_LIMIT, partial(found, ours), limit, work)

    return [task("**/*.py", "py"), task("*.txt", "txt")]


def _greps(tree: Tree, ours: FilesystemBackend, peer: Any) -> list[Task]:
    rare = f"ticket {tree.files // FILES_PER_TICKET // 2:05},"
    search = partial(ours.grep, path="/src")
    bare = partial(rg, cwd=tree.root)

    def rare_found(backend: Any) -> bool:
        return len(backend.grep(rare, "/src").matches) == FILES_PER_TICKET

    def ten_found(backend: Any) -> bool:
        return len(backend.grep("import", "/src", max_count=10).matches) == 10

    return [
        Task(
            "grep, a rare text",
            _GREP_OF_THE_LIMIT,
            partial(rare_found, ours),
            partial(bare, "-nF", rare, "src"),
            partial(rare_found, peer) if peer else None,
        ),
        Task(
            "grep, 10 of a common text",
            _GREP_OF_THE_LIMIT,
            partial(ten_found, ours),
            partial(first_lines, tree.root, 10),
            partial(ten_found, peer) if peer else None,
        ),
        Task(
            "grep, a regex",
            _GREP_OF_THE_LIMIT,
            lambda: search(_REGEX, regex=True).matches,
            partial(bare, "-n", _REGEX, "src"),
        ),
        Task(
            "grep, files with a common text",
            _GREP_OF_THE_LIMIT,
            lambda: search("import", output_mode="files_with_matches").counts,
            partial(bare, "-lF", "import", "src"),
        ),
        Task(
            "grep, counts of a regex",
            _GREP_OF_THE_LIMIT,
            lambda: search(r"^\s+return \w+$", regex=True, output_mode="count").counts,
            partial(bare, "-c", r"^\s+return \w+$", "src"),
        ),
    ]


def _greps_of_large(tree: Tree, ours: FilesystemBackend, peer: Any) -> list[Task]:
    needle, path = "the needle at the end", f"/{LARGE}"

    def found(backend: Any) -> bool:
        return len(backend.grep(needle, path).matches) == 1

    # The peer leaves files over its size limit out, so there is nothing to compare with.
    return [
        Task(
            "grep, one line of the large file",
            _GREP_OF_THE_LIMIT,
            partial(found, ours),
            partial(rg, "-nF", needle, LARGE, cwd=tree.root),
        ),
    ]


# Lists, pages, edits


def _ls(tree: Tree, ours: FilesystemBackend, peer: Any) -> Task:
    directory = os.path.dirname(tree.path(0))

    def listed(backend: Any) -> bool:
        return len(backend.ls(f"/{directory}").entries) == PER_DIRECTORY

    def bare() -> bool:
        with os.scandir(tree.root / directory) as entries:
            known = [(entry.name, entry.stat(), entry.is_dir()) for entry in entries]
        return len(known) == PER_DIRECTORY

    work = partial(listed, peer) if peer else None
    return Task("ls of 100 files", _OF_THE_LIMIT, partial(listed, ours), bare, work, times=50)


def _pages(tree: Tree, ours: FilesystemBackend, peer: Any) -> list[Task]:
    path = f"/{LARGE}"

    def first(backend: Any) -> object:
        return backend.read(path, 0, _PAGE).file_data["content"]

    def forward() -> bool:
        offset: int | None = 0
        for _ in range(20):
            offset = ours.read(path, offset or 0, _PAGE).next_offset
        return offset is not None

    def bare_forward() -> bool:
        at = 0
        for _ in range(20):
            at += len(page(tree.root / LARGE, at, _PAGE))
        return at > 0

    bare = partial(page, tree.root / LARGE, 0, _PAGE)
    work = partial(first, peer) if peer else None
    return [
        Task("first page of the large file", _OF_THE_LIMIT, partial(first, ours), bare, work, 1),
        Task("20 pages, one after the other", _OF_THE_LIMIT, forward, bare_forward, times=3),
    ]


def _edit(tree: Tree, ours: FilesystemBackend, peer: Any) -> Task:
    states = itertools.cycle(["# ticket", "# TICKET"])
    state = next(states)

    def turned() -> tuple[str, str]:
        nonlocal state
        before, state = state, next(states)
        return before, state

    path = tree.path(0)

    def edited(backend: Any) -> bool:
        return backend.edit(f"/{path}", *turned()).error is None

    def bare() -> bool:
        return replaced(tree.root / path, *(text.encode() for text in turned()))

    next(states)
    work = partial(edited, peer) if peer else None
    return Task("edit of 2 kB", _OF_THE_LIMIT, partial(edited, ours), bare, work, times=20)


def _memory(tree: Tree, with_peer: bool) -> list[Row]:
    if sys.platform != "linux":
        return []
    what = "memory for a page of the large file"
    added = disk_memory.megabytes(tree, disk_memory.OURS)
    rows = [Row(what, OURS, added, "MB", target=_MEGABYTES)]
    if with_peer:
        other = disk_memory.megabytes(tree, disk_memory.THEIRS)
        rows.append(Row(what, PEER, other, "MB", added / max(other, 0.001), _AHEAD))
    return rows
