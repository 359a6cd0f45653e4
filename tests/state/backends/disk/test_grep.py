"""`grep` on disk: the same lines with and without `rg`, whatever lies in the tree."""

import os
import re
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from langgraph_filesystem.state.backends.disk import grep as grep_module
from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from langgraph_filesystem.state.backends.disk.grep import grep
from langgraph_filesystem.state.backends.disk.jail import RESERVED, TEMPORARY, Jail
from langgraph_filesystem.state.backends.disk.ripgrep import (
    RipgrepFailed,
    find_candidates,
    find_ripgrep,
    understands,
)
from langgraph_filesystem.state.backends.file_store import Query
from langgraph_filesystem.state.backends.protocol import ContextLine, GrepResult, OutputMode
from langgraph_filesystem.state.backends.search import search
from langgraph_filesystem.state.errors import FileNotFound, FilesystemError, PatternRefused
from tests.nodes.test_grep import grep as asking
from tests.scripted import answer
from tests.state.backends.disk.places import (
    NOBODY,
    Place,
    children,
    fast_place,
    nested,
    open_handles,
    write,
)

LIMIT = 100_000


def one(jail: Jail, query: Query, use_ripgrep: bool, **options: Any) -> GrepResult:
    options = {"max_file_size": LIMIT, "time_limit": 60} | options
    return grep(jail, query, use_ripgrep=use_ripgrep, **options)


def both(jail: Jail, query: Query, **options: Any) -> GrepResult:
    """Return what a search finds, which is the same with and without `rg`."""
    result = one(jail, query, True, **options)
    assert one(jail, query, False, **options) == result
    return result


def lines(result: GrepResult) -> list[tuple[str, int, str]]:
    return [(match["path"], match["line"], match["text"]) for match in result.matches or ()]


# Two engines, one answer

contents = st.lists(
    st.sampled_from(
        [
            *(b"foo", b"Foo", b"bar", b"x", b" ", b"9", b"x" * 9_000, "é".encode()),
            *("\u2028".encode(), "\u212a".encode(), "\u0130".encode(), "e\u0301".encode()),
            *(b"\n", b"\n", b"\r\n", b"\n\n\n", b"\0", b"\xe9", b"\xff", b"\x1b", b"\x1c"),
        ]
    ),
    max_size=12,
).map(b"".join)
file_names = st.sampled_from(["a", "b", "a.txt", ".hidden", "d/a", "d/b.py", "d/.e/f", "a b", "-x"])
trees = st.dictionaries(file_names, contents, max_size=6)
regexes = st.lists(
    st.sampled_from(
        [
            *("foo", "x", ".", "^", "$", " ", "9", "|", "(o|O)", "(?:x)", "[^x]", "[a-o_-]", "k"),
            *(r"\w", r"\s", r"\S", r"\d", r"\W", r"\b", r"\B", r"\.", r"[\w.]", "i", "é"),
            *("o*", "x+", "r?", "o{2}", "f*?", "o{1,}", r"(?=f)", r"(?!x)", r"(o)\1", "o++"),
        ]
    ),
    min_size=1,
    max_size=4,
).map("".join)
modes = st.sampled_from(get_args(OutputMode))
literals = st.builds(
    Query,
    pattern=st.sampled_from(["foo", "x", "FOO", " ", "é", "k", "i", "^", ".", "\\d", "-e", "\x1c"]),
    ignore_case=st.booleans(),
    context=st.sampled_from([0, 0, 2]),
    max_count=st.sampled_from([None, None, 1, 3]),
    output_mode=modes,
)


def planted(place: Place, files: dict[str, bytes]) -> list[tuple[str, str]]:
    """Write files, and return those that are text, as a search of texts takes them."""
    write(place.root, files)
    texts = [("/" + name, data) for name, data in files.items() if b"\0" not in data[:8192]]
    return sorted((path, data.decode(errors="surrogateescape")) for path, data in texts)


def is_valid(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def shown(text: str) -> str:
    return text.encode(errors="surrogateescape").decode(errors="backslashreplace")


@settings(max_examples=60)
@given(trees, literals)
def test_literals_are_found_alike_by_both_engines(files: dict[str, bytes], query: Query) -> None:
    with fast_place() as place:
        texts = planted(place, files)
        jail = Jail(place.root)
        found, expected = both(jail, query), search(texts, query)
        assert (found.counts, found.truncated) == (expected.counts, expected.truncated)
        assert lines(found) == [(path, line, shown(text)) for path, line, text in lines(expected)]
        jail.close()


@settings(max_examples=60, deadline=None)
@given(trees, regexes, st.booleans(), modes)
def test_regexes_are_found_alike_by_both_engines(
    files: dict[str, bytes], pattern: str, ignore_case: bool, mode: OutputMode
) -> None:
    assume(is_valid(pattern))
    with fast_place() as place:
        planted(place, files)
        jail = Jail(place.root)
        both(jail, Query(pattern, regex=True, ignore_case=ignore_case, output_mode=mode))
        jail.close()


@pytest.mark.parametrize(
    "query",
    [
        Query("-e foo (bar"),
        Query("é"),
        Query("foo bar-baz#&~ <x>", ignore_case=True),
        *(
            Query(pattern, regex=True)
            for pattern in (
                *(r"def \w+\(self", r"^\s*import (os|sys)$", r"TODO|FIXME", r"a{2,3}b*?", "x-+y"),
                *(r"\bself\b", r"[A-Z_]+\s*=", r"\"[^\"]*\"", r"foo\.bar/baz\-", r"[\w.-]+@\w+"),
            )
        ),
    ],
    ids=lambda query: str(query.pattern),
)
def test_rg_is_asked_for_ordinary_patterns(place: Place, query: Query) -> None:
    assert understands(query)
    write(place.root, {"no": "nothing"})
    handle, program = os.open(place.root, os.O_RDONLY), find_ripgrep()
    assert program is not None
    assert find_candidates(program, query, handle, LIMIT, 60).names == []
    os.close(handle)


@pytest.mark.parametrize(
    "query",
    [
        *(Query("a\0b"), Query("É", ignore_case=True), Query("é+", regex=True)),
        *(
            Query(pattern, regex=True)
            for pattern in (
                *("(?=a)b", "(?i)a", r"(a)\1", r"\x41", r"\<a", r"\Aa", "a++", "a*+b", "[[a]"),
                *("[a&&b]", "[a--b]", "{", "a{,2}", "a{2", "(?P<n>a)", r"\u00e9", r"\n"),
            )
        ),
    ],
    ids=lambda query: repr(query.pattern),
)
def test_rg_is_not_asked_for_what_it_would_take_differently(query: Query) -> None:
    assert not understands(query)


# Which files


def test_hidden_and_ignored_files_are_searched_and_those_of_ours_are_not(
    place: Place, jail: Jail
) -> None:
    write(place.root, {".hidden": "foo", ".git/x": "foo", "build/o": "foo", ".gitignore": "build"})
    write(place.root, {".ignore": "*", ".rgignore": "*", f"d/{RESERVED}/mine": "foo"})
    large = "foo\n" * LIMIT
    write(place.root, {f"{RESERVED}/n": large, f"{TEMPORARY}1": "foo", f"d/{TEMPORARY}2/x": "foo"})
    found = both(jail, Query("foo"))
    assert list(found.counts or ()) == ["/.git/x", "/.hidden", "/build/o", f"/d/{RESERVED}/mine"]
    assert found.note is None


def test_links_are_not_followed_but_one_that_is_the_path_is(place: Place, jail: Jail) -> None:
    write(place.root, {"dir/file": "foo"})
    write(place.outside, {"file": "foo"})
    os.mkfifo(place.root / "fifo")
    (place.root / "link").symlink_to("dir/file")
    (place.root / "to-dir").symlink_to("dir")
    (place.root / "out").symlink_to(place.outside)
    (place.root / "out-file").symlink_to("../the-outside/file")
    assert both(jail, Query("foo")).counts == {"/dir/file": 1}
    assert both(jail, Query("foo"), glob="out/*").counts == {}
    assert both(jail, Query("foo"), path="/link").counts == {"/link": 1}
    assert both(jail, Query("foo"), path="/to-dir").counts == {"/to-dir/file": 1}
    for path in ("/out", "/out/file", "/out-file"):
        with pytest.raises(FilesystemError, match="leads out"):
            one(jail, Query("foo"), True, path=path)


@pytest.mark.parametrize("at", [0, 8_191, 8_192, 70_000])
def test_an_early_nul_makes_a_file_binary_and_a_late_one_does_not(
    place: Place, jail: Jail, at: int
) -> None:
    text = (b"x" * 99 + b"\n") * 800
    write(place.root, {"file": text[:at] + b"\0" + text[at + 1 : -1] + b" foo\n"})
    found = both(jail, Query("foo"))
    assert found.counts == ({} if at < 8_192 else {"/file": 1})
    named = both(jail, Query("foo"), path="/file")
    assert named.counts == found.counts
    assert named.note == ("/file is binary and was not searched." if at < 8_192 else None)


def test_text_in_another_encoding_is_searched_and_shown(place: Place, jail: Jail) -> None:
    write(place.root, {"latin": "café foo".encode("latin-1"), "utf16": "foo".encode("utf-16")})
    write(place.root, {"bom": b"\xef\xbb\xbffoo\nbar", "mixed": b"caf\xe9\ncaf\xc3\xa9 foo\n"})
    assert lines(both(jail, Query("foo"))) == [
        ("/bom", 1, "\ufefffoo"),
        ("/latin", 1, "caf\\xe9 foo"),
        ("/mixed", 2, "café foo"),
    ]
    assert both(jail, Query("café")).counts == {"/mixed": 1}


def test_large_files_are_named_in_a_note_and_searched_by_name(place: Place, jail: Jail) -> None:
    large = b"foo 1\n" + b"y\n" * LIMIT
    write(place.root, {f"d/large{number}.log": large for number in range(5)} | {"small": "foo"})
    write(place.root, {"exact": b"foo" + b" " * (LIMIT - 3), "more": b"foo" + b" " * (LIMIT - 2)})
    result = both(jail, Query("foo"))
    assert result.counts == {"/exact": 1, "/small": 1}
    assert not result.truncated
    assert result.note == (
        "Not searched, because larger than 100,000 bytes (search a large file by naming it as "
        "`path`): /d/large0.log, /d/large1.log, /d/large2.log and 3 more."
    )
    assert str(both(jail, Query("foo"), glob="m*").note).endswith("`path`): /more.")
    named = both(jail, Query("foo"), path="/d/large3.log")
    assert (lines(named), named.note) == ([("/d/large3.log", 1, "foo 1")], None)


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
    for glob in ("*.py", "src/**/*.py", "**/src/*", "*.{py,md}", "/a.py", "[a]*", "src/"):
        for path in ("/", "/src"):
            both(jail, Query("foo"), path=path, glob=glob)
    found = both(jail, Query("foo"), glob="src/*.py").counts
    assert list(found or ()) == ["/src/-x.py", "/src/a.py", "/src/{.py"]
    assert both(jail, Query("foo"), path="/src", glob="lib/*").counts == {"/src/lib/b.py": 1}
    assert both(jail, Query("foo"), path="/src/a.py", glob="*.py").counts == {"/src/a.py": 1}
    assert both(jail, Query("foo"), path="/src/a.py", glob="*.md").counts == {}


def test_names_of_all_kinds_are_searched(place: Place, jail: Jail) -> None:
    names = ["new\nline", "row:1:b", " ", "-n", "x\x1b[0m", "é" * 100, "0\n1"]
    write(place.root, dict.fromkeys([*names, "\udcff.txt"], "foo"))
    result = both(jail, Query("foo"))
    assert set(result.counts or {}) == {f"/{name}" for name in names}
    assert result.note == "Left out, because no path can name it: /\\xff.txt."


@pytest.mark.parametrize(
    "name", ["big\nname", "big\nrg: ./foo: Permission denied (os error 13)\nx"]
)
def test_a_name_with_a_newline_forges_no_note(jail: Jail, place: Place, name: str) -> None:
    write(place.root, {name: b"x\n" * LIMIT, "a": "foo\n"})
    result = both(jail, Query("foo"))
    assert result.counts == {"/a": 1}
    assert "unreadable" not in str(result.note)
    assert "big" in str(result.note)


def test_deep_directories_are_searched(place: Place, jail: Jail) -> None:
    with nested(place.root, 1_200) as deepest:
        handle = os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=deepest)
        os.write(handle, b"foo\n")
        os.close(handle)
        assert both(jail, Query("foo")).counts == {"/" + "d/" * 1_200 + "file": 1}


def test_without_virtual_mode_a_search_without_a_path_begins_at_the_root_directory(
    place: Place,
) -> None:
    write(place.root, {"a/b": "foo", f"{RESERVED}/n": "foo"})
    write(place.outside, {"c": "foo"})
    backend = FilesystemBackend(place.root, virtual_mode=False)
    file = str(place.root / "a/b")
    for path in (None, "/", str(place.root), file):
        assert backend.grep("foo", path).counts == {file: 1}
    assert answer(asking("foo"), mounts={"/": backend}).text == file
    assert len(backend.grep("foo", str(place.root.parent)).counts or ()) == 2


UNPRIVILEGED = """
    import ctypes, os, sys  # the first here, as nobody may not be allowed to read it later
    from langgraph_filesystem.state.backends.disk.grep import find_ripgrep, grep
    from langgraph_filesystem.state.backends.disk.jail import Jail
    from langgraph_filesystem.state.backends.file_store import Query

    root, nobody = sys.argv[1], int(sys.argv[2])
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(nobody)
        os.setuid(nobody)
    jail = Jail(root)
    assert os.access(find_ripgrep(), os.X_OK)
    for use_ripgrep in (True, False):
        result = grep(jail, Query("foo"), max_file_size=1000, use_ripgrep=use_ripgrep)
        print(sorted(result.counts), result.note)
"""


def test_what_can_not_be_read_is_noted_and_the_rest_is_searched() -> None:
    with fast_place() as place:
        place.root.parent.chmod(0o755)
        write(place.root, {"a": "foo", "closed/x": "foo", "secret": "foo", "z/y": "foo"})
        write(place.root, {f"{TEMPORARY}1": "foo", f"z/{TEMPORARY}2": "foo", f"{RESERVED}/n": "x"})
        for name in ("closed", "secret", f"{TEMPORARY}1", f"z/{TEMPORARY}2", RESERVED):
            (place.root / name).chmod(0)
        script = textwrap.dedent(UNPRIVILEGED)
        command = [sys.executable, "-c", script, str(place.root), str(NOBODY)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.stderr == ""
        expected = "['/a', '/z/y'] Left out, because unreadable: /closed, /secret."
        assert done.stdout.splitlines() == [expected] * 2
        for name in ("closed", RESERVED):
            (place.root / name).chmod(0o755)


# What is answered


def test_context_is_the_lines_around(place: Place, jail: Jail) -> None:
    write(place.root, {"file": "1\n2\r\nfoo\n4\n\n6", "first": "foo\nx", "last": b"\xff\nfoo"})
    matches = both(jail, Query("foo", context=2)).matches or []
    file, first, last = matches
    assert file.get("context_before") == [
        ContextLine(line=1, text="1"),
        ContextLine(line=2, text="2\r"),
    ]
    assert file.get("context_after") == [
        ContextLine(line=4, text="4"),
        ContextLine(line=5, text=""),
    ]
    assert (first.get("context_before"), first.get("context_after")) == (
        [],
        [ContextLine(line=2, text="x")],
    )
    assert last.get("context_before") == [ContextLine(line=1, text="\\xff")]
    assert both(jail, Query("foo", context=2), path="/file").matches == [file]


@pytest.mark.parametrize("mode", get_args(OutputMode))
@pytest.mark.parametrize("pattern", ["foo", "fo+"])
def test_a_search_stops_at_its_limit_and_returns_the_first_lines(
    place: Place, jail: Jail, mode: OutputMode, pattern: str
) -> None:
    names = ["a/z", "a.txt", "a-b/c", "a/b/c", "aa", "A", "a!"]
    write(place.root, dict.fromkeys(names, "foo\nfoo") | {"0": b"foo\0", "1": "x"})
    ordered = [f"/{name}" for name in sorted(names)]
    for most in (1, 2, 5, 14, None):
        query = Query(pattern, regex=True, max_count=most, output_mode=mode)
        result = both(jail, query)
        counts = result.counts or {}
        assert list(counts) == ordered[: ((most or 14) + 1) // 2]
        assert sum(counts.values()) == (most or 14)
        assert result.truncated is (most in (1, 2, 5))
        assert len(result.matches or ()) == (sum(counts.values()) if mode == "content" else 0)


def test_the_first_lines_are_the_same_in_a_tree_of_many_files(place: Place, jail: Jail) -> None:
    write(place.root, {f"{number:03}": "x" * (number % 9) + "\nfoo\n" for number in range(450)})
    write(place.root, {"000": "x" * (LIMIT + 1)})
    for most in (1, 100, 300, 448, 449, 450):
        found = both(jail, Query("foo", max_count=most))
        assert sum((found.counts or {}).values()) == min(most, 449)
        assert found.truncated is (most < 449)
    assert str(found.note).endswith("`path`): /000.")


def test_more_lines_than_any_answer_holds_are_cut(place: Place, jail: Jail) -> None:
    write(place.root, {"a": "foo\n" * 15_000, "b": "foo\n" * 15_000, "c": "foo\n"})
    result = both(jail, Query("foo"))
    assert len(result.matches or ()) == 20_000
    assert result.truncated
    counted = both(jail, Query("foo", output_mode="count"))
    assert counted.counts == {"/a": 15_000, "/b": 15_000, "/c": 1}
    assert not counted.truncated


@pytest.mark.parametrize(
    "query", [Query("foo"), Query("FOO", ignore_case=True), Query("fo+", regex=True)], ids=str
)
def test_long_lines_are_cut_around_the_match(place: Place, jail: Jail, query: Query) -> None:
    write(place.root, {"wide": b"a" * 50_000 + b" foo " + b"b" * 40_000 + b"\n"})
    [match] = both(jail, query).matches or []
    assert match["text"] == f"[49,601 characters ...] {'a' * 399} foo {'b' * 596} [...]"


def test_what_can_not_be_searched_is_an_error(jail: Jail) -> None:
    with pytest.raises(FileNotFound, match="/nothing"):
        one(jail, Query("foo"), True, path="/nothing")
    with pytest.raises(PatternRefused):
        one(jail, Query("foo"), True, glob="{a,b}" * 9)
    for query, reason in (
        (Query(""), "empty"),
        (Query("a\nb"), "spans lines"),
        (Query("(", regex=True), "malformed"),
        (Query("\ud800"), "surrogate"),
    ):
        with pytest.raises(PatternRefused, match=reason):
            one(jail, query, True)


# Time and memory


@pytest.mark.parametrize("use_ripgrep", [True, False])
def test_when_the_time_is_up_there_is_a_note(place: Place, jail: Jail, use_ripgrep: bool) -> None:
    write(place.root, {"a": "foo", "b": "foo"})
    result = one(jail, Query("foo"), use_ripgrep, time_limit=-1)
    assert result.truncated
    assert str(result.note).startswith("The search stopped after")


@pytest.mark.parametrize("use_ripgrep", [True, False])
def test_a_catastrophic_regex_ends_with_what_was_found_or_what_to_do(
    place: Place, jail: Jail, use_ripgrep: bool
) -> None:
    write(place.root, {"a": "aaa", "b": "a" * 60 + "b"})
    query = Query("(a+)+(?=$)", regex=True)
    result = one(jail, query, use_ripgrep, time_limit=4)
    assert result.counts == {"/a": 1}
    assert result.truncated
    assert "stopped after 4 s, at /b" in str(result.note)
    with pytest.raises(PatternRefused, match="without nested repetitions") as raised:
        one(jail, query, use_ripgrep, path="/b", time_limit=1)
    assert "'(a+)+(?=$)'" in str(raised.value)


def added(work: Callable[[], GrepResult]) -> tuple[float, GrepResult]:
    """Return the megabytes that some work takes at its peak, above what there was before."""
    work()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    before = status("VmRSS")
    result = work()
    return (status("VmHWM") - before) / 1024, result


def status(name: str) -> int:
    rows = Path("/proc/self/status").read_text().splitlines()
    [found] = [row for row in rows if row.startswith(f"{name}:")]
    return int(found.split()[1])


@pytest.mark.parametrize("use_ripgrep", [True, False])
def test_a_huge_file_in_a_tree_takes_no_memory(place: Place, jail: Jail, use_ripgrep: bool) -> None:
    write(place.root, {f"d/{number}": "foo\n" for number in range(100)})
    with open(place.root / "sparse", "wb") as file:
        file.write(b"foo\n" * 10_000)
        file.truncate(8 << 30)
    megabytes, result = added(lambda: one(jail, Query("foo"), use_ripgrep))
    assert len(result.counts or ()) == 100
    assert megabytes < 4


@pytest.mark.parametrize("pattern", ["needle", "needl[e]", "needl(?!x)e"])
def test_a_line_of_fifty_megabytes_takes_little_memory(
    place: Place, jail: Jail, pattern: str
) -> None:
    with open(place.root / "line", "wb") as file:
        file.write(b"first\n")
        for _ in range(50):
            file.write(b"a" * 1_000_000)
        file.write(b" needle\nlast needle\n")
    query = Query(pattern, regex=pattern != "needle", context=1)
    megabytes, result = added(lambda: one(jail, query, True, path="/line"))
    [(_, first, text), (_, second, _)] = lines(result)
    assert (first, second) == (2, 3)
    assert text == f"[49,999,007 characters ...] {'a' * 993} needle"
    assert megabytes < 60


@pytest.mark.parametrize("context", [0, 3, 50])
def test_a_large_file_is_searched_in_pieces_that_show_no_seams(
    place: Place, jail: Jail, context: int
) -> None:
    rows = [f"line {number} é{'x' * (number * 7919 % 30)}" for number in range(150_000)]
    write(place.root, {"large": "\n".join(rows)})
    query = Query("000 é", context=context, max_count=148)
    found = one(jail, query, True, path="/large")
    assert found == search([("/large", "\n".join(rows))], query)
    assert found.truncated


def test_nothing_is_left_behind(place: Place, jail: Jail) -> None:
    write(place.root, {f"d{number}/f": "foo\n" * 5 for number in range(300)})
    both(jail, Query("fo+", regex=True))
    handles, threads, processes = open_handles(), threading.active_count(), children()
    for query in (Query("foo"), Query("fo+", regex=True), Query("(?<!x)fo+", True, max_count=2)):
        both(jail, query)
        both(jail, query, path="/d1/f")
        for use_ripgrep in (True, False):
            try:
                one(jail, query, use_ripgrep, time_limit=0.001)
            except PatternRefused:
                continue
    assert open_handles() == handles
    assert threading.active_count() == threads
    assert children() == processes  # no child is left, not even a dead one


# An `rg` that is missing, broken or led astray


def test_rg_is_found_beside_python_and_on_the_path_but_not_in_the_working_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = find_ripgrep()
    assert program is not None
    assert Path(program).parent == Path(sys.executable).parent
    (tmp_path / "rg").symlink_to(program)
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path / "nowhere"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nowhere/python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_ripgrep() == str(tmp_path / "rg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", ".")
    assert find_ripgrep() is None


@pytest.mark.parametrize(
    "script",
    [
        "echo 'rg: unrecognized flag --encoding' >&2; exit 2",
        "echo 'rg: ./x: Too many open files (os error 24)' >&2; exit 2",
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
    with pytest.raises(RipgrepFailed):
        find_candidates(str(program), Query("foo"), jail.root, LIMIT, 60)
    monkeypatch.setattr(grep_module, "find_ripgrep", lambda: str(program))
    write(place.root, {"a": "foo"})
    assert one(jail, Query("foo"), True).counts == {"/a": 1}


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


@pytest.mark.parametrize("use_ripgrep", [True, False])
def test_a_directory_swapped_for_a_link_gives_nothing_away(use_ripgrep: bool) -> None:
    with fast_place() as place:
        # The files inside match once, and those outside, of the same names, twice.
        write(place.root, {f"d/{number}": "foo own\n" for number in range(50)})
        write(place.outside, {f"d/{number}": "foo stolen\nfoo stolen\n" for number in range(60)})
        jail = Jail(place.root)
        found = 0
        with Swapper(place.root / "d", place.outside / "d") as swapper:
            while swapper.swaps < 300 or not found:
                for query in (Query("foo"), Query("fo[o]", regex=True, output_mode="count")):
                    result = one(jail, query, use_ripgrep)
                    assert not [text for _, _, text in lines(result) if "own" not in text]
                    assert set((result.counts or {}).values()) <= {1}
                    names = [path.rpartition("/")[2] for path in result.counts or ()]
                    assert all(re.fullmatch("[0-4]?[0-9]", name) for name in names)
                    found += len(names)
        jail.close()
