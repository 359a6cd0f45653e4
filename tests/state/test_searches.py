"""Over mounts: each answers under its path, and one that fails does not silence the others."""

from pathlib import Path
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from langgraph_filesystem.state.backends import StateBackend
from langgraph_filesystem.state.backends.disk import grep as disk_grep
from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from langgraph_filesystem.state.backends.objects.store import StoreBackend
from langgraph_filesystem.state.backends.protocol import GlobResult, GrepResult, LsResult
from langgraph_filesystem.state.workspace.composite import CompositeBackend
from tests.nodes.backends import Broken, Shelf
from tests.nodes.test_glob import glob
from tests.nodes.test_grep import CONTENT, grep
from tests.scripted import answer, answers, arun, call


def test_a_mount_hides_what_the_state_has_at_its_path() -> None:
    reply = answer(call("ls"), files={"/m/hidden": "", "/m2": ""}, mounts={"/m": Shelf(f="")})
    assert reply.text == "/m/\n/m2"


def test_a_mount_that_fails_is_reported_beside_the_others() -> None:
    mounts = {"/": Broken(RuntimeError("gone\nfishing")), "/m": Shelf(f="")}
    reply = answer(call("ls"), mounts=mounts)
    assert reply.status == "success"
    assert reply.text == r"/m/" + "\n" + r"[/: ls / failed: RuntimeError: gone\nfishing]"


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("*.py", "/", "/a.py /m/f.py /m/g/h.py /m/z/deep.py /v/w/x.py"),
        ("m/*.py", "/", "/m/f.py"),
        ("m/**/*.py", "/", "/m/f.py /m/g/h.py /m/z/deep.py"),
        ("*/*.py", "/m", "/m/g/h.py /m/z/deep.py"),
        ("g/*", "/m", "/m/g/h.py"),
        ("*", "/m/z", "/m/z/deep.py"),
        ("*.py", "/v", "/v/w/x.py"),
    ],
)
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_files_of_every_mount_are_found_under_their_full_paths(
    pattern: str, path: str, found: str, mode: str
) -> None:
    mounts = {"/m": Shelf(), "/m/z": Shelf(), "/v/w": Shelf()}
    for name in ("/f.py", "/g/h.py", "/z/hidden.py"):
        mounts["/m"].put(name, "")
    mounts["/m/z"].put("/deep.py", "")
    mounts["/v/w"].put("/x.py", "")
    options: Any = {"files": {"/a.py": ""}, "mounts": mounts}
    asked = glob(pattern, path=path)
    state = await arun(asked, **options) if mode == "async" else None
    text = (answers(state)[0] if state else answer(asked, **options)).text
    assert text.split("\n") == found.split()


@pytest.mark.parametrize("error", [RuntimeError("boom\n/forged"), ValueError(), OSError("x")])
def test_a_mount_whose_glob_fails_is_reported_and_the_others_answer(error: Exception) -> None:
    mounts = {"/m": Broken(error), "/n": Shelf(f="")}
    reply = answer(glob("*"), files={"/a": ""}, mounts=mounts)
    assert reply.status == "success"
    *rows, note = reply.text.split("\n")
    assert rows == ["/a", "/n/f"]
    assert note.startswith(f"[/m: glob /m failed: {type(error).__name__}")


def test_a_search_fails_when_every_mount_does() -> None:
    reply = answer(glob("*", path="/m"), mounts={"/m": Broken(RuntimeError("boom"))})
    assert (reply.status, reply.text) == ("error", "Error: glob /m failed: RuntimeError: boom")


def test_a_list_that_a_backend_cut_says_so() -> None:
    class Cut(Shelf):
        def glob(self, pattern: str, path: str | None = None) -> GlobResult:
            return GlobResult(matches=[{"path": "/f"}], truncated=True)

    reply = answer(glob("*"), mounts={"/m": Cut()})
    assert reply.text == "/m/f\n[/m: the list is not complete]"


@pytest.mark.parametrize("mode", ["content", "count", "files_with_matches"])
@pytest.mark.parametrize(("most", "lines"), [(1, 1), (3, 3), (4, 4), (5, 5), (6, 5), (10**30, 5)])
def test_no_more_lines_than_asked_for_are_found_in_all(mode: str, most: int, lines: int) -> None:
    mounts = {"/m": Shelf(f="x\nx"), "/n": StateBackend()}
    files = {"/a": "x\nx", "/n/g": "x"}
    reply = answer(grep("x", output_mode=mode, max_count=most), files=files, mounts=mounts)
    assert reply.artifact["lines"] == lines
    assert reply.artifact["truncated"] is (most < 5)
    assert ("there are more matches" in reply.text) is (most < 5)
    rows = [row for row in reply.text.split("\n") if row.startswith("/")]
    if mode == "content":
        assert len(rows) == lines
    if mode == "count":
        assert sum(int(row.rpartition(":")[2]) for row in rows) == lines


@pytest.mark.parametrize(
    ("args", "rows"),
    [
        ({}, ["/a.py:1:x", "/m/f:2:x", "/m/z/g:1:x"]),
        ({"path": "/m"}, ["/m/f:2:x", "/m/z/g:1:x"]),
        ({"path": "/m/z"}, ["/m/z/g:1:x"]),
        ({"glob": "f"}, ["/m/f:2:x"]),
        ({"glob": "m/*"}, ["/m/f:2:x"]),
        ({"glob": "m/**"}, ["/m/f:2:x", "/m/z/g:1:x"]),
        ({"glob": "*.py"}, ["/a.py:1:x"]),
    ],
)
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_lines_of_every_mount_are_found_under_their_full_paths(
    args: dict[str, Any], rows: list[str], mode: str
) -> None:
    mounts = {"/m": Shelf(f="y\nx", z__hidden="x"), "/m/z": Shelf(g="x")}
    options: Any = {"files": {"/a.py": "x"}, "mounts": mounts}
    asked = grep("x", **CONTENT, **args)
    state = await arun(asked, **options) if mode == "async" else None
    reply = answers(state)[0] if state else answer(asked, **options)
    assert reply.text.split("\n") == rows


def test_a_mount_whose_grep_fails_is_reported_and_the_others_answer() -> None:
    reply = answer(
        grep("x"),
        files={"/a": "x"},
        mounts={"/m": Broken(RuntimeError("boom")), "/n": Shelf(f="x")},
    )
    assert reply.text == "/a\n/n/f\n[/m: grep /m failed: RuntimeError: boom]"


class Sealed:
    """A backend whose files can be searched, and not read."""

    def ls(self, path: str) -> LsResult:
        return LsResult(entries=[{"path": "/f"}])

    def grep(self, pattern: str, path: str | None = None, glob: str | None = None) -> GrepResult:
        return GrepResult(matches=[{"path": "/f", "line": 1, "text": pattern}])


@pytest.mark.parametrize("option", ["regex", "ignore_case"])
def test_a_backend_that_knows_no_regex_is_not_searched_as_if_it_did(option: str) -> None:
    mounts: Any = {"/m": Sealed()}
    reply = answer(grep("x", **{option: True}), files={"/a": "x"}, mounts=mounts)
    assert reply.text == "/a\n[/m: /m: the backend mounted at /m can't search so.]"
    alone = answer(grep("x", path="/m", **{option: True}), mounts=mounts)
    assert alone.status == "error"
    assert answer(grep("x", path="/m"), mounts=mounts).text == "/m/f"


def test_what_a_mount_hides_does_not_use_up_the_limit_of_a_search() -> None:
    grep = call("grep", pattern="line", max_count=1)
    reply = answer(grep, files={"/m/stale": "line", "/z": "line"}, mounts={"/m": Shelf()})
    assert reply.text.split("\n")[0] == "/z"


def nested(inner: Any) -> Any:
    """Return a factory of a composite with a backend at `/in`: unlike others, it stays nested."""
    return lambda _: CompositeBackend(StateBackend(), {"/in": inner})


@pytest.fixture
def site(tmp_path: Path) -> FilesystemBackend:
    (tmp_path / "d").mkdir()
    for name in ("large", "other"):
        (tmp_path / "d" / name).write_text("x\n" * 1_000)
    (tmp_path / "binary").write_bytes(b"x\0")
    return FilesystemBackend(tmp_path, max_file_size_mb=0.001)


@pytest.mark.parametrize("engine", ["rg", "python"])
@pytest.mark.parametrize(("is_nested", "at"), [(False, "/site"), (True, "/site/in")])
def test_what_a_mount_left_out_has_its_full_path(
    site: FilesystemBackend,
    is_nested: bool,
    at: str,
    engine: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if engine == "python":
        monkeypatch.setattr(disk_grep, "find_ripgrep", lambda: None)
    mounts = {"/site": nested(site) if is_nested else site}
    note = answer(grep("x", path="/"), mounts=mounts).text.split("\n")[-1]
    assert note == (
        f"[{at}: Not searched, because larger than 1,048 bytes (search a large file by naming it "
        f"as `path`): {at}/d/large, {at}/d/other.]"
    )
    alone = answer(grep("x", path=f"{at}/binary"), mounts=mounts).text.split("\n")[-1]
    assert alone == f"[{at}: {at}/binary is binary and was not searched.]"


@pytest.mark.parametrize(("is_nested", "at"), [(False, "/site"), (True, "/site/in")])
def test_what_a_store_did_not_search_has_its_full_path(is_nested: bool, at: str) -> None:
    store = StoreBackend(("x",), store=InMemoryStore(), max_file_size_mb=0.001)
    store.upload_files([("/d/large", b"x" * 2_000), ("/a", b"x")])
    mounts = {"/site": nested(store) if is_nested else store}
    reply = answer(grep("x"), mounts=mounts)
    assert reply.text == (
        f"{at}/a\n[{at}: Not searched, because larger than 1,048 bytes: {at}/d/large.]"
    )


def test_a_failure_within_a_mount_has_its_full_path() -> None:
    mounts = {"/site": nested(Broken(OSError("gone")))}
    assert answer(call("ls", path="/site"), mounts=mounts).text == "/site/in/"
    for asked in (glob("*"), grep("x")):
        note = answer(asked, files={"/a": ""}, mounts=mounts).text.split("\n")[-1]
        assert note == f"[/site/in: {asked['name']} /site/in failed: OSError: gone]"
