"""What `rg` says of a tree is a list of candidates: what is not so in the file itself is no match.

Whole searches, and trees that change meanwhile, are in `test_disk_search.py`.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from langgraph_filesystem.state.backends.candidates import confirmed_files, first_files
from langgraph_filesystem.state.backends.collected import Collected, Search
from langgraph_filesystem.state.backends.jail import RESERVED, TEMPORARY, Jail
from langgraph_filesystem.state.backends.ripgrep import Ripgrep, find_ripgrep
from langgraph_filesystem.state.backends.scanning import Matcher
from langgraph_filesystem.state.globs import GlobWalk
from langgraph_filesystem.state.search import Query
from tests.state.backends.disk.places import Place, open_handles, write

RG = find_ripgrep()
assert RG is not None
COUNT = Query("foo", output_mode="count")
QUERIES = [Query("foo"), COUNT, Query("fo+", regex=True)]


def asked(jail: Jail, query: Query, glob: str | None = None, seconds: float = 60) -> Search:
    wanted = GlobWalk(glob) if glob else None
    until = time.monotonic() + seconds
    return Search(jail, Matcher(query), "/", glob, wanted, 1_000, until)


def confirmed(search: Search, program: str | None = RG) -> dict[str, int]:
    assert program is not None
    rg = Ripgrep(program, search.matcher, search.deadline)
    handle, collected = (
        os.open(".", os.O_RDONLY, dir_fd=search.jail.root),
        Collected(search.matcher),
    )
    try:
        return {found.path: found.count for found in confirmed_files(search, handle, rg, collected)}
    finally:
        os.close(handle)


def first(search: Search) -> dict[str, int]:
    assert RG is not None
    rg = Ripgrep(RG, search.matcher, search.deadline)
    return {found.path: found.count for found in first_files(search, rg, Collected(search.matcher))}


def liar(directory: Path, *records: str) -> str:
    """Return a program that says of each of these that seven lines match."""
    said = "".join(f"./{name}\\0007\\n" for name in records)
    program = directory / "rg"
    program.write_text(f"#!/bin/sh\nprintf '{said}'\n")
    program.chmod(0o755)
    return str(program)


@pytest.mark.parametrize("query", QUERIES, ids=repr)
@pytest.mark.parametrize("find", [first, confirmed])
def test_files_are_found_in_the_order_of_their_paths(
    jail: Jail, place: Place, query: Query, find: Callable[[Search], dict[str, int]]
) -> None:
    files = {"b": "foo\n", "a/z": "x\nfoo\nfoo\n", "a/b/c": "foo"}
    write(place.root, files | {"c": "bar", "binary": "foo\0", "large": "foo\n" * 999})
    before = open_handles()
    assert list(find(asked(jail, query)).items()) == [("/a/b/c", 1), ("/a/z", 2), ("/b", 1)]
    assert open_handles() == before


@pytest.mark.parametrize("find", [first, confirmed])
def test_what_is_ours_and_what_a_link_leads_to_is_not_found(
    jail: Jail, place: Place, find: Callable[[Search], dict[str, int]]
) -> None:
    for name in (f"{RESERVED}/note", f"{TEMPORARY}1", f"d/{TEMPORARY}2", f"d/{RESERVED}"):
        write(place.root, {name: "secret"})
    (place.root / "link").symlink_to(place.outside / "secret.txt")
    (place.root / "links").symlink_to(place.outside)
    assert find(asked(jail, Query("secret"))) == {f"/d/{RESERVED}": 1}


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("*.py", ["/a/x.py", "/b/x.py"]),
        ("a/*", ["/a/x.md", "/a/x.py"]),
        ("a/*.py", ["/a/x.py"]),
        ("nowhere/*", []),
    ],
)
@pytest.mark.parametrize("find", [first, confirmed])
def test_only_files_that_match_the_pattern_are_found(
    jail: Jail,
    place: Place,
    find: Callable[[Search], dict[str, int]],
    glob: str,
    expected: list[str],
) -> None:
    for name in ("a/x.py", "a/x.md", "b/x.py"):
        write(place.root, {name: "foo"})
    assert list(find(asked(jail, COUNT, glob))) == expected


def test_what_only_the_program_has_seen_is_not_found(jail: Jail, place: Place) -> None:
    write(
        place.root, {"true": "foo\n", "d/other": "bar\n", "binary": "foo\0", "large": "foo\n" * 999}
    )
    for target in (place.outside, place.outside / "secret.txt", place.root / "true"):
        (place.root / f"to-{target.name}").symlink_to(target)
    names = (
        "gone",
        "d",
        "d/other",
        "binary",
        "large",
        "to-true",
        "to-the-outside/secret.txt",
        "true",
    )
    program = liar(place.outside.parent, *names, "to-secret.txt", "../the-outside/secret.txt")
    assert confirmed(asked(jail, Query("foo")), program) == {"/true": 1}


def test_a_count_is_taken_over_only_where_nothing_has_changed(jail: Jail, place: Place) -> None:
    write(place.root, {"d/a": "foo\nfoo\n", "e/a": "foo\n"})
    time.sleep(0.05)  # the clock of the files moves by steps
    program = liar(place.outside.parent, "d/a", "e/a")
    # It touches one directory while it "searches": there its word is worth nothing.
    Path(program).write_text(Path(program).read_text() + f"touch '{place.root}/e/new'\n")
    assert confirmed(asked(jail, COUNT), program) == {"/d/a": 7, "/e/a": 1}


def test_handles_are_given_back_when_nobody_wants_more(jail: Jail, place: Place) -> None:
    assert RG is not None
    write(place.root, {f"f{number}": "foo" for number in range(50)})
    before = open_handles()
    for query in QUERIES:
        search = asked(jail, query)
        rg = Ripgrep(RG, search.matcher, search.deadline)
        found = first_files(search, rg, Collected(search.matcher))
        assert next(found).path == "/f0"
        found.close()
        assert open_handles() == before


@pytest.mark.parametrize(
    ("pattern", "ignore_case"), [(r"\bself\b", False), ("file", True), (r"k\b", True)]
)
def test_lines_and_counts_agree_where_the_engines_do_not(
    jail: Jail, place: Place, pattern: str, ignore_case: bool
) -> None:
    text = "x\u00b2=self\nself\u0301\nself\nF\u0130LE f\u0131le file\nf\u0131le\nKelvin \u212a\n"
    write(place.root, {"a": text, "b": "self file k\n"})
    time.sleep(0.02)  # older than the search, so that counts are taken over
    query = Query(pattern, regex="\\" in pattern, ignore_case=ignore_case)
    counted = Query(pattern, query.regex, ignore_case, output_mode="count")
    assert confirmed(asked(jail, query)) == confirmed(asked(jail, counted))
