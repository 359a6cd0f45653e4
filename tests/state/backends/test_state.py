"""`StateBackend`: files in the state. What every backend does is in `test_conformance.py`."""

import asyncio
import copy
import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_filesystem import StateBackend
from langgraph_filesystem.state.backends.file_store import MountContext
from langgraph_filesystem.state.files import Files, ThreadFiles, file_bytes, merge_files
from langgraph_filesystem.state.io import run_sync

BORN = "2024-01-01T00:00:00.000+00:00"
TREE: Files = {
    "/top.md": {"content": "# Top\n", "encoding": "utf-8", "modified_at": BORN},
    "/src/a.py": {"content": "import os\n\nprint(1)\n", "created_at": BORN},
    "/src/deep/b.py": {"content": "print(2)\nprint(3)"},
    "/src/.env": {"content": "KEY=1"},
    "/pic.png": {"content": "/+8=", "encoding": "base64"},
    "/empty": {"content": ""},
}


class Bound:
    """A backend mounted over the files of a thread, and what it changes in them."""

    def __init__(self, files: Files, prefix: str = "/", **options: Any) -> None:
        self.thread = ThreadFiles(files)
        backend = StateBackend(**options)
        self.backend = backend.bound_to(backend.open(MountContext(prefix, self.thread)))

    @property
    def contents(self) -> dict[str, str]:
        return {path: file["content"] for path, file in self.thread.files.items()}


@pytest.fixture(params=["/", "/memories", "/deep/mount"])
def prefix(request: pytest.FixtureRequest) -> str:
    """Where the backend is mounted: its answers are the same everywhere."""
    return str(request.param).rstrip("/")


@pytest.fixture
def bound(prefix: str) -> Bound:
    others: Files = {"/memories2/x": {"content": "print(x)"}, "/deep": {"content": "x"}}
    files = {prefix + path: copy.deepcopy(file) for path, file in TREE.items()}
    return Bound({**files, **(others if prefix else {})}, prefix or "/")


@pytest.mark.parametrize("method", ["ls", "read", "delete", "grep"])
async def test_outside_of_a_graph_it_says_that_it_works_only_there(method: str) -> None:
    error = getattr(StateBackend(), method)("/").error
    assert "`StateBackend` works only in a graph" in error
    assert (await getattr(StateBackend(), f"a{method}")("/")).error == error


def test_outside_of_a_graph_uploads_and_downloads_say_it_too() -> None:
    [arrived] = StateBackend().upload_files([("/a", b"x")])
    [found] = StateBackend().download_files(["/a"])
    assert "works only in a graph" in (arrived.error or "")
    assert arrived.error == found.error


def test_entries_have_the_size_in_bytes_and_the_time(bound: Bound) -> None:
    found = {entry["path"]: entry for entry in bound.backend.ls("/").entries or ()}
    assert found["/top.md"] == {
        "path": "/top.md",
        "is_dir": False,
        "size": 6,
        "modified_at": BORN,
    }
    assert found["/src"] == {"path": "/src", "is_dir": True}
    assert found["/pic.png"]["size"] == 2
    assert "modified_at" not in found["/empty"]


@given(st.binary(max_size=20))
def test_sizes_are_those_of_the_bytes(content: bytes) -> None:
    bound = Bound({})
    bound.backend.upload_files([("/f", content)])
    [entry] = bound.backend.ls("/").entries or []
    assert entry["size"] == len(content)
    assert file_bytes(bound.thread.files["/f"]) == content


def test_a_file_with_files_below_it_is_listed_once() -> None:
    files: Files = {"/a": {"content": "1"}, "/a/b": {"content": "2"}}
    entries = Bound(files).backend.ls("/").entries
    assert [(entry["path"], entry.get("is_dir")) for entry in entries or ()] == [("/a", False)]


def test_new_files_are_dated_in_utc_and_keep_the_time_they_were_created(
    bound: Bound, prefix: str
) -> None:
    bound.backend.write("/new", "x")
    new = bound.thread.files[f"{prefix}/new"]
    assert new["created_at"] == new["modified_at"]
    assert datetime.fromisoformat(new["created_at"]).utcoffset() == timedelta(0)
    bound.backend.write("/src/a.py", "x", overwrite=True)
    over = bound.thread.files[f"{prefix}/src/a.py"]
    assert over["created_at"] == BORN
    assert over["modified_at"] > BORN


def test_an_edit_is_stored_as_an_edit(bound: Bound, prefix: str) -> None:
    result = bound.backend.edit("/src/a.py", "print(1)", "print(9)")
    assert (result.path, result.occurrences) == ("/src/a.py", 1)
    update: Any = bound.thread.update[f"{prefix}/src/a.py"]
    assert set(update) == {"edits", "modified_at"}
    assert bound.contents[f"{prefix}/src/a.py"] == "import os\n\nprint(9)\n"


def test_the_value_of_the_channel_itself_is_not_changed() -> None:
    files = copy.deepcopy(TREE)
    bound = Bound(files)
    for path in ("/src/a.py", "/pic.png"):
        page = bound.backend.read(path).file_data
        assert page is not None
        page["content"] = "changed"
    bound.backend.write("/new", "x")
    bound.backend.edit("/top.md", "Top", "x")
    bound.backend.move("/src", "/lib")
    bound.backend.delete("/pic.png")
    bound.backend.upload_files([("/u", b"\xff")])
    assert files == TREE
    merged = merge_files(files, [bound.thread.update])
    assert {path: file["content"] for path, file in merged.items()} == bound.contents


def test_a_moved_file_keeps_its_times_and_a_directory_all_its_files(
    bound: Bound, prefix: str
) -> None:
    assert bound.backend.move("/src", "lib/").files == 3
    assert bound.thread.files[f"{prefix}/lib/a.py"].get("created_at") == BORN
    below = {key for key in bound.thread.files if key.startswith(f"{prefix}/lib/")}
    assert below == {f"{prefix}/lib{path}" for path in ("/a.py", "/deep/b.py", "/.env")}
    assert not [key for key in bound.thread.files if key.startswith(f"{prefix}/src")]


def test_everything_moves_into_a_directory() -> None:
    bound = Bound({"/a": {"content": "1"}, "/b/c": {"content": "2"}})
    assert bound.backend.move("/", "/all").error is None
    assert bound.contents == {"/all/a": "1", "/all/b/c": "2"}


def test_two_mounts_do_not_share_a_file() -> None:
    thread = ThreadFiles({path: {"content": path} for path in ("/one/a", "/one2/a", "/two/a")})
    backend = StateBackend()
    one, two = (
        backend.bound_to(backend.open(MountContext(prefix, thread))) for prefix in ("/one", "/two")
    )
    assert [match["path"] for match in one.glob("**").matches or ()] == ["/a"]
    assert [match["text"] for match in one.grep("a").matches or ()] == ["/one/a"]
    assert one.read("/two/a").error is not None
    assert one.write("/two/a", "x").error is None
    assert one.delete("/a").error is None
    assert two.write("/b", "y").error is None
    assert sorted(thread.files) == ["/one/two/a", "/one2/a", "/two/a", "/two/b"]


@pytest.mark.parametrize(
    ("method", "args", "said"),
    [
        ("ls", ["/none"], "/none: no such file"),
        ("ls", ["/top.md"], "/top.md: .*is a file"),
        ("ls", ["../x"], "is invalid"),
        ("read", ["/src"], "/src: is a directory"),
        ("read", ["//"], "/: is a directory"),
        ("read", ["/top.md/x"], "/top.md/x: no such file"),
        ("write", ["/top.md", "x"], "/top.md: the file exists"),
        ("write", ["/src", "x"], "/src: is a directory"),
        ("write", ["./", "x"], "/: is a directory"),
        ("write", ["/top.md/x/y", "x"], "/top.md is a file"),
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
        ("move", ["/none", "/x"], "/none: no such file"),
        ("move", ["/top.md", "/empty"], "/empty: the file exists"),
        ("move", ["/top.md", "/src"], "/src: is a directory"),
        ("move", ["/top.md", "/empty/x"], "/empty is a file"),
        ("move", ["/src", "/" + "/".join(["y" * 200] * 20 + ["y" * 70])], "4096"),
        ("glob", ["*", "/none"], "/none: no such file"),
        ("glob", ["*", "/top.md"], "/top.md: .*is a file"),
        ("glob", [""], "empty"),
        ("grep", ["x", "/top.md/x"], "/top.md/x: no such file"),
        ("grep", [""], "empty"),
    ],
    ids=lambda value: value if isinstance(value, str) else repr(value)[:30],
)
def test_errors_say_why_and_change_nothing(
    bound: Bound, method: str, args: list[str], said: str
) -> None:
    result = getattr(bound.backend, method)(*args)
    assert re.search(f"^.*{said}", result.error)
    assert bound.thread.update == {}


@pytest.mark.parametrize("together", [True, False])
def test_an_upload_that_fails_says_why_and_the_others_arrive(together: bool) -> None:
    bound = Bound({path: {"content": ""} for path in ("/file", "/dir/a")})
    paths = ["/dir", "/file/x", "/new", "/new/below", "/", "/dir/a", "/../x", "/d/e/f", "/d/e"]
    files = [(path, b"x") for path in paths]
    parts = [files] if together else [[one] for one in files]
    answers = [answer for part in parts for answer in bound.backend.upload_files(part)]
    assert [answer.error for answer in answers] == [
        "is_directory",
        "invalid_path",
        None,
        "invalid_path",
        "is_directory",
        None,
        "invalid_path",
        None,
        "is_directory",
    ]
    assert sorted(bound.contents) == ["/d/e/f", "/dir/a", "/file", "/new"]


def test_an_upload_that_must_not_overwrite_leaves_what_is_there() -> None:
    bound = Bound({"/a": {"content": "old"}})
    answers = bound.backend.upload_files([("/a", b"new"), ("/b", b"new")], overwrite=False)
    assert [answer.error for answer in answers] == ["file_exists", None]
    assert bound.contents == {"/a": "old", "/b": "new"}


class TestSize:
    """`max_file_size_mb` limits what one call can put into the checkpoints."""

    @pytest.fixture
    def small(self) -> Bound:
        return Bound({"/a": {"content": "x" * 512}}, max_file_size_mb=1 / 1024)

    def test_a_file_up_to_the_limit_is_written(self, small: Bound) -> None:
        assert small.backend.write("/new", "é" * 512).error is None
        assert small.backend.upload_files([("/raw", b"\xff" * 1024)])[0].error is None
        assert small.backend.edit("/a", "x", "xx", replace_all=True).error is None
        assert len(small.contents["/a"]) == 1024

    def test_a_larger_one_is_refused_and_nothing_changes(self, small: Bound) -> None:
        for error in (
            small.backend.write("/a", "é" * 513, overwrite=True).error,
            small.backend.edit("/a", "x", "xxx", replace_all=True).error,
            small.backend.upload_files([("/a", b"\xff" * 1025)])[0].error,
        ):
            assert error is not None
            assert re.match(r"/a: has 1,\d+ bytes, more than the limit of 1,024", error)
        assert small.thread.update == {}

    def test_an_edit_is_measured_before_its_text_is_built(self) -> None:
        bound = Bound({"/a": {"content": "x" * 1_000_000}})
        # Built, it would be larger than any memory.
        error = bound.backend.edit("/a", "x", "y" * 10_000_000, replace_all=True).error
        assert error is not None
        assert "has 10,000,000,000,000 bytes" in error

    def test_the_limit_must_be_a_size(self) -> None:
        with pytest.raises(ValueError, match="must be more than 0"):
            StateBackend(max_file_size_mb=0)


def test_an_inventory_is_a_file_or_all_that_is_below() -> None:
    files: Files = {path: {"content": "é"} for path in ("/m/a", "/m/d/b", "/m/d/e/c", "/md/x")}
    backend = StateBackend()
    store = backend.open(MountContext("/m", ThreadFiles(files)))

    assert run_sync(store.inventory("/a")).files == [{"path": "/a", "is_dir": False, "size": 2}]
    assert [info["path"] for info in run_sync(store.inventory("/d")).files] == ["/d/b", "/d/e/c"]
    assert len(run_sync(store.inventory("/")).files) == 3


@pytest.mark.parametrize("regex", [False, True])
async def test_a_large_file_is_searched_off_the_event_loop(regex: bool) -> None:
    other = asyncio.create_task(asyncio.sleep(0))
    found = await Bound({"/log": {"content": "line\n" * 200_000}}).backend.agrep(
        "line", regex=regex
    )
    assert found.counts is not None
    assert len(found.counts) == 1
    assert other.done()
