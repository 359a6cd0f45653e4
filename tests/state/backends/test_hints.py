"""What `rg` says of a tree: with sizes asked for or not, the same is found.

Whole searches of all kinds are in `test_disk_search.py`, each of them also without sizes.
"""

import time
from collections.abc import Callable
from typing import get_args

import pytest

from langgraph_filesystem.state.backends import disk_search, hints, ripgrep
from langgraph_filesystem.state.backends.disk_search import grep
from langgraph_filesystem.state.backends.jail import Jail
from langgraph_filesystem.state.backends.protocol import GrepResult, OutputMode
from langgraph_filesystem.state.backends.sizes import Sizes
from langgraph_filesystem.state.search import Query
from tests.state.backends.disk.places import Place, write

RG = ripgrep.find_ripgrep()
LIMIT = 100_000


@pytest.fixture
def recorded(place: Place, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[bool]]:
    """Return what says of each time that `rg` looked through a tree if it asked for sizes."""
    program, log = place.outside / "rg", place.outside / "log"
    program.write_text(f'#!/bin/sh\necho "$*" >> "{log}"\nexec "{RG}" "$@"\n')
    program.chmod(0o755)
    monkeypatch.setattr(disk_search, "find_ripgrep", lambda: str(program))

    def asked_for_sizes() -> list[bool]:
        said = log.read_text() if log.exists() else ""
        found = [line for line in said.splitlines() if "--no-ignore" in line]
        assert all(("--debug" in line) == ("--max-filesize" in line) for line in found)
        log.write_text("")
        return ["--max-filesize" in line for line in found]

    return asked_for_sizes


def known(
    jail: Jail, sizes: Sizes, query: Query | None = None, path: str = "/", glob: str | None = None
) -> GrepResult:
    query = query or Query("foo")
    return grep(jail, query, path, glob, max_file_size=LIMIT, engine="rg", sizes=sizes)


def test_sizes_are_asked_for_once_in_a_while(
    place: Place, jail: Jail, recorded: Callable[[], list[bool]]
) -> None:
    write(place.root, {"d/a": b"foo", "d/b.py": b"foo", "e/a": b"bar"})
    sizes = Sizes()
    first = known(jail, sizes)
    assert known(jail, sizes) == first
    assert known(jail, sizes, path="/d") == known(jail, sizes, glob="d/*")
    assert known(jail, sizes, Query("foo", output_mode="count"), glob="*.py").counts
    assert recorded() == [True, False, False, False, False]
    sizes = Sizes(lasting=0.0)
    assert known(jail, sizes) == known(jail, sizes) == first
    assert recorded() == [True, True]


def test_only_a_search_that_has_seen_all_files_counts(
    place: Place, jail: Jail, recorded: Callable[[], list[bool]]
) -> None:
    write(place.root, {"d/a": b"foo", "d/b.py": b"foo", "e/large": b"x" * (LIMIT + 1)})
    sizes = Sizes()
    known(jail, sizes, path="/d", glob="*.py")
    known(jail, sizes)
    assert recorded() == [True, True]
    late = grep(jail, Query("x"), "/d", max_file_size=LIMIT, time_limit=-1, sizes=sizes)
    assert late.truncated
    assert sizes.seconds("/d/") is None
    recorded()
    for path in ("/", "/d", "/d", "/e"):
        known(jail, sizes, path=path)
    assert recorded() == [True, True, False, True]


@pytest.mark.parametrize("mode", get_args(OutputMode))
@pytest.mark.parametrize("pattern", ["foo", "fo+", r"\bfoo\b"])
def test_a_file_that_has_grown_too_large_is_left_out_and_noted(
    place: Place,
    jail: Jail,
    recorded: Callable[[], list[bool]],
    mode: OutputMode,
    pattern: str,
) -> None:
    write(place.root, {"d/a": b"foo\n", "d/b": b"foo\n", "e/a": b"foo\n"})
    query, sizes = Query(pattern, regex=pattern != "foo", output_mode=mode), Sizes()
    assert known(jail, sizes, query).counts == {"/d/a": 1, "/d/b": 1, "/e/a": 1}
    time.sleep(0.05)  # so that counts are taken over
    with open(place.root / "d/b", "ab") as file:
        file.write(b"foo\n" * LIMIT)
    result = known(jail, sizes, query)
    assert result == grep(jail, query, max_file_size=LIMIT, engine="python")
    assert result.counts == {"/d/a": 1, "/e/a": 1}
    assert result.note is not None
    assert result.note.endswith("left out: /d/b.")
    assert known(jail, sizes, query) == result
    assert recorded() == [True, False, True]


@pytest.mark.parametrize(
    ("mode", "content"), [("content", b"x"), ("files_with_matches", b"\0"), ("count", b"x")]
)
def test_a_huge_file_that_came_meanwhile_takes_little_memory_and_time(
    place: Place,
    jail: Jail,
    recorded: Callable[[], list[bool]],
    monkeypatch: pytest.MonkeyPatch,
    mode: OutputMode,
    content: bytes,
) -> None:
    write(place.root, {"a": b"foo\n", "b/c": b"foo\n"})
    monkeypatch.setattr(ripgrep, "_MEMORY", 48 << 20)
    query, sizes = Query("foo", output_mode=mode), Sizes()
    known(jail, sizes, query)
    write(place.root, {"b/huge": content * (60 << 20)})
    result = known(jail, sizes, query)
    assert result == grep(jail, query, max_file_size=LIMIT, engine="python")
    assert result.counts == {"/a": 1, "/b/c": 1}
    assert recorded() == [True, False, True]  # the second one was ended, and asked again
    assert known(jail, sizes, query) == result
    assert recorded() == [True]


def test_a_search_that_takes_much_longer_than_the_last_is_ended_and_asks_for_sizes(
    place: Place, jail: Jail, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = place.outside / "rg"
    slow = (
        'case "$*" in *--max-filesize*) ;; *--no-ignore*) printf "./lie\\0007\\n"; sleep 60;; esac'
    )
    program.write_text(f'#!/bin/sh\n{slow}\nexec "{RG}" "$@"\n')
    program.chmod(0o755)
    monkeypatch.setattr(disk_search, "find_ripgrep", lambda: str(program))
    write(place.root, {"a": b"foo\n", "lie": b"foo\n" * 9})
    sizes, start = Sizes(), time.monotonic()
    results = [known(jail, sizes, Query("foo", output_mode="count")) for _ in range(3)]
    assert results == [results[0]] * 3
    assert results[0].counts == {"/a": 1, "/lie": 9}
    assert results[0].note is None
    assert time.monotonic() - start < 20


def test_where_memory_can_not_be_bounded_sizes_are_always_asked_for(
    place: Place,
    jail: Jail,
    recorded: Callable[[], list[bool]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hints, "CAN_BOUND_MEMORY", False)
    write(place.root, {"a": b"foo"})
    sizes = Sizes()
    assert known(jail, sizes) == known(jail, sizes)
    assert recorded() == [True, True]
