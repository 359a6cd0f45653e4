"""`grep` on disk: two engines, one answer, whatever lies in the tree."""

import os
import re
import resource
import stat
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_filesystem.state.backends import candidates, collected, disk_search, hints, ripgrep
from langgraph_filesystem.state.backends.disk_search import Engine, grep
from langgraph_filesystem.state.backends.jail import RESERVED, TEMPORARY, Jail, Unconfined
from langgraph_filesystem.state.backends.protocol import ContextLine, GrepResult, OutputMode
from langgraph_filesystem.state.backends.sizes import Sizes
from langgraph_filesystem.state.errors import FileNotFound, FilesystemError, PatternRefused
from langgraph_filesystem.state.search import Query, search
from tests.state.backends.disk.places import (
    NOBODY,
    Place,
    children,
    fast_place,
    nested,
    open_handles,
    write,
)

RG = ripgrep.find_ripgrep()
ENGINES: tuple[Engine, ...] = get_args(Engine)
LIMIT = 100_000


def asked(
    jail: Jail, query: Query, engine: Engine, path: str = "/", glob: str | None = None
) -> GrepResult:
    return grep(jail, query, path, glob, max_file_size=LIMIT, time_limit=60, engine=engine)


def both(
    jail: Jail, query: Query, path: str = "/", glob: str | None = None, limit: int = LIMIT
) -> GrepResult:
    """Return what both engines answer."""
    results = [
        grep(jail, query, path, glob, max_file_size=limit, time_limit=60, engine=engine)
        for engine in ENGINES
    ]
    chosen = grep(jail, query, path, glob, max_file_size=limit, time_limit=60)
    assert results[0] == results[1] == chosen
    sizes, is_tree = Sizes(), stat.S_ISDIR(jail.stat(path).st_mode)
    for _ in range(2 * is_tree):  # the second asks for no sizes, if the first has seen them all
        options: dict[str, Any] = {"max_file_size": limit, "engine": "rg", "sizes": sizes}
        assert grep(jail, query, path, glob, time_limit=60, **options) == chosen
    return chosen


def lines(result: GrepResult) -> list[tuple[str, int, str]]:
    return [(match["path"], match["line"], match["text"]) for match in result.matches or ()]


# Both engines, and a third opinion

contents = st.lists(
    st.sampled_from(
        [
            *(b"foo", b"Foo", b"bar", b"x", b" ", b"x" * 9_000, "é".encode(), "\u2028".encode()),
            *(b"\n", b"\n", b"\r\n", b"\n\n\n", b"\0", b"\xe9", b"\xff", b"\x1b", b"\xef\xbb\xbf"),
        ]
    ),
    max_size=12,
).map(b"".join)
names = st.sampled_from(
    ["a", "b", "a.txt", "a.py", ".hidden", "d/a", "d/b.py", "d/.e/f", "a b", "-x"]
)
files_of = st.dictionaries(names, contents, max_size=6)
queries = st.builds(
    Query,
    pattern=st.sampled_from(
        ["foo", "x", "fo.", "^", "$", "^foo$", "o{2}", "[^x]r", "é", "FOO", " "]
    ),
    regex=st.booleans(),
    ignore_case=st.booleans(),
    context=st.sampled_from([0, 0, 2]),
    max_count=st.sampled_from([None, None, 1, 3]),
    output_mode=st.sampled_from(get_args(OutputMode)),
)


def expected(root: Path, query: Query) -> GrepResult:
    """Return what the search of texts says of the same files, decoded in a way that keeps them."""
    texts = []
    for directory, _, found in os.walk(root):
        for name in found:
            data = Path(directory, name).read_bytes()
            if b"\0" not in data[:8192]:
                path = "/" + str(Path(directory, name).relative_to(root))
                texts.append((path, data.decode("utf-8", "surrogateescape")))
    return search(sorted(texts), query)


def shown(text: str) -> str:
    data = text.encode("utf-8", "surrogateescape")
    return data.decode(errors="backslashreplace")


@settings(max_examples=100)
@given(files_of, queries)
def test_both_engines_answer_alike_on_generated_trees(
    files: dict[str, bytes], query: Query
) -> None:
    with fast_place() as place:
        for name, content in files.items():
            if not (place.root / name).is_dir() and (place.root / name).parent != place.root / "a":
                write(place.root, {name: content})
        jail = Jail(place.root)
        result = both(jail, query)
        known = expected(place.root, query)
        # A regex sees a byte that is not UTF-8 otherwise here, and long lines are cut.
        if not query.regex or all(b"\xff" not in f and b"\xe9" not in f for f in files.values()):
            assert result.counts == known.counts
            assert result.truncated == known.truncated
            for match, other in zip(result.matches or (), known.matches or (), strict=True):
                assert (match["path"], match["line"]) == (other["path"], other["line"])
                if len(other["text"]) < 4_000:
                    assert match["text"] == shown(other["text"])
        jail.close()


def test_a_large_tree_is_searched_alike(place: Place, jail: Jail) -> None:
    write(place.root, {f"d{n % 7}/s{n % 3}/f{n}.txt": f"n {n}\nfoo {n % 10}\n" for n in range(600)})
    for query in (
        Query("foo 3"),
        Query("foo", max_count=7),
        Query("foo", max_count=599),
        Query("foo", max_count=600),
        Query("foo", max_count=601),
        Query("FOO [12]", regex=True, ignore_case=True),
        Query("foo", output_mode="count"),
        Query("o+ 9", regex=True, output_mode="files_with_matches"),
        Query(r"(?<=n )\d+0$", regex=True, context=1),
    ):
        assert both(jail, query).counts


BEYOND_ASCII = [
    *(
        f"self{c}\n{c}self\n{c}\n"
        for c in "\u00b2\u00bd\u0301\u200d\u203f\u00e9\u4e2d\u0663\x1c\u2028"
    ),
    *(f"F{c}le x{c}\n" for c in "iI\u0130\u0131"),
    *(
        f"{c}el{c}\n"
        for c in "kK\u212asS\u017f\u00df\u1e9e\u03c2\u03c3\u03a3\u01c4\u01c5\u01c6\ua7cb"
    ),
]


@pytest.mark.parametrize(
    ("pattern", "regex", "ignore_case"),
    [
        *(
            (pattern, False, True)
            for pattern in ("file", "K", "s", "\u00df", "\u03c2", "\u01c5", "\ua7cc")
        ),
        *((pattern, True, False) for pattern in (r"\bself\b", r"\b\w+\b$", r"\b.", r"\B.", r"\B")),
        *((pattern, True, True) for pattern in (r"\bF.LE\b", "[^i]l", "[j-l]", r"(?-i:k)|\d\b")),
    ],
)
def test_both_engines_answer_alike_beyond_ascii(
    place: Place,
    jail: Jail,
    pattern: str,
    regex: bool,
    ignore_case: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "".join(BEYOND_ASCII)
    plain = text.encode("ascii", "ignore").decode()
    broken = b"self\xff\n\xe9self\n\xffk\n"
    write(place.root, {"d/text": text, "d/plain": plain, "e/broken": broken})
    monkeypatch.setattr(candidates, "_SMALL", 0)  # else Python is faster, and is asked instead
    time.sleep(0.02)  # older than the search, so that counts are taken over
    query = Query(pattern, regex, ignore_case)
    counted = both(jail, Query(pattern, regex, ignore_case, output_mode="count"))
    assert counted.counts == both(jail, query).counts
    both(jail, query, "/d/text")


# What is searched


def test_hidden_and_ignored_files_are_searched(place: Place, jail: Jail) -> None:
    write(
        place.root, {".hidden": "foo", ".git/x": "foo", "build/o": "foo", ".gitignore": "build\n*"}
    )
    write(place.root, {".ignore": "build", ".rgignore": "*"})
    assert set(both(jail, Query("foo")).counts or {}) == {"/.hidden", "/.git/x", "/build/o"}


def test_files_of_ours_are_not_searched(place: Place, jail: Jail) -> None:
    write(place.root, {f"{RESERVED}/n": "foo", f"{TEMPORARY}1": "foo", f"d/{TEMPORARY}2/x": "foo"})
    write(place.root, {f"d/{RESERVED}/mine": "foo"})
    for glob in (None, "*", ".*", "n", "**/n"):
        found = set(both(jail, Query("foo"), glob=glob).counts or {})
        assert found <= {f"/d/{RESERVED}/mine"}
    assert both(jail, Query("foo"), "/d").counts == {f"/d/{RESERVED}/mine": 1}


def test_what_is_ours_is_not_even_noted(place: Place, jail: Jail) -> None:
    large = b"foo\n" + b"x" * LIMIT
    write(place.root, {f"{TEMPORARY}1": large, f"d/{TEMPORARY}2/x": large, f"{RESERVED}/n": large})
    assert both(jail, Query("foo")) == GrepResult(matches=[], counts={}, truncated=False)
    write(place.root, {f"d/{RESERVED}/mine": large})
    note = both(jail, Query("foo")).note
    assert note is not None
    assert note.endswith(f"left out: /d/{RESERVED}/mine.")


def test_only_large_files_that_were_to_be_searched_are_noted(place: Place, jail: Jail) -> None:
    large = b"foo\n" + b"x" * LIMIT
    write(place.root, {"a.md": large, "d/a.py": large, "d/b.py": large, "d/c.md": large})
    for glob in ("*.py", "[ab].py", "d/*.py", "**/d/*.py"):
        note = both(jail, Query("foo"), glob=glob).note
        assert note is not None
        assert note.endswith("left out: /d/a.py, /d/b.py.")


def test_links_are_not_followed_but_one_that_is_the_path_is(place: Place, jail: Jail) -> None:
    write(place.root, {"dir/file": "foo"})
    write(place.outside, {"file": "foo"})
    (place.root / "link").symlink_to("dir/file")
    (place.root / "to-dir").symlink_to("dir")
    (place.root / "out").symlink_to(place.outside)
    (place.root / "out-file").symlink_to("../the-outside/file")
    assert both(jail, Query("foo")).counts == {"/dir/file": 1}
    assert both(jail, Query("foo"), "/link").counts == {"/link": 1}
    assert both(jail, Query("foo"), "/to-dir").counts == {"/to-dir/file": 1}
    for engine in ENGINES:
        for path in ("/out", "/out/file", "/out-file"):
            with pytest.raises(FilesystemError, match="leads out"):
                asked(jail, Query("foo"), engine, path)


def test_a_fifo_is_not_opened(place: Place, jail: Jail) -> None:
    os.mkfifo(place.root / "fifo")
    write(place.root, {"file": "foo"})
    assert both(jail, Query("foo")).counts == {"/file": 1}


@pytest.mark.parametrize("at", [0, 8_191, 8_192, 20_000, 70_000])
def test_an_early_nul_makes_a_file_binary_and_a_late_one_does_not(
    place: Place, jail: Jail, at: int
) -> None:
    text = (b"x" * 99 + b"\n") * 800
    content = text[:at] + b"\0" + text[at + 1 : -1] + b" foo\n"
    write(place.root, {"file": content})
    found = both(jail, Query("foo")).counts
    assert found == ({} if at < 8_192 else {"/file": 1})
    named = both(jail, Query("foo"), "/file")
    assert named.counts == found
    assert named.note == ("/file is binary, and so was not searched." if at < 8_192 else None)


def test_text_in_another_encoding_is_searched_as_bytes(place: Place, jail: Jail) -> None:
    write(place.root, {"latin": "café foo".encode("latin-1"), "utf16": "foo".encode("utf-16")})
    write(place.root, {"bom": b"\xef\xbb\xbffoo\nbar", "mixed": b"caf\xe9\ncaf\xc3\xa9 foo\n"})
    result = both(jail, Query("foo"))
    assert lines(result) == [
        ("/bom", 1, "\ufefffoo"),
        ("/latin", 1, "caf\\xe9 foo"),
        ("/mixed", 2, "café foo"),
    ]
    assert both(jail, Query("^foo", regex=True)).counts == {}
    assert both(jail, Query("café")).counts == {"/mixed": 1}
    assert both(jail, Query("caf.", regex=True)).counts == {"/mixed": 1}


def test_large_files_are_left_out_with_a_note_and_searched_by_name(
    place: Place, jail: Jail
) -> None:
    large = b"foo 1\n" + b"x" * 99 + b"\n" + b"y\n" * LIMIT
    write(place.root, {f"d/large{number}": large for number in range(5)} | {"small": "foo"})
    write(place.root, {"exact": b"foo" + b" " * (LIMIT - 3), "more": b"foo" + b" " * (LIMIT - 2)})
    result = both(jail, Query("foo"))
    assert result.counts == {"/exact": 1, "/small": 1}
    assert not result.truncated
    assert result.note == (
        "Files over 100,000 bytes are searched only when `path` names them; left out: "
        "/d/large0, /d/large1, /d/large2 and 3 more."
    )
    named = both(jail, Query("foo"), "/d/large3")
    assert (lines(named), named.note) == ([("/d/large3", 1, "foo 1")], None)


def test_the_glob_is_relative_to_the_path(place: Place, jail: Jail) -> None:
    files = [
        "a.py",
        "src/a.py",
        "src/a.md",
        "src/lib/b.py",
        "lib/src/c.py",
        "src/-x.py",
        "src/{.py",
    ]
    write(place.root, dict.fromkeys(files, "foo"))
    for glob in (
        "*.py",
        "src/*.py",
        "src/**/*.py",
        "**/src/*",
        "*.{py,md}",
        "/a.py",
        "[a]*",
        "src/",
    ):
        for path in ("/", "/src"):
            both(jail, Query("foo"), path, glob)
    assert both(jail, Query("foo"), glob="src/*.py").counts == {
        "/src/-x.py": 1,
        "/src/a.py": 1,
        "/src/{.py": 1,
    }
    assert both(jail, Query("foo"), "/src", "lib/*").counts == {"/src/lib/b.py": 1}
    assert both(jail, Query("foo"), "/src/a.py", "*.py").counts == {"/src/a.py": 1}
    assert both(jail, Query("foo"), "/src/a.py", "*.md").counts == {}
    assert both(jail, Query("foo"), glob="nothing/here/*.py").counts == {}


def test_a_link_is_not_followed_for_the_sake_of_a_glob(place: Place, jail: Jail) -> None:
    write(place.outside, {"x.py": "foo"})
    write(place.root, {"dir/x.py": "foo"})
    (place.root / "src").symlink_to(place.outside)
    (place.root / "inside").symlink_to("dir")
    assert both(jail, Query("foo"), glob="src/*.py").counts == {}
    assert both(jail, Query("foo"), glob="inside/*.py").counts == {}


def test_names_of_all_kinds_are_searched(place: Place, jail: Jail) -> None:
    names = ["new\nline", "row:1:b", " ", "-n", "x\x1b[0m", "é" * 100, "0\n1"]
    write(place.root, dict.fromkeys(names, "foo"))
    with open(os.fsencode(place.root) + b"/\xff.txt", "wb") as file:
        file.write(b"foo")
    result = both(jail, Query("foo"))
    assert set(result.counts or {}) == {f"/{name}" for name in names}
    assert result.note == "Left out, as no path can name it: /\\xff.txt."
    assert set(both(jail, Query("o+", regex=True)).counts or {}) == {f"/{name}" for name in names}


def test_deep_directories_are_searched(place: Place, jail: Jail) -> None:
    with nested(place.root, 1_200) as deepest:
        handle = os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=deepest)
        os.write(handle, b"foo\n")
        os.close(handle)
        start = time.monotonic()
        assert both(jail, Query("foo")).counts == {"/" + "d/" * 1_200 + "file": 1}
        assert both(jail, Query("fo+", regex=True)).counts == {"/" + "d/" * 1_200 + "file": 1}
        assert time.monotonic() - start < 60


def test_without_a_jail_the_paths_are_the_hosts(place: Place) -> None:
    write(place.root, {"a/b": "foo", f"{RESERVED}/n": "foo"})
    free = Unconfined(place.root)
    file = str(place.root / "a/b")
    assert both(free, Query("foo"), str(place.root)).counts == {file: 1}
    assert both(free, Query("foo"), str(place.root.parent)).counts == {file: 1}
    assert both(free, Query("foo"), file).counts == {file: 1}
    free.close()


# What is answered


def test_context_is_the_lines_around(place: Place, jail: Jail) -> None:
    write(place.root, {"file": "1\n2\r\nfoo\n4\n\n6", "first": "foo\nx", "last": b"\xff\nfoo"})
    result = both(jail, Query("foo", context=2))
    first, middle, last = sorted(result.matches or (), key=lambda match: match["line"])[:3]
    by_path = {match["path"]: match for match in (first, middle, last)}
    assert by_path["/file"].get("context_before") == [
        ContextLine(line=1, text="1"),
        ContextLine(line=2, text="2\r"),
    ]
    assert by_path["/file"].get("context_after") == [
        ContextLine(line=4, text="4"),
        ContextLine(line=5, text=""),
    ]
    assert by_path["/first"].get("context_before") == []
    assert by_path["/first"].get("context_after") == [ContextLine(line=2, text="x")]
    assert by_path["/last"].get("context_before") == [ContextLine(line=1, text="\\xff")]
    assert both(jail, Query("foo", context=2), "/file").matches == [by_path["/file"]]


@pytest.mark.parametrize("mode", get_args(OutputMode))
@pytest.mark.parametrize(
    ("most", "counts", "truncated"),
    [
        (0, {}, True),
        (1, {"/a": 1}, True),
        (2, {"/a": 2}, True),
        (3, {"/a": 2, "/c": 1}, True),
        (5, {"/a": 2, "/c": 3}, False),
        (None, {"/a": 2, "/c": 3}, False),
    ],
)
@pytest.mark.parametrize("regex", [False, True], ids=["literal", "regex"])
def test_a_search_stops_at_its_limit_and_says_so(
    place: Place,
    jail: Jail,
    mode: OutputMode,
    most: int | None,
    counts: dict[str, int],
    truncated: bool,
    regex: bool,
) -> None:
    write(place.root, {"a": "foo\nx\nfoo\n", "b": "x", "c": "foo\nfoo\nfoo", "bin": b"foo\0"})
    query = Query("fo+" if regex else "foo", regex=regex, max_count=most, output_mode=mode)
    result = both(jail, query)
    assert (result.counts, result.truncated) == (counts, truncated)
    assert len(result.matches or ()) == (sum(counts.values()) if mode == "content" else 0)


@pytest.mark.parametrize("mode", get_args(OutputMode))
@pytest.mark.parametrize(
    ("most", "count", "truncated"), [(1, 1, True), (2, 2, True), (3, 3, False), (None, 3, False)]
)
def test_a_named_file_stops_at_the_limit_too(
    place: Place, jail: Jail, mode: OutputMode, most: int | None, count: int, truncated: bool
) -> None:
    write(place.root, {"c": "foo\nfoo\nfoo"})
    result = both(jail, Query("foo", max_count=most, output_mode=mode), "/c")
    assert (result.counts, result.truncated) == ({"/c": count}, truncated)


def test_the_first_matches_are_returned_in_the_order_of_the_paths(place: Place, jail: Jail) -> None:
    names = ["a/z", "a.txt", "a-b/c", "a/b/c", "aa", "A", "a!"]
    write(place.root, dict.fromkeys(names, "foo\n"))
    ordered = sorted(f"/{name}" for name in names)
    for most in range(1, len(names)):
        for query in (Query("foo", max_count=most), Query("fo+", regex=True, max_count=most)):
            assert list(both(jail, query).counts or {}) == ordered[:most]


def test_a_limit_is_reached_without_looking_at_the_whole_tree(
    place: Place, jail: Jail, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(place.root, {f"d{number:03}/f": "foo\n" for number in range(300)})

    def fail(*_: object, **__: object) -> Iterator[object]:
        raise AssertionError("the whole tree was searched")

    monkeypatch.setattr(ripgrep.Ripgrep, "counts_below", fail)
    for query in (Query("foo", max_count=5), Query("fo+", regex=True, max_count=5)):
        result = asked(jail, query, "rg")
        assert list(result.counts or {}) == [f"/d{number:03}/f" for number in range(5)]


def test_more_lines_than_any_answer_holds_are_cut(place: Place, jail: Jail) -> None:
    write(place.root, {"a": "foo\n" * 15_000, "b": "foo\n" * 15_000, "c": "foo\n"})
    for query in (Query("foo"), Query("fo+", regex=True)):
        result = both(jail, query, limit=1_000_000)
        assert len(result.matches or ()) == 20_000
        assert result.truncated
    counted = both(jail, Query("foo", output_mode="count"), limit=1_000_000)
    assert counted.counts == {"/a": 15_000, "/b": 15_000, "/c": 1}
    assert not counted.truncated


def test_more_files_than_any_answer_holds_are_cut(
    place: Place, jail: Jail, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collected, "_MAX_FILES", 5)
    monkeypatch.setattr(hints, "_KEPT", 20)
    write(place.root, {f"{number:03}": "foo" for number in range(100)})
    result = both(jail, Query("foo", output_mode="files_with_matches"))
    assert list(result.counts or {}) == [f"/{number:03}" for number in range(5)]
    assert result.truncated


def test_long_lines_are_cut_around_the_match(place: Place, jail: Jail) -> None:
    write(
        place.root, {"wide": b"a" * 50_000 + b" foo " + b"b" * 40_000 + b"\n", "odd": "é" * 9_000}
    )
    for query in (Query("foo"), Query("FOO", ignore_case=True), Query("foo", regex=True)):
        [match] = both(jail, query).matches or []
        assert len(match["text"]) < 1_000
        assert match["text"].startswith("[49,601 bytes ...] aaa")
        assert " foo bbb" in match["text"]
        assert match["text"].endswith("b [...]")
    [match] = both(jail, Query("é")).matches or []
    assert match["text"] == "é" * 400 + " [...]"


# What is refused


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (Query(""), "empty"),
        (Query("a\nb"), "spans lines"),
        (Query("(", regex=True), "malformed"),
        (Query("a**", regex=True), "malformed"),
        (Query("\ud800"), "surrogate"),
        (Query("\udcff", regex=True), "surrogate"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_a_pattern_that_can_not_be_searched_is_refused(
    jail: Jail, query: Query, reason: str
) -> None:
    for engine in ENGINES:
        with pytest.raises(PatternRefused, match=reason):
            asked(jail, query, engine)


def test_a_path_that_is_not_there_is_refused(jail: Jail) -> None:
    for engine in ENGINES:
        with pytest.raises(FileNotFound, match="/nothing"):
            asked(jail, Query("foo"), engine, "/nothing")
        with pytest.raises(PatternRefused):
            asked(jail, Query("foo"), engine, glob="{a,b}" * 9)


def test_a_pattern_of_any_kind_is_searched(place: Place, jail: Jail) -> None:
    write(place.root, {"f": "-e x\n--files\n\\d (a) [b\n\tx\na\0b\n" + "x\n" * 9_000 + "late \0\n"})
    (place.root / "f").write_bytes(b"x\n" * 9_000 + b"-e y\n--files\n\\d (a) [b\na\0b\n")
    for pattern in ("-e y", "--files", "\\d (a) [b", "a\0b", "-"):
        assert both(jail, Query(pattern)).counts, pattern
    assert both(jail, Query(r"a\x00b", regex=True)).counts == {"/f": 1}
    assert both(jail, Query(r"a\nb", regex=True)).counts == {}


# Limits


def test_when_the_time_is_up_there_is_a_note(place: Place, jail: Jail) -> None:
    write(place.root, {"a": "foo", "b": "foo"})
    for engine in ENGINES:
        result = grep(jail, Query("foo"), max_file_size=LIMIT, time_limit=-1, engine=engine)
        assert result.truncated
        assert result.note is not None
        assert result.note.startswith("The search stopped after")


def test_a_regex_that_never_ends_is_ended(place: Place, jail: Jail) -> None:
    write(place.root, {"a": "aaa", "b": "a" * 60 + "b"})
    pattern = "(a+)+(?=$)"  # `rg` has no looking ahead
    start = time.monotonic()
    result = grep(jail, Query(pattern, regex=True), max_file_size=LIMIT, time_limit=2)
    assert time.monotonic() - start < 20
    assert result.counts == {"/a": 1}
    assert result.truncated
    assert result.note is not None
    assert "stopped after 2 s, at /b" in result.note
    with pytest.raises(PatternRefused, match="/b"):
        grep(jail, Query(pattern, regex=True), "/b", max_file_size=LIMIT, time_limit=1)


def test_rg_matches_a_dangerous_regex_at_once(place: Place, jail: Jail) -> None:
    write(place.root, {"b": "a" * 60 + "b"})
    start = time.monotonic()
    assert asked(jail, Query("(a+)+$", regex=True), "rg").counts == {}
    assert asked(jail, Query("(a+)+$", regex=True), "rg", "/b").counts == {}
    assert time.monotonic() - start < 20


def added(work: Callable[[], GrepResult]) -> tuple[float, GrepResult]:
    """Return the megabytes that some work takes at its peak, above what there was before."""
    work()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    before = status("VmRSS")
    result = work()
    return (status("VmHWM") - before) / 1024, result


def status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    [found] = [line for line in lines if line.startswith(f"{name}:")]
    return int(found.split()[1])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_huge_file_in_the_tree_takes_no_memory(
    place: Place, jail: Jail, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(place.root, {f"d/{number}": "foo\n" for number in range(100)})
    with open(place.root / "sparse", "wb") as file:
        file.write(b"foo\n" * 10_000)
        file.truncate(8 << 30)
    if engine == "rg":
        monkeypatch.setattr(disk_search, "find_ripgrep", lambda: limited(place, megabytes=16))
        monkeypatch.setattr(disk_search, "_by_python", None)
    megabytes, result = added(lambda: asked(jail, Query("foo"), engine))
    assert len(result.counts or ()) == 100
    assert megabytes < 4


def limited(place: Place, megabytes: int) -> str:
    """Return an `rg` that ends as soon as it needs more memory."""
    program = place.outside / "rg"
    program.write_text(f'#!/bin/sh\nulimit -d {megabytes << 10}\nexec "{RG}" -j1 "$@"\n')
    program.chmod(0o755)
    return str(program)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("pattern", ["needle", "needl[e]", "needl+e(?!x)"])
def test_a_line_of_fifty_megabytes_takes_little_memory(
    place: Place, jail: Jail, engine: Engine, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open(place.root / "line", "wb") as file:
        file.write(b"first\n")
        for _ in range(50):
            file.write(b"a" * 1_000_000)
        file.write(b" needle\nlast needle\n")
    monkeypatch.setattr(disk_search, "find_ripgrep", lambda: limited(place, megabytes=12))
    query = Query(pattern, regex=pattern != "needle", context=1)
    megabytes, result = added(lambda: asked(jail, query, engine, "/line"))
    assert [line for _, line, _ in lines(result)] == [2, 3]
    shown = lines(result)[0][2]
    if "!" not in pattern:  # one that may take for ever is not looked for so far, if time is short
        assert shown == f"[49,999,601 bytes ...] {'a' * 399} needle"
    assert len(shown) < 900
    assert megabytes < 20


@pytest.mark.parametrize("engine", ENGINES)
def test_a_huge_file_that_is_named_is_streamed(
    place: Place, jail: Jail, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open(place.root / "large", "wb") as file:
        for _ in range(40):
            file.write(b"a line of some length, and then another one\n" * 25_000)
        file.write(b"foo\n")
    if engine == "rg":
        monkeypatch.setattr(disk_search, "find_ripgrep", lambda: limited(place, megabytes=12))
        monkeypatch.setattr(disk_search, "_by_python", None)
    for query, count in ((Query("foo"), 1), (Query("another", output_mode="count"), 1_000_000)):
        megabytes, result = added(partial(asked, jail, query, engine, "/large"))
        assert result.counts == {"/large": count}
        assert megabytes < 12


def test_nothing_is_left_behind(place: Place, jail: Jail) -> None:
    write(place.root, {f"d{number}/f": "foo\n" * 5 for number in range(300)})
    both(jail, Query("foo"))
    handles, threads, processes = open_handles(), threading.active_count(), children()
    for query in (
        Query("foo"),
        Query("fo+", regex=True),
        Query("fo+", regex=True, max_count=2),
        Query("foo", output_mode="count"),
        Query("(?<!x)fo+", regex=True, max_count=2),
    ):
        both(jail, query)
        both(jail, query, "/d1/f")
        for engine in ENGINES:
            grep(jail, query, max_file_size=LIMIT, time_limit=0.001, engine=engine)
    assert open_handles() == handles
    assert threading.active_count() == threads
    assert children() == processes  # no child is left, not even a dead one


# Trouble


def test_there_is_python_where_there_is_no_rg(
    place: Place, jail: Jail, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_search, "find_ripgrep", lambda: None)
    write(place.root, {"a": "foo"})
    assert grep(jail, Query("foo"), max_file_size=LIMIT).counts == {"/a": 1}
    with pytest.raises(FilesystemError, match=re.escape("langgraph-filesystem[search]")):
        asked(jail, Query("foo"), "rg")


@pytest.mark.parametrize(
    "script",
    [
        "echo 'rg: unrecognized flag --encoding' >&2; exit 2",
        "echo nonsense; exit 0",
        "kill -9 $$",
        "exit 2",
        "exit 127",
    ],
)
def test_there_is_python_where_rg_fails(
    place: Place, jail: Jail, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str
) -> None:
    program = tmp_path / "rg"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(disk_search, "find_ripgrep", lambda: str(program))
    write(place.root, {"a": "foo"})
    for path in ("/", "/a"):
        for query in (Query("foo"), Query("fo+", regex=True), Query("foo", output_mode="count")):
            assert asked(jail, query, "rg", path).counts == {"/a": 1}


def test_where_rg_talks_too_much_it_is_asked_again(
    place: Place, jail: Jail, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(place.root, {"a": "foo", "large": b"x" * (LIMIT + 1)})
    for number in range(60):
        (place.root / f"link{number}").symlink_to("a")
    monkeypatch.setattr(ripgrep, "_CHATTER", 50)
    result = asked(jail, Query("foo"), "rg")
    assert result.counts == {"/a": 1}
    assert result.note is not None
    assert result.note.startswith("Files over 100,000 bytes are searched only when `path`")
    assert result.note.endswith(("names them.", "among others: /large."))


UNPRIVILEGED = """
    import ctypes, os, sys
    from langgraph_filesystem.state.backends.disk_search import grep
    from langgraph_filesystem.state.backends.jail import Jail
    from langgraph_filesystem.state.search import Query

    root, nobody = sys.argv[1], int(sys.argv[2])
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(nobody)
        os.setuid(nobody)
    jail = Jail(root)
    for engine in ("rg", "python"):
        result = grep(jail, Query("foo"), max_file_size=1000, engine=engine)
        print(sorted(result.counts), result.note)
"""


def test_what_can_not_be_read_is_noted_and_the_rest_is_searched() -> None:
    with fast_place() as place:
        place.root.parent.chmod(0o755)
        write(place.root, {"a": "foo", "closed/x": "foo", "secret": "foo", "z/y": "foo"})
        write(place.root, {f"{TEMPORARY}1": "foo", f"z/{TEMPORARY}2": "foo", f"{RESERVED}/n": "x"})
        for name in ("closed", "secret", f"{TEMPORARY}1", f"z/{TEMPORARY}2", RESERVED):
            (place.root / name).chmod(0)
        command = [
            sys.executable,
            "-c",
            textwrap.dedent(UNPRIVILEGED),
            str(place.root),
            str(NOBODY),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.stderr == ""
        assert done.stdout.splitlines() == [
            "['/a', '/z/y'] Left out, as it can't be read: /closed, /secret."
        ] * len(ENGINES)
        for name in ("closed", RESERVED):
            (place.root / name).chmod(0o755)


def test_a_search_with_too_few_handles_is_an_error_and_not_half_an_answer(
    place: Place, jail: Jail
) -> None:
    write(place.root, {f"{number:03}": "foo" for number in range(150)})
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_handles() + 60, hard))
    try:
        with pytest.raises(FilesystemError, match="too many files are open"):
            asked(jail, Query("fo+", regex=True), "rg")
        assert len(asked(jail, Query("foo"), "python").counts or ()) == 150
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(both(jail, Query("fo+", regex=True)).counts or ()) == 150


# Races


class Swapper:
    """A thread that swaps a directory for a link to one outside, and back, all the time."""

    def __init__(self, inside: Path, outside: Path) -> None:
        self.swaps = 0
        self._inside = inside
        self._outside = outside
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Swapper":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        aside = self._inside.with_name("aside")
        while not self._stop.is_set():
            os.rename(self._inside, aside)
            os.symlink(self._outside, self._inside)
            time.sleep(0.001)
            os.unlink(self._inside)
            os.rename(aside, self._inside)
            time.sleep(0.001)
            self.swaps += 1


@pytest.mark.parametrize("engine", ENGINES)
def test_a_directory_swapped_for_a_link_gives_nothing_away(engine: Engine) -> None:
    with fast_place() as place:
        # The files inside match once, and those outside, of the same names, twice.
        write(place.root, {f"d/{number}": "foo own\n" for number in range(50)})
        write(place.outside, {f"d/{number}": "foo stolen\nfoo stolen\n" for number in range(60)})
        jail = Jail(place.root)
        found = 0
        with Swapper(place.root / "d", place.outside / "d") as swapper:
            until = time.monotonic() + 3
            while time.monotonic() < until:
                for query in (
                    Query("foo"),
                    Query("fo+", regex=True),
                    Query("foo", output_mode="count"),
                    Query("fo+", regex=True, output_mode="count"),
                ):
                    result = asked(jail, query, engine)
                    assert not [text for _, _, text in lines(result) if "own" not in text]
                    assert set((result.counts or {}).values()) <= {1}
                    assert all(int(path.rpartition("/")[2]) < 50 for path in result.counts or ())
                    found += len(result.counts or ())
        assert found
        assert swapper.swaps > 100
        jail.close()


def test_a_count_is_not_trusted_where_something_changed(
    place: Place, jail: Jail, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(place.root, {"quiet/a": "foo\n", "busy/b": "foo\nfoo\n", "busy/gone": "foo\n"})
    before = time.time() - 100
    asked_of = ripgrep.Ripgrep.counts_below

    def swapped(*args: object, **kwargs: object) -> Iterator[list[tuple[bytes, int]]]:
        """Say what `rg` would say, had it been led outside."""
        for records in asked_of(*args, **kwargs):  # type: ignore[arg-type]
            yield [(name, 7) for name, _ in records]
        os.rename(place.root / "busy/gone", place.outside / "gone")

    monkeypatch.setattr(ripgrep.Ripgrep, "counts_below", swapped)
    for query in (Query("foo", output_mode="count"), Query("fo+", regex=True, output_mode="count")):
        write(place.root, {"busy/gone": "foo\n"})
        time.sleep(0.05)
        result = asked(jail, query, "rg")
        # What is unchanged is believed, so the lie shows; what is not is counted again.
        assert result.counts == {"/quiet/a": 7, "/busy/b": 2}
    assert before < time.time()


# Odd orders, names and regexes


@pytest.mark.parametrize("mode", get_args(OutputMode))
def test_the_first_lines_are_first_behind_many_files_that_are_not_searched(
    jail: Jail, place: Place, mode: OutputMode
) -> None:
    write(place.root, {f"a{number:03}": b"\0 foo\n" for number in range(200)})
    write(place.root, {f"a{number}": "foo\n" for number in range(200, 300)})
    write(place.root, {"b/c": "foo\n", "b/d": "foo\n"})
    result = both(jail, Query("foo", max_count=2, output_mode=mode))
    assert set(result.counts or {}) == {"/a200", "/a201"}


@pytest.mark.parametrize("mode", get_args(OutputMode))
def test_what_was_found_before_a_slow_regex_is_kept_and_the_file_is_named(
    jail: Jail, place: Place, mode: OutputMode
) -> None:
    write(place.root, {"a": "aaaab\n" * 3, "b": "é aaaab\n", "z": "a" * 40 + "!\naaab\n"})
    query = Query(r"\B(a+)+b", regex=True, output_mode=mode)
    for engine in ENGINES:
        result = grep(jail, query, max_file_size=LIMIT, time_limit=1, engine=engine)
        assert result.counts == {"/a": 3, "/b": 1}
        assert "at /z" in str(result.note)


def test_an_error_of_a_slow_regex_shows_it_as_it_was_written(jail: Jail, place: Place) -> None:
    write(place.root, {"z": "a" * 40 + "!\naaab\n"})
    query = Query(r"\B(a+)+b", regex=True)
    for engine in ENGINES:
        with pytest.raises(PatternRefused, match=re.escape(repr(r"\B(a+)+b"))):
            grep(jail, query, max_file_size=LIMIT, time_limit=1, engine=engine)


@pytest.mark.parametrize(
    "name", ["big\nname", "big\nrg: ./foo: Permission denied (os error 13)\nx"]
)
def test_a_large_file_with_a_newline_in_its_name_forges_no_note(
    jail: Jail, place: Place, name: str
) -> None:
    write(place.root, {name: b"x\n" * LIMIT, "a": "foo\n"})
    result = both(jail, Query("foo"))
    assert "can't be read" not in str(result.note)
    assert "big" in str(result.note)


def test_names_that_are_no_text_are_counted_once_among_many_links(jail: Jail, place: Place) -> None:
    for number in range(6):
        (place.root / os.fsdecode(b"n\xff%d" % number)).write_text("foo\n")
    for number in range(3_001):
        (place.root / f"l{number}").symlink_to("nowhere")
    assert "and 3 more" in str(asked(jail, Query("foo"), "rg").note)
