"""Virtual paths: one spelling for each, and no way out."""

from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from langgraph_filesystem.state.errors import PathRefused
from langgraph_filesystem.state.paths import (
    MAX_NAME_BYTES,
    MAX_PATH_BYTES,
    ancestors,
    is_within,
    normalize_path,
    overlaps,
)

odd_parts = st.sampled_from(
    ["", ".", "..", "~", "~notes", "C:", "c:x", "a", "b.txt", "foo..bar.txt", "...", " ", "é", "\n"]
)
written = st.builds(
    lambda parts, start: start + "".join(map("".join, parts)),
    st.lists(
        st.tuples(
            odd_parts | st.text(max_size=5), st.sampled_from(["/", "\\", "//", "/./", "\\.\\"])
        ),
        max_size=6,
    ),
    st.sampled_from(["", "/", "\\", "./", "//"]),
)
names = st.text(
    st.characters(exclude_characters="/\\\0:", exclude_categories=["Cs"]), min_size=1, max_size=8
).filter(lambda name: name not in (".", ".."))
normal_paths = st.lists(names, max_size=5).map(lambda parts: "/" + "/".join(parts))


@pytest.mark.parametrize(
    ("path", "normal"),
    [
        ("/", "/"),
        (".", "/"),
        ("./", "/"),
        ("//", "/"),
        ("a.txt", "/a.txt"),
        ("/a.txt", "/a.txt"),
        ("notes//./plan.md", "/notes/plan.md"),
        ("/notes/", "/notes"),
        ("\\notes\\plan.md", "/notes/plan.md"),
        ("notes\\plan.md", "/notes/plan.md"),
        ("/foo..bar.txt", "/foo..bar.txt"),
        ("/...", "/..."),
        ("/..a/b..", "/..a/b.."),
        ("/a/~notes", "/a/~notes"),
        ("/~notes", "/~notes"),
        ("/a/C:/b", "/a/C:/b"),
        ("/a b/ü.md", "/a b/ü.md"),
        ("/.hidden", "/.hidden"),
        ("/line\nbreak", "/line\nbreak"),
        (f"/{'x' * MAX_NAME_BYTES}", f"/{'x' * MAX_NAME_BYTES}"),
    ],
)
def test_a_path_has_one_spelling(path: str, normal: str) -> None:
    assert normalize_path(path) == normal


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "empty"),
        ("..", "`..`"),
        ("/..", "`..`"),
        ("/a/../b", "`..`"),
        ("a\\..\\b", "`..`"),
        ("/a/..", "`..`"),
        ("~", "`~`"),
        ("~/notes", "`~`"),
        ("~root", "`~`"),
        ("C:\\x", "drive"),
        ("c:x", "drive"),
        ("/C:/x", "drive"),
        ("//C:/x", "drive"),
        ("\\\\C:\\x", "drive"),
        ("./C:/x", "drive"),
        ("/a\0b", "NUL"),
        ("\0", "NUL"),
        ("/a\ud800", "Unicode"),
        ("\udfff/a", "Unicode"),
        (f"/{'x' * (MAX_NAME_BYTES + 1)}", "255 bytes"),
        (f"/{'ü' * 128}", "255 bytes"),
        ("/abc" * (MAX_PATH_BYTES // 4 + 1), "4096 bytes"),
        (None, "text"),
        (5, "text"),
        (b"/a", "text"),
        (["/a"], "text"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_a_path_that_leads_elsewhere_is_refused_with_the_reason(path: Any, reason: str) -> None:
    with pytest.raises(PathRefused, match=reason):
        normalize_path(path)


@given(written)
@example("\\\\C:\\x")
@example("./C:/x")
def test_whatever_is_written_is_refused_or_normal(path: str) -> None:
    try:
        normal = normalize_path(path)
    except PathRefused:
        return
    assert normal.startswith("/")
    assert normal == "/" or not normal.endswith("/")
    parts = normal[1:].split("/")
    assert ".." not in parts
    assert normal == "/" or not {"", "."} & set(parts)
    assert "\\" not in normal
    assert "\0" not in normal
    assert parts[0][1:2] != ":" or not parts[0][0].isascii() or not parts[0][0].isalpha()
    assert len(normal.encode()) <= MAX_PATH_BYTES
    assert normalize_path(normal) == normal


@given(st.text())
def test_no_text_makes_it_fail_in_another_way(path: str) -> None:
    try:
        normal = normalize_path(path)
    except PathRefused:
        return
    assert normalize_path(normal) == normal


@given(normal_paths)
def test_a_normal_path_stays_as_it_is(path: str) -> None:
    assert normalize_path(path) == path


@given(normal_paths)
def test_a_relative_path_is_one_below_the_root(path: str) -> None:
    relative = path[1:]
    assume(relative and not relative.startswith("~"))
    assert normalize_path(relative) == path


@pytest.mark.parametrize(
    ("path", "prefixes", "allowed"),
    [
        ("/notes/a", ["/notes"], True),
        ("/notes", ["/notes/"], True),
        ("notes/a", ["notes"], True),
        ("/notes2/a", ["/notes"], False),
        ("/", ["/notes"], False),
        ("/x", ["/a", "/x"], True),
        ("/x", [], False),
        ("/x", ["/"], True),
    ],
)
def test_allowed_prefixes_keep_paths_within_them(
    path: str, prefixes: list[str], allowed: bool
) -> None:
    if allowed:
        assert normalize_path(path, allowed_prefixes=prefixes) == normalize_path(path)
    else:
        with pytest.raises(PathRefused, match="allowed"):
            normalize_path(path, allowed_prefixes=prefixes)


def test_allowed_prefixes_may_be_an_iterator() -> None:
    assert normalize_path("/b/c", allowed_prefixes=iter(["/a", "/b"])) == "/b/c"


@pytest.mark.parametrize(
    ("path", "above"),
    [("/", []), ("/a", []), ("/a/b", ["/a"]), ("/a/b/c", ["/a/b", "/a"])],
)
def test_a_path_knows_what_is_above_it(path: str, above: list[str]) -> None:
    assert list(ancestors(path)) == above


@pytest.mark.parametrize(
    ("path", "directory", "within"),
    [
        ("/a", "/", True),
        ("/", "/", True),
        ("/", "/a", False),
        ("/a", "/a", True),
        ("/a/b", "/a", True),
        ("/ab", "/a", False),
        ("/a", "/a/b", False),
    ],
)
def test_within_is_by_whole_names(path: str, directory: str, within: bool) -> None:
    assert is_within(path, directory) is within


@given(normal_paths, normal_paths)
def test_two_paths_overlap_when_one_is_at_or_above_the_other(one: str, other: str) -> None:
    assert overlaps(one, other) == overlaps(other, one)
    assert overlaps(one, other) == (is_within(one, other) or is_within(other, one))
    assert overlaps(one, "/")
    for above in ancestors(one):
        assert is_within(one, above)
        assert overlaps(above, one)
