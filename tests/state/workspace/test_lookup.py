"""Lists and searches over mounts: each answers under its path, one that fails silences no other."""

from pathlib import Path
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from langgraph_filesystem import (
    CompositeBackend,
    FilesystemBackend,
    LocalShellBackend,
    StateBackend,
    StoreBackend,
)
from langgraph_filesystem.state.backends.file_store import Query
from langgraph_filesystem.state.backends.protocol import GlobResult, GrepResult, LsResult
from langgraph_filesystem.state.errors import BackendFailed, FileNotFound, FilesystemError
from langgraph_filesystem.state.workspace.workspace import Workspace
from tests.nodes.backends import Broken, Shelf
from tests.scripted import answers, arun, call, run
from tests.state.workspace.opened import paths, workspace


def fails(runtime: Any) -> Any:
    raise RuntimeError("it is down")


def nested(**options: Any) -> Workspace:
    """Return mounts within mounts; two of them hide files of the one above."""
    mounts = {
        "/m": Shelf(**{"f.py": "x\ny", "g__h.py": "x", "z__hidden.py": "x"}),
        "/m/z": Shelf(**{"deep.py": "x"}),
        "/v/w": Shelf(**{"x.py": "x"}),
    }
    return workspace(mounts, {"/a.py": "x", "/m/hidden": "x"}, **options)


@pytest.mark.parametrize(
    ("path", "entries"),
    [
        ("/", ["/a.py", "/m", "/v"]),
        ("/m", ["/m/f.py", "/m/g", "/m/z"]),
        ("/m/z", ["/m/z/deep.py"]),
        ("/v", ["/v/w"]),
        ("/v/w", ["/v/w/x.py"]),
    ],
)
async def test_mounts_are_listed_as_directories_and_hide_what_is_there(
    path: str, entries: list[str]
) -> None:
    result = await nested().ls(path)
    assert (paths(result), result.note) == (entries, None)


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("*.py", "/", "/a.py /m/f.py /m/g/h.py /m/z/deep.py /v/w/x.py"),
        ("*", "/", "/a.py /m/f.py /m/g/h.py /m/z/deep.py /v/w/x.py"),
        ("m/*.py", "/", "/m/f.py"),
        ("/m/*.py", "/", "/m/f.py"),
        ("m/**/*.py", "/", "/m/f.py /m/g/h.py /m/z/deep.py"),
        ("{m,v}/*/*.py", "/", "/m/g/h.py /m/z/deep.py /v/w/x.py"),
        ("*/*.py", "/m", "/m/g/h.py /m/z/deep.py"),
        ("g/*", "/m", "/m/g/h.py"),
        ("*", "/m/z", "/m/z/deep.py"),
        ("*.py", "/v", "/v/w/x.py"),
        ("w/*", "/v", "/v/w/x.py"),
        ("none/*", "/", ""),
    ],
)
@pytest.mark.parametrize("operation", ["glob", "grep"])
async def test_files_of_every_mount_are_found_under_their_full_paths(
    pattern: str, path: str, found: str, operation: str
) -> None:
    if operation == "glob":
        assert paths(await nested().glob(pattern, path)) == found.split()
    else:
        result = await nested().grep(Query("x"), path, pattern)
        assert sorted(result.counts or ()) == found.split()
        assert paths(result) == found.split()


async def test_the_same_in_a_sync_and_an_async_graph() -> None:
    turns = [call("ls"), call("glob", pattern="*"), call("grep", pattern="x")]
    options: Any = {"mounts": {"/v/w": Shelf(f="x")}, "files": {"/a": "x"}}
    for state in (run(*turns, **options), await arun(*turns, **options)):
        assert [reply.text for reply in answers(state)] == ["/a\n/v/", *["/a\n/v/w/f"] * 2]


async def test_a_file_above_a_mount_is_hidden_by_the_directory_that_is_there_now() -> None:
    opened = workspace({"/a/b": Shelf(f="x")}, {"/a": "x"})
    assert paths(await opened.ls("/")) == ["/a"]
    assert paths(await opened.ls("/a")) == ["/a/b"]
    assert paths(await opened.glob("*")) == ["/a/b/f"]
    assert await opened.kind("/a") == "directory"
    with pytest.raises(FilesystemError, match="/a: is a directory"):
        await opened.read("/a")


async def test_a_mount_that_can_not_match_is_not_asked() -> None:
    opened = workspace({"/m": Broken(OSError("gone"))}, {"/src/a.py": ""})
    assert (await opened.glob("src/*.py")).note is None


async def test_a_mount_is_asked_for_the_part_of_the_pattern_that_it_can_apply() -> None:
    asked: list[str] = []

    class Asked(Shelf):
        def glob(self, pattern: str, path: str | None = None) -> GlobResult:
            asked.append(pattern)
            return super().glob(pattern, path)

    opened = workspace({"/m": Asked(**{"a__b.py": "", "b.py": ""})})
    assert paths(await opened.glob("m/a/**/*.py")) == ["/m/a/b.py"]
    assert paths(await opened.glob("m/*.py")) == ["/m/b.py"]
    assert paths(await opened.glob("*/*.py")) == ["/m/b.py"]
    assert asked == ["a/**/*.py", "*.py", "*"]


# Mounts that fail


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (Broken(RuntimeError("boom")), "/m: RuntimeError: boom"),
        (Broken(ValueError()), "/m: ValueError"),
        (fails, "open /m failed: RuntimeError: it is down"),
        (StoreBackend(("x",)), "/m: There is no store to keep files in."),
    ],
)
async def test_a_mount_that_fails_is_named_once_and_the_others_answer(
    broken: Any, reason: str
) -> None:
    opened = workspace({"/m": broken, "/n": Shelf(f="x")}, {"/a": "x"})
    for result in (await opened.glob("*"), await opened.grep(Query("x"))):
        assert paths(result) == ["/a", "/n/f"]
        assert result.note is not None
        assert result.note.startswith(reason)
        assert result.note.count("/m") == 1
    for failing in (opened.ls("/m"), opened.glob("*", "/m"), opened.grep(Query("x"), "/m")):
        with pytest.raises(BackendFailed) as caught:
            await failing
        assert str(caught.value).count("/m") <= 1


@pytest.mark.parametrize("broken", [Broken(OSError("gone")), fails])
async def test_a_root_that_fails_still_shows_the_mounts(broken: Any) -> None:
    opened = workspace({"/": broken, "/m": Shelf(f="x"), "/v/w": Shelf()})
    listed = await opened.ls("/")
    assert paths(listed) == ["/m", "/v"]
    assert listed.note is not None
    assert paths(await opened.glob("*")) == ["/m/f"]
    assert paths(await opened.grep(Query("x"))) == ["/m/f"]


async def test_when_every_mount_fails_it_is_an_error() -> None:
    opened = workspace({"/": Broken(OSError("gone")), "/m": fails})
    for failing in (opened.glob("*"), opened.grep(Query("x"))):
        with pytest.raises(FilesystemError, match="gone"):
            await failing


async def test_a_path_that_is_nowhere_is_an_error() -> None:
    opened = nested()
    for failing in (opened.ls("/no"), opened.glob("*", "/no"), opened.grep(Query("x"), "/no")):
        with pytest.raises(FileNotFound, match="/no: no such file"):
            await failing


def test_in_an_answer_a_failure_is_one_line() -> None:
    mounts = {"/": Broken(RuntimeError("gone\nfishing")), "/m": Shelf(f="")}
    [reply] = answers(run(call("ls"), mounts=mounts))
    assert reply.status == "success"
    assert reply.text == "/m/\n[/: RuntimeError: gone\\nfishing]"


# Notes and limits


async def test_what_mounts_say_of_their_results_has_full_paths(tmp_path: Path) -> None:
    (tmp_path / "large").write_text("x\n" * 1_000)
    disk = FilesystemBackend(tmp_path, max_file_size_mb=0.001)
    store = StoreBackend(("x",), store=InMemoryStore(), max_file_size_mb=0.001)
    store.upload_files([("/big", b"x" * 2_000)])
    inner = CompositeBackend(StateBackend(), {"/in": store})
    opened = workspace({"/disk": disk, "/made": lambda runtime: inner})
    note = (await opened.grep(Query("x"))).note or ""
    assert note.count("/disk/large") == 1
    assert note.count("/made/in/big") == 1


async def test_a_list_that_a_backend_cut_says_so() -> None:
    class Cut(Shelf):
        def glob(self, pattern: str, path: str | None = None) -> GlobResult:
            return GlobResult(matches=[{"path": "/f"}], truncated=True)

    result = await workspace({"/m": Cut()}).glob("*")
    assert (result.truncated, result.note) == (True, "/m: The list is not complete.")


@pytest.mark.parametrize("mode", ["content", "count", "files_with_matches"])
@pytest.mark.parametrize(("most", "lines"), [(1, 1), (3, 3), (4, 4), (5, 5), (6, 5)])
async def test_no_more_lines_than_asked_for_are_found_in_all(
    mode: Any, most: int, lines: int
) -> None:
    opened = workspace({"/m": Shelf(f="x\nx"), "/n": StateBackend()}, {"/a": "x\nx", "/n/g": "x"})
    found = await opened.grep(Query("x", max_count=most, output_mode=mode))
    assert sum((found.counts or {}).values()) == lines
    assert found.truncated is (most < 5)
    if mode == "content":
        assert len(found.matches or ()) == lines


async def test_what_a_mount_hides_does_not_use_up_the_limit() -> None:
    opened = workspace({"/m": Shelf()}, {"/m/stale": "x", "/z": "x"})
    assert paths(await opened.grep(Query("x", max_count=1))) == ["/z"]


async def test_a_backend_without_a_search_that_can_not_be_read_says_so() -> None:
    class Sealed:
        def ls(self, path: str) -> LsResult:
            return LsResult(entries=[{"path": "/f"}])

        def grep(
            self, pattern: str, path: str | None = None, glob: str | None = None
        ) -> GrepResult:
            return GrepResult(matches=[{"path": "/f", "line": 1, "text": pattern}])

    opened = workspace({"/m": Sealed()}, {"/a": "x"})
    assert paths(await opened.grep(Query("x"))) == ["/a", "/m/f"]
    found = await opened.grep(Query("x", regex=True))
    assert paths(found) == ["/a"]
    assert found.note


# Paths that commands print


async def test_a_path_that_a_command_printed_is_searched_under_its_own_name(
    tmp_path: Path,
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("x")
    root = str(tmp_path.resolve())
    opened = workspace({"/p": LocalShellBackend(tmp_path)})
    assert paths(await opened.ls(root)) == ["/p/src"]
    assert paths(await opened.glob("src/*.py", root)) == ["/p/src/a.py"]
    assert paths(await opened.grep(Query("x"), f"{root}/src")) == ["/p/src/a.py"]
    assert await opened.kind(f"{root}/src") == "directory"


async def test_a_path_that_really_is_there_comes_before_an_alias(tmp_path: Path) -> None:
    root = str(tmp_path.resolve())
    (tmp_path / "f").write_text("on disk")
    opened = workspace({"/p": LocalShellBackend(tmp_path)}, {f"{root}/mine": "in the thread"})
    assert paths(await opened.ls(root)) == [f"{root}/mine"]
    with pytest.raises(FileNotFound, match=f"{root}/f: "):
        await opened.read(f"{root}/f")


async def test_an_alias_is_looked_up_beside_a_mount_that_fails(tmp_path: Path) -> None:
    root = str(tmp_path.resolve())
    opened = workspace({"/": fails, "/p": LocalShellBackend(tmp_path)})
    with pytest.raises(FilesystemError, match="it is down"):
        await opened.read(f"{root}/f")
