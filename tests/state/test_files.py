"""The `files` channel: what may be written, and the laws by which writes merge."""

import copy
import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.channels import BinaryOperatorAggregate

from langgraph_filesystem.state.errors import InvalidFiles
from langgraph_filesystem.state.files import (
    FileData,
    Files,
    FilesUpdate,
    apply_write,
    conflict_call,
    file_bytes,
    merge_files,
    merge_updates,
    version_of,
)
from langgraph_filesystem.state.paths import normalize_path

times = st.sampled_from(["2025-01-01T00:00:00+00:00", "2026-02-02T00:00:00+00:00"])
contents = st.text(st.sampled_from("ab\n\ré\ufeff"), max_size=8)
spellings = st.sampled_from(
    ["/a", "a", "//a", "/a/", "./a", "\\a", "/b", "b", "/d/c", "d\\c", "/foo..bar.txt", "/d/~x"]
)
normal = st.sampled_from(["/a", "/b", "/d/c"])
text_files = st.fixed_dictionaries(
    {"content": contents},
    optional={"encoding": st.just("utf-8"), "created_at": times, "modified_at": times},
)
based = st.fixed_dictionaries(
    {"content": contents, "encoding": st.just("utf-8"), "created_at": times}
)
edits = st.builds(
    lambda edits, more: {"edits": edits, **more},
    st.lists(
        st.fixed_dictionaries(
            {"old": contents, "new": contents}, optional={"replace_all": st.booleans()}
        ),
        max_size=3,
    ),
    st.fixed_dictionaries({}, optional={"modified_at": times}),
)
binary_files = st.fixed_dictionaries(
    {"content": st.sampled_from(["", "YQ==", "/+8="]), "encoding": st.just("base64")},
    optional={"created_at": times},
)
replacements = st.builds(
    lambda file, replaced: {"file": file, "replaces": version_of(replaced)},
    st.none() | text_files | binary_files,
    st.none() | text_files,
)
writes: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    text_files,
    binary_files,
    contents,
    st.lists(contents, max_size=3),
    edits,
    replacements,
)
updates: st.SearchStrategy[Any] = st.dictionaries(spellings, writes, max_size=4)
first_edits = st.builds(lambda edit, base: {**edit, "base": base}, edits, based)
based_updates: st.SearchStrategy[Any] = st.dictionaries(spellings, writes | first_edits, max_size=4)
files: st.SearchStrategy[Any] = st.dictionaries(normal, text_files | binary_files, max_size=3)


@given(files, st.lists(based_updates, max_size=4), st.lists(based_updates, max_size=4))
def test_batches_of_any_size_give_the_same_files(
    left: Files, xs: list[FilesUpdate], ys: list[FilesUpdate]
) -> None:
    assert merge_files(merge_files(left, xs), ys) == merge_files(left, xs + ys)


@given(files, st.lists(updates, max_size=4))
def test_a_merge_changes_neither_the_files_nor_the_writes(
    left: Files, xs: list[FilesUpdate]
) -> None:
    before = copy.deepcopy((left, xs))
    merged = merge_files(left, xs)
    assert (left, xs) == before
    assert merged is not left
    for file in merged.values():
        file["content"] = "changed"
    assert xs == before[1]


@given(files, st.lists(updates, max_size=4))
def test_what_is_kept_is_plain_and_has_normal_paths(left: Files, xs: list[FilesUpdate]) -> None:
    merged = merge_files(left, xs)
    assert json.loads(json.dumps(merged)) == merged
    for path, file in merged.items():
        assert path.startswith("/")
        assert set(file) <= {"content", "encoding", "created_at", "modified_at"}
        assert isinstance(file["content"], str)
        file_bytes(file)


@given(files, st.lists(updates, min_size=1, max_size=4))
def test_writes_that_are_replayed_from_json_merge_the_same(
    left: Files, xs: list[FilesUpdate]
) -> None:
    assert merge_files(left, json.loads(json.dumps(xs))) == merge_files(left, xs)


def test_the_first_edit_of_a_file_that_is_not_there_brings_the_file() -> None:
    def edited(old: str, new: str) -> Any:
        edit = {"old": old, "new": new, "replace_all": False}
        return {"/a": {"edits": [edit], "base": {"content": "one two"}}}

    one, two = edited("one", "1"), edited("two", "2")
    assert merge_files({}, [one, two])["/a"]["content"] == "1 2"
    assert merge_files({"/a": {"content": "one"}}, [one])["/a"]["content"] == "1"
    assert merge_files({}, [merge_updates(one, two)])["/a"]["content"] == "1 2"
    assert merge_files({}, [merge_updates({"/a": None}, one)])["/a"]["content"] == "1 two"
    with pytest.raises(InvalidFiles, match="must be a file"):
        merge_files({}, [{"/a": cast(Any, {"edits": [], "base": None})}])


def conflicts(files: Files) -> dict[str, str]:
    return {path: file["content"] for path, file in files.items() if "/conflicts/" in path}


def ordinary(files: Files) -> Files:
    return {path: file for path, file in files.items() if "/conflicts/" not in path}


def whole(update: Any) -> Any:
    """Return an update as a backend writes it: a file says when it was created."""
    return {
        path: {"created_at": "2024-04-04T00:00:00+00:00", **write}
        if isinstance(write, dict) and "content" in write
        else write
        for path, write in update.items()
    }


backend_updates: st.SearchStrategy[Any] = st.dictionaries(
    normal,
    st.one_of(
        st.none(),
        st.builds(
            lambda content, more: {"content": content, "encoding": "utf-8", **more},
            contents,
            st.fixed_dictionaries({}, optional={"created_at": times, "modified_at": times}),
        ),
        binary_files,
        st.builds(
            lambda pairs, more: {
                "edits": [{"old": o, "new": n, "replace_all": a} for o, n, a in pairs],
                **more,
            },
            st.lists(st.tuples(contents, contents, st.booleans()), max_size=3),
            st.fixed_dictionaries({}, optional={"modified_at": times}),
        ),
    ),
    max_size=3,
)


@given(files, backend_updates.map(whole), backend_updates.map(whole))
def test_two_updates_merged_into_one_do_what_they_do_one_after_the_other(
    left: Files, one: Any, other: Any
) -> None:
    before = copy.deepcopy((one, other))
    merged, in_turn = (
        merge_files(left, [merge_updates(one, other)]),
        merge_files(left, [one, other]),
    )
    assert ordinary(merged) == ordinary(in_turn)
    # An edit whose result the same branch has replaced is no conflict.
    assert conflicts(merged).items() <= conflicts(in_turn).items()
    if all(write is not None and "edits" in write for write in other.values()):
        assert merged == in_turn
    assert (one, other) == before


@given(files, st.lists(backend_updates.map(whole), max_size=5))
def test_any_number_of_updates_merges_into_one(left: Files, xs: list[Any]) -> None:
    merged: Any = {}
    for update in xs:
        merged = merge_updates(merged, update)
    assert ordinary(merge_files(left, [merged])) == ordinary(merge_files(left, xs))


@given(files, backend_updates)
def test_a_write_applied_in_place_does_what_the_merge_does(left: Files, update: Any) -> None:
    in_place = dict(left)
    for path, write in update.items():
        apply_write(in_place, path, write)
    assert in_place == merge_files(left, [update])


@pytest.mark.parametrize(
    ("write", "file"),
    [
        ("text", {"content": "text", "encoding": "utf-8"}),
        ("", {"content": "", "encoding": "utf-8"}),
        (["one", "two"], {"content": "one\ntwo", "encoding": "utf-8"}),
        (["one", ""], {"content": "one\n", "encoding": "utf-8"}),
        ([], {"content": "", "encoding": "utf-8"}),
        ({"content": "x"}, {"content": "x", "encoding": "utf-8"}),
        ({"content": ["x", "y"]}, {"content": "x\ny", "encoding": "utf-8"}),
        ({"content": "YQ==", "encoding": "base64"}, {"content": "YQ==", "encoding": "base64"}),
        (
            {"content": "x", "encoding": None, "created_at": None, "modified_at": "t", "odd": 1},
            {"content": "x", "encoding": "utf-8", "modified_at": "t"},
        ),
        ("a\r\nb\rc\u2028\ufeff", {"content": "a\r\nb\rc\u2028\ufeff", "encoding": "utf-8"}),
    ],
)
def test_every_form_of_a_file_is_made_into_one(write: Any, file: FileData) -> None:
    assert merge_files({}, [{"a.txt": write}]) == {"/a.txt": file}


def test_none_deletes() -> None:
    assert merge_files({"/a": {"content": "x"}}, [{"a": None}, {"/gone": None}]) == {}


def test_null_for_all_files_writes_nothing() -> None:
    nothing: Any = None
    assert merge_files({"/a": {"content": "x"}}, [nothing]) == {"/a": {"content": "x"}}


def test_an_edit_is_applied_and_dated() -> None:
    left: Files = {"/a": {"content": "one two", "created_at": "c", "modified_at": "m"}}
    edit: Any = {
        "edits": [{"old": "two", "new": "three"}, {"old": "o", "new": "0", "replace_all": True}],
        "modified_at": "n",
    }
    assert merge_files(left, [{"a": edit}]) == {
        "/a": {"content": "0ne three", "created_at": "c", "modified_at": "n"}
    }


LEFT: Files = {
    "/d/a": {"content": "one two one"},
    "/raw": {"content": "YQ==", "encoding": "base64"},
}


@pytest.mark.parametrize(
    ("path", "old", "more"),
    [
        ("/d/a", "three", {}),  # it is missing
        ("/d/a", "one", {}),  # it is not unique
        ("/gone", "one", {}),
        ("/gone", "one", {"replace_all": True, "call": "call-1"}),
        ("/raw", "Y", {}),
        ("/d/a", "", {}),
    ],
)
def test_an_edit_that_does_not_fit_is_kept_as_a_file(path: str, old: str, more: Any) -> None:
    edit: Any = {"edits": [{"old": old, "new": "NEW\n", **more}], "modified_at": "n"}
    merged = merge_files(LEFT, [{path: edit}])
    assert {p: merged[p]["content"] for p in LEFT} == {p: LEFT[p]["content"] for p in LEFT}
    [(name, text)] = conflicts(merged).items()
    assert name.startswith(f"/conflicts/{path.rpartition('/')[2]}-")
    assert text.startswith(f"This edit of {path} could not be applied")
    assert f"\nCall: {more.get('call', 'unknown')}\n" in text
    assert f"\nEvery occurrence: {'yes' if more.get('replace_all') else 'no'}\n" in text
    assert f"<<<<<<< old text\n{old}\n=======\nNEW\n\n>>>>>>> new text\n" in text
    again = merge_files(merged, [{path: edit}])
    assert conflicts(again) == conflicts(merged)
    assert merge_files(merged, [{name: None}]).keys() == LEFT.keys()


def test_the_edits_of_a_write_that_fit_are_made_beside_one_that_does_not() -> None:
    edits: Any = [{"old": "two", "new": "2"}, {"old": "no", "new": "x"}, {"old": "2", "new": "3"}]
    merged = merge_files(LEFT, [{"/d/a": {"edits": edits}}])
    assert merged["/d/a"]["content"] == "one 3 one"
    assert len(conflicts(merged)) == 1


def test_two_edits_that_don_t_fit_are_two_files() -> None:
    writes: Any = [
        {"/d/a": {"edits": [{"old": "no", "new": "x"}, {"old": "no", "new": "y"}]}},
        {"/d/b": {"edits": [{"old": "no", "new": "x"}]}},
        {"/d/a": {"edits": [{"old": "no", "new": "x", "call": "another"}]}},
    ]
    assert len(conflicts(merge_files(LEFT, writes))) == 4


def test_the_path_of_a_conflict_can_be_read() -> None:
    long: Any = {f"/{'é' * 127}": {"edits": [{"old": "no", "new": "x"}]}}
    [path] = merge_files({}, [long])
    assert normalize_path(path) == path


def test_a_whole_file_wins_over_what_was_there() -> None:
    edit: Any = {"edits": [{"old": "one", "new": "1", "replace_all": True}]}
    merged = merge_files(LEFT, [{"/d/a": edit}, {"/d/a": "whole"}, {"/d/a": "last"}])
    assert merged["/d/a"]["content"] == "last"
    assert conflicts(merged) == {}


def test_edits_of_parallel_branches_both_land() -> None:
    left: Files = {"/a": {"content": "one two"}}
    first: Any = {"edits": [{"old": "one", "new": "1", "replace_all": False}]}
    second: Any = {"edits": [{"old": "two", "new": "2", "replace_all": False}]}
    assert merge_files(left, [{"/a": first}, {"/a": second}])["/a"]["content"] == "1 2"
    assert merge_files(left, [{"/a": second}, {"/a": first}])["/a"]["content"] == "1 2"


def test_a_file_that_is_written_over_keeps_its_birth() -> None:
    left: Files = {"/a": {"content": "x", "created_at": "born"}}
    assert merge_files(left, [{"/a": "y"}])["/a"]["created_at"] == "born"
    reborn: Any = {"content": "y", "created_at": "later"}
    assert merge_files(left, [{"/a": reborn}])["/a"]["created_at"] == "later"
    assert "created_at" not in merge_files(left, [{"/a": None}, {"/a": "y"}])["/a"]


def test_two_spellings_of_a_path_in_one_update_are_written_in_order() -> None:
    edit: Any = {"edits": [{"old": "one", "new": "two"}]}
    assert merge_files({}, [{"a": "one", "/a": edit}])["/a"]["content"] == "two"
    assert merge_files({}, [{"a": edit, "/a": "one"}])["/a"]["content"] == "one"
    assert merge_files({}, [{"a": "one", "//a": None}]) == {}


@pytest.mark.parametrize(
    ("update", "named"),
    [
        ([], "mapping"),
        (["/a"], "mapping"),
        ("/a", "mapping"),
        (5, "mapping"),
        ({"../x": "y"}, r"\.\./x"),
        ({"~/x": "y"}, "~/x"),
        ({"/C:/x": "y"}, "/C:/x"),
        ({"": "y"}, "empty"),
        ({5: "y"}, "5"),
        ({"/": "y"}, "root"),
        ({"./": None}, "root"),
        ({"/a": 5}, "/a .*int"),
        ({"/a": True}, "/a .*bool"),
        ({"/a": b"x"}, "/a .*bytes"),
        ({"/a": ("x",)}, "/a .*tuple"),
        ({"/a": {}}, "/a has no `content`"),
        ({"/a": {"text": "x"}}, "/a has no `content`"),
        ({"/a": {"content": None}}, "/a .*NoneType"),
        ({"/a": {"content": 5}}, "/a .*int"),
        ({"/a": {"content": [5]}}, "/a .*list"),
        ({"/a": ["x", None]}, "/a .*list"),
        ({"/a": {"content": "x", "encoding": "latin-1"}}, "/a .*latin-1"),
        ({"/a": {"content": "x", "encoding": ["utf-8"]}}, "/a .*encoding"),
        ({"/a": {"content": "x", "encoding": "base64"}}, "/a is not base64"),
        ({"/a": {"content": "Y Q==", "encoding": "base64"}}, "/a is not base64"),
        ({"/a": {"content": "é", "encoding": "base64"}}, "/a is not base64"),
        ({"/a": {"content": "x", "created_at": 5}}, "`created_at` of /a"),
        ({"/a": {"content": "x", "modified_at": []}}, "`modified_at` of /a"),
        ({"/a": "\ud800"}, "/a is not valid Unicode"),
        ({"/a": {"content": ["ok", "\udc00"]}}, "/a is not valid Unicode"),
        ({"/a": {"edits": None}}, "edits of /a"),
        ({"/a": {"edits": "old"}}, "edits of /a"),
        ({"/a": {"edits": {"old": "a", "new": "b"}}}, "edits of /a"),
        ({"/a": {"edits": [None]}}, "edit of /a"),
        ({"/a": {"edits": [{"old": "x"}]}}, "edit of /a"),
        ({"/a": {"edits": [{"old": 5, "new": "x"}]}}, "/a .*int"),
        ({"/a": {"edits": [{"old": "x", "new": "\ud800"}]}}, "/a is not valid Unicode"),
        ({"/a": {"edits": [], "modified_at": 5}}, "`modified_at` of /a"),
    ],
    ids=lambda value: repr(value)[:50],
)
def test_what_is_not_files_is_refused_with_its_path(update: Any, named: str) -> None:
    left: Files = {"/kept": {"content": "x"}}
    with pytest.raises(InvalidFiles, match=named):
        merge_files(left, [{"/good": "y"}, update])
    assert left == {"/kept": {"content": "x"}}


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ({"content": "é\r\n"}, "é\r\n".encode()),
        ({"content": "\ufeffx", "encoding": "utf-8"}, b"\xef\xbb\xbfx"),
        ({"content": "/+8=", "encoding": "base64"}, b"\xff\xef"),
        ({"content": ""}, b""),
    ],
)
def test_a_file_stands_for_its_bytes(file: FileData, expected: bytes) -> None:
    assert file_bytes(file) == expected


def test_it_is_a_reducer_for_a_plain_channel_too() -> None:
    channel: Any = BinaryOperatorAggregate(dict[str, Any], merge_files)
    channel.update([{"/a": "one"}, {"b": "two"}, None])
    channel.update([{"/a": {"edits": [{"old": "one", "new": "ONE"}]}, "/b": None}])
    assert channel.get() == {"/a": {"content": "ONE", "encoding": "utf-8"}}
    with pytest.raises(InvalidFiles, match="not str"):
        channel.update(["text"])


# Replacements: a version or a deletion that is meant for one version of a file.


def replacing(old: str | None, new: Any) -> Any:
    replaced: Any = None if old is None else {"content": old}
    return {"file": new, "replaces": version_of(replaced), "call": "c"}


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        ("a", "a", "b", "b"),
        ("a", "a", None, None),
        (None, None, "b", "b"),
        ("b", "a", "b", "b"),
        (None, "a", None, None),
    ],
)
def test_a_replacement_applies_to_its_version_and_where_nothing_is_left_to_do(
    before: str | None, old: str | None, new: str | None, after: str | None
) -> None:
    left: Any = {} if before is None else {"/f": {"content": before}}
    merged = merge_files(left, [{"/f": replacing(old, new)}])
    assert {path: file["content"] for path, file in merged.items()} == (
        {} if after is None else {"/f": after}
    )


@pytest.mark.parametrize(
    ("before", "old", "new", "what"),
    [
        ("x", "a", "b", "version"),
        ("x", None, "b", "version"),
        (None, "a", "b", "version"),
        ("x", "a", None, "deletion"),
        ("x", "a", {"content": "/+8=", "encoding": "base64"}, "version"),
    ],
)
def test_a_replacement_of_another_version_is_kept_beside_the_file(
    before: str | None, old: str | None, new: Any, what: str
) -> None:
    left: Any = {} if before is None else {"/f": {"content": before}}
    merged = merge_files(left, [{"/f": replacing(old, new)}])
    assert ordinary(merged) == left
    [(path, text)] = conflicts(merged).items()
    assert text.startswith(f"This {what} of /f could not be applied")
    assert conflict_call(merged[path]) == "c"
    assert new is None or (new if isinstance(new, str) else new["content"]) in text


@pytest.mark.parametrize(
    "write",
    [
        {"file": {"edits": []}, "replaces": ""},
        {"file": {"file": None, "replaces": ""}, "replaces": ""},
        {"file": "b", "replaces": None},
    ],
)
def test_a_replacement_needs_a_file_and_a_digest(write: Any) -> None:
    with pytest.raises(InvalidFiles, match="a replacement of /f needs"):
        merge_files({}, [{"/f": write}])
