"""`StateBackend`: files in the state, from every method, right and wrong."""

import copy
import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_filesystem.state.backends.state import BoundStateBackend, StateBackend
from langgraph_filesystem.state.files import Files, file_bytes, merge_files
from tests.state.backends.state_trees import BORN, TREE, entries, tree


@pytest.fixture(params=["/", "/memories", "/deep/mount"])
def mount(request: pytest.FixtureRequest) -> str:
    """Return where the backend is mounted: its answers are the same everywhere."""
    return str(request.param)


@pytest.fixture
def prefix(mount: str) -> str:
    return mount.rstrip("/")


@pytest.fixture
def files(prefix: str) -> Files:
    others: Files = {"/memories2/x": {"content": "print(x)"}, "/other/top.md": {"content": "x"}}
    return {**tree(prefix), **(others if prefix else {})}


@pytest.fixture
def backend(files: Files, mount: str) -> BoundStateBackend:
    return StateBackend().bind(files, mount)


def after(files: Files, result: Any) -> Files:
    """Return the files after the graph has written the update that the backend asks for."""
    assert result.error is None
    return merge_files(files, [result.files_update])


@given(st.binary(max_size=20))
def test_sizes_are_those_of_the_bytes(content: bytes) -> None:
    [uploaded] = BoundStateBackend({}).upload_files([("/f", content)])
    files = merge_files({}, [uploaded.files_update or {}])
    [entry] = BoundStateBackend(files).ls("/").entries or []
    assert entry["size"] == len(content)
    assert file_bytes(files["/f"]) == content


@pytest.mark.parametrize("root", ["/", "//", "./", "\\"])
def test_an_empty_mount_is_an_empty_directory_however_it_is_spelled(mount: str, root: str) -> None:
    backend = BoundStateBackend({}, mount)
    assert backend.ls(root).entries == []
    assert backend.glob("**", root).matches == []
    assert backend.grep("x", root).matches == []


@pytest.mark.parametrize("content", ["", "x", "a\r\nb\r\n", "\ufeffx", "no end", "\f\u2028\x85"])
def test_what_is_written_is_kept_to_the_byte(
    backend: BoundStateBackend, files: Files, prefix: str, content: str
) -> None:
    result = backend.write("/new/file.txt", content)
    assert result.path == "/new/file.txt"
    written = after(files, result)[f"{prefix}/new/file.txt"]
    assert written["content"] == content
    assert file_bytes(written) == content.encode()


def test_what_is_written_is_dated_in_utc(
    backend: BoundStateBackend, files: Files, prefix: str
) -> None:
    new = after(files, backend.write("/new", "x"))[f"{prefix}/new"]
    assert new["created_at"] == new["modified_at"]
    assert datetime.fromisoformat(new["created_at"]).utcoffset() == timedelta(0)
    over = after(files, backend.write("/src/a.py", "x", overwrite=True))[f"{prefix}/src/a.py"]
    assert over["created_at"] == BORN
    assert over["modified_at"] > BORN


def test_an_edit_is_an_operation_and_not_the_file(
    backend: BoundStateBackend, files: Files, prefix: str
) -> None:
    result = backend.edit("/src/a.py", "print(1)", "print(9)")
    update: Any = (result.files_update or {})[f"{prefix}/src/a.py"]
    assert set(update) == {"edits", "modified_at"}
    assert (result.path, result.occurrences) == ("/src/a.py", 1)
    assert after(files, result)[f"{prefix}/src/a.py"]["content"] == "import os\n\nprint(9)\n"


def test_an_edit_of_every_place_says_how_many(
    backend: BoundStateBackend, files: Files, prefix: str
) -> None:
    result = backend.edit("/src/deep/b.py", "print", "show", replace_all=True)
    assert result.occurrences == 2
    assert after(files, result)[f"{prefix}/src/deep/b.py"]["content"] == "show(2)\nshow(3)"


@pytest.mark.parametrize(
    ("content", "old", "new", "expected"),
    [
        ("a\r\nb\r\n", "a\nb", "a\nx\nb", "a\r\nx\r\nb\r\n"),
        ("a\r\nb", "b", "b\nc", "a\r\nb\r\nc"),
        ("\ufeffa\n", "a", "b", "\ufeffb\n"),
        ("a\nb", "b", "c", "a\nc"),
        ("a\fb", "b", "c", "a\fc"),
    ],
)
def test_an_edit_keeps_line_ends_a_bom_and_a_missing_newline(
    content: str, old: str, new: str, expected: str
) -> None:
    files: Files = {"/f": {"content": content}}
    result = BoundStateBackend(files).edit("/f", old, new)
    assert after(files, result)["/f"]["content"] == expected


def test_a_file_or_a_whole_directory_is_deleted(
    backend: BoundStateBackend, files: Files, prefix: str
) -> None:
    assert set(files) - set(after(files, backend.delete("/top.md"))) == {f"{prefix}/top.md"}
    gone = set(files) - set(after(files, backend.delete("/src/")))
    assert gone == {f"{prefix}/src/a.py", f"{prefix}/src/deep/b.py", f"{prefix}/src/.env"}


def test_a_file_moves_with_all_it_has(
    backend: BoundStateBackend, files: Files, prefix: str
) -> None:
    moved = after(files, backend.move("/src/a.py", "/lib/new/a.py"))
    assert f"{prefix}/src/a.py" not in moved
    assert moved[f"{prefix}/lib/new/a.py"]["content"] == TREE["/src/a.py"]["content"]
    assert moved[f"{prefix}/lib/new/a.py"]["created_at"] == BORN


def test_a_directory_moves_with_all_that_is_below_it(
    backend: BoundStateBackend, files: Files, prefix: str
) -> None:
    moved = after(files, backend.move("/src", "lib/"))
    below = {key for key in moved if key.startswith(f"{prefix}/lib/")}
    assert below == {f"{prefix}/lib{path}" for path in ("/a.py", "/deep/b.py", "/.env")}
    assert not [key for key in moved if key.startswith(f"{prefix}/src")]
    assert len(moved) == len(files)


def test_everything_moves_into_a_directory() -> None:
    files: Files = {"/a": {"content": "1"}, "/b/c": {"content": "2"}}
    moved = after(files, BoundStateBackend(files).move("/", "/all"))
    assert set(moved) == {"/all/a", "/all/b/c"}


def test_uploads_are_text_where_they_are_text(
    backend: BoundStateBackend, files: Files, prefix: str
) -> None:
    text, data = backend.upload_files([("/t", b"\xef\xbb\xbfa\r\n"), ("/b", b"\xff\x00")])
    kept = merge_files(files, [text.files_update or {}, data.files_update or {}])
    assert kept[f"{prefix}/t"]["content"] == "\ufeffa\r\n"
    assert kept[f"{prefix}/b"].get("encoding") == "base64"
    found = BoundStateBackend(kept, prefix or "/").download_files(["/t", "b"])
    assert [(item.content, item.error) for item in found] == [
        (b"\xef\xbb\xbfa\r\n", None),
        (b"\xff\x00", None),
    ]


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/src", "is_directory"),
        ("//", "is_directory"),
        ("/top.md/x", "invalid_path"),
        ("~/x", "invalid_path"),
    ],
)
def test_an_upload_that_fails_says_why_and_the_others_arrive(
    backend: BoundStateBackend, path: str, error: str
) -> None:
    failed, arrived = backend.upload_files([(path, b"x"), ("/new", b"x")])
    assert (failed.path, failed.files_update, failed.error) == (path, None, error)
    assert arrived.error is None


@pytest.mark.parametrize(
    ("method", "args", "said"),
    [
        ("ls", ["/none"], "/none: no such file"),
        ("ls", ["/top.md"], "/top.md: .*is a file"),
        ("ls", ["../x"], "refused"),
        ("read", ["/none"], "/none: no such file"),
        ("read", ["/src"], "/src: is a directory"),
        ("read", ["/"], "is a directory"),
        ("read", ["//"], "is a directory"),
        ("read", ["/top.md/x"], "/top.md/x: no such file"),
        ("read", ["/a\0"], "NUL"),
        ("write", ["/top.md", "x"], "/top.md: the file exists"),
        ("write", ["/src", "x"], "/src: is a directory"),
        ("write", ["/", "x"], "is a directory"),
        ("write", ["//", "x"], "is a directory"),
        ("write", ["./", "x"], "is a directory"),
        ("write", ["/top.md/x/y", "x"], "/top.md is a file"),
        ("write", ["C:\\x", "x"], "drive"),
        ("write", ["/new", "a\ud800b"], "/new: .*surrogate at character 1"),
        ("edit", ["/none", "a", "b"], "/none: no such file"),
        ("edit", ["/src", "a", "b"], "/src: is a directory"),
        ("edit", ["/pic.png", "a", "b"], r"/pic.png: text that is not UTF-8 \(2 bytes\)"),
        ("edit", ["/top.md", "none", "b"], "/top.md: `old_string` is not in the file"),
        ("edit", ["/src/deep/b.py", "print", "b"], "/src/deep/b.py: .*2 times"),
        ("edit", ["/top.md", "Top", "\udc00"], "/top.md: .*surrogate"),
        ("edit", ["/empty", "", "x"], "/empty: `old_string` is empty"),
        ("delete", ["/none"], "/none: no such file"),
        ("delete", ["/top.md/x"], "/top.md/x: no such file"),
        ("delete", ["~"], "`~`"),
        ("move", ["/none", "/x"], "/none: no such file"),
        ("move", ["/top.md", "/empty"], "/empty: the file exists"),
        ("move", ["/top.md", "/top.md"], "/top.md: the file exists"),
        ("move", ["/top.md", "/src"], "/src: is a directory"),
        ("move", ["/top.md", "/empty/x"], "/empty is a file"),
        ("move", ["/src", "/src"], "/src: is a directory"),
        ("move", ["/top.md", "/../x"], r"`\.\.`"),
        ("glob", ["*", "/none"], "/none: no such file"),
        ("glob", ["*", "/top.md"], "/top.md: .*is a file"),
        ("glob", ["../*"], r"`\.\.`"),
        ("glob", [""], "empty"),
        ("grep", ["x", "/none"], "/none: no such file"),
        ("grep", ["x", "/top.md/x"], "/top.md/x: no such file"),
        ("grep", ["x", "/", "{a,b}" * 9], "limit"),
        ("grep", [""], "empty"),
    ],
    ids=lambda value: value if isinstance(value, str) else repr(value)[:30],
)
def test_what_can_not_be_done_is_reported_in_the_result(
    backend: BoundStateBackend, files: Files, method: str, args: list[str], said: str
) -> None:
    before = copy.deepcopy(files)
    result = getattr(backend, method)(*args)
    assert result.error is not None
    assert re.search(said, result.error)
    assert not getattr(result, "files_update", None)
    assert files == before


def test_errors_name_the_path_as_the_model_knows_it() -> None:
    error = BoundStateBackend({}, "/memories").read("/x").error
    assert error is not None
    assert error.startswith("/memories/x:")


def test_a_directory_does_not_move_to_where_its_paths_get_too_long() -> None:
    long = "/".join(["x" * 200] * 19)
    files: Files = {f"/d/{long}": {"content": "1"}}
    result = BoundStateBackend(files).move("/d", "/" + "/".join(["y" * 200] * 3))
    assert result.error is not None
    assert "4096" in result.error
    assert result.files_update is None


def test_every_update_is_one_that_the_channel_takes(
    backend: BoundStateBackend, files: Files
) -> None:
    results: list[Any] = [
        backend.write("new\\x", "1"),
        backend.write("/top.md", "1", overwrite=True),
        backend.edit("/top.md", "Top", "x"),
        backend.delete("/src"),
        backend.move("/src", "/lib"),
        *backend.upload_files([("/u", b"\xff")]),
    ]
    for result in results:
        assert result.error is None
        assert merge_files(files, [result.files_update]) != files


def test_two_mounts_do_not_see_each_others_files() -> None:
    files: Files = {
        "/one/a": {"content": "1"},
        "/one2/a": {"content": "2"},
        "/two/a": {"content": "3"},
    }
    one, two = (StateBackend().bind(files, prefix) for prefix in ("/one", "/two"))
    assert entries(one.ls("/")) == entries(two.ls("/")) == {"/a": False}
    assert [match["path"] for match in one.glob("**").matches or ()] == ["/a"]
    assert [match["text"] for match in one.grep("1").matches or ()] == ["1"]
    assert one.grep("3").matches == []
    assert one.read("/two/a").error is not None
    assert one.read("/one/a").error is not None
    assert set(after(files, one.write("/two/a", "x"))) - set(files) == {"/one/two/a"}
    assert set(files) - set(after(files, one.delete("/"))) == {"/one/a"}
    assert set(files) - set(after(files, two.delete("/a"))) == {"/two/a"}


def test_a_digest_changes_with_the_content_and_with_nothing_else() -> None:
    files: Files = {"/a": {"content": "x"}, "/b": {"content": "x", "modified_at": BORN}}
    backend = BoundStateBackend(files)
    assert backend.digest("/a") == backend.digest("b")
    changed = after(files, backend.edit("/a", "x", "y"))
    assert BoundStateBackend(changed).digest("/a") != backend.digest("/a")
    assert backend.digest("/none") is None
    assert BoundStateBackend({"/d/a": {"content": "x"}}).digest("/d") is None


def test_what_is_called_instant_exists() -> None:
    assert [
        name for name in BoundStateBackend.instant if not hasattr(BoundStateBackend, name)
    ] == []


def test_many_uploads_fail_for_the_reasons_of_one() -> None:
    files: Files = {path: {"content": ""} for path in ("/file", "/dir/a")}
    backend = BoundStateBackend(files)
    paths = ["/dir", "/file/x", "/new", "/", "/dir/a", "/../x"]
    alone = [backend.upload_files([(path, b"x")])[0].error for path in paths]
    assert alone == ["is_directory", "invalid_path", None, "is_directory", None, "invalid_path"]
    together = backend.upload_files([(path, b"x") for path in paths])
    assert [answer.error for answer in together] == alone
