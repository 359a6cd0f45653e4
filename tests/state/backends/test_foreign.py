"""Backends that are not ours: with every method of a store, typed errors, and no host paths."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends import FilesystemBackend, LocalShellBackend

from langgraph_filesystem import StateBackend
from langgraph_filesystem.state.backends.file_store import FileStore, MountContext, Query
from langgraph_filesystem.state.backends.foreign import ForeignBackend
from langgraph_filesystem.state.backends.protocol import (
    ExecuteResponse,
    FileInfo,
    GlobResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from langgraph_filesystem.state.backends.public import PublicMethods
from langgraph_filesystem.state.errors import (
    BackendFailed,
    ColumnPastEnd,
    FileExists,
    FileNotFound,
    FilesystemError,
    InvalidFiles,
    IsDirectory,
    NotDirectory,
    NotText,
    OffsetPastEnd,
    PatternRefused,
    PermissionDenied,
    TextNotFound,
    TextNotUnique,
    Unsupported,
)
from langgraph_filesystem.state.files import ThreadFiles, digest_of
from langgraph_filesystem.state.text import PathPart
from langgraph_filesystem.state.workspace.mounts import open_store
from langgraph_filesystem.testing import Applied, BackendConformance, Driven
from tests.nodes.backends import Broken, PlainShell, Shelf, Shell
from tests.state.backends.foreigners import KINDS, RUNS, Run


@pytest.fixture(params=RUNS)
def run(request: pytest.FixtureRequest) -> Run:
    return RUNS[request.param]


def opened(backend: Any, **context: Any) -> FileStore:
    return open_store(backend, MountContext(**context))


def outer(error: FilesystemError) -> str:
    """Return a message as it reads when the backend is mounted at `/m`."""
    return str(error.renamed(lambda path: ("/m" + path).rstrip("/")))


class TestDeepagents:
    """Its backends do what a store does."""

    @pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
    def made(self, request: pytest.FixtureRequest, tmp_path: Path) -> tuple[FileStore, str]:
        backend, here = request.param(tmp_path)
        return opened(backend), here

    def test_files_are_written_read_edited_and_deleted(self, made: Any, run: Run) -> None:
        store, here = made
        path = f"{here}/d/a.txt"
        run(store.write(path, "one\ntwo\nthree\n"))
        assert run(store.kind(path)) == "file"
        assert run(store.kind(f"{here}/d")) == "directory"
        assert run(store.edit(path, "two", "2")).occurrences == 1
        page = run(store.read(path, 1, 1))
        assert page.file_data["content"] == "2\n"
        assert (page.next_offset, page.total_lines) == (2, 3)
        run(store.write(path, "new\n", overwrite=True))
        assert run(store.fetch([path, f"{here}/none"]))[0] == b"new\n"
        assert run(store.digest(path)) == digest_of(b"new\n")
        run(store.delete(path))
        assert run(store.kind(path)) is None
        assert run(store.digest(path)) is None

    def test_files_are_listed_and_found(self, made: Any, run: Run) -> None:
        store, here = made
        run(store.put({f"{here}/d/a.py": b"one\nTwo\n", f"{here}/d/e/b.md": b"two\n"}))
        entries = {e["path"]: bool(e.get("is_dir")) for e in run(store.ls(f"{here}/d")).entries}
        assert entries == {f"{here}/d/a.py": False, f"{here}/d/e": True}
        for pattern, path in (("*.py", "d/a.py"), ("d/**/*.md", "d/e/b.md")):
            found = run(store.glob(pattern, here or "/")).matches
            assert [match["path"] for match in found] == [f"{here}/{path}"]
        inventory = run(store.inventory(f"{here}/d"))
        assert sorted(f["path"] for f in inventory.files) == [f"{here}/d/a.py", f"{here}/d/e/b.md"]

    def test_they_are_searched_in_ways_that_they_do_not_know(self, made: Any, run: Run) -> None:
        store, here = made
        texts = {"a.py": b"import os\n\ndef Main():\n    return my\n", ".env": b"main=1\n"}
        run(store.put({f"{here}/d/{name}": text for name, text in texts.items()}))
        searches: list[tuple[Query, str | None, list[tuple[str, int]]]] = [
            (Query("import"), None, [("a.py", 1)]),
            (Query("Main"), "*.py", [("a.py", 3)]),
            (Query(r"^def \w+", regex=True), None, [("a.py", 3)]),
            (Query("MAIN", ignore_case=True), None, [(".env", 1), ("a.py", 3)]),
            (Query("m", ignore_case=True, max_count=2), "*.py", [("a.py", 1), ("a.py", 3)]),
        ]
        for query, glob, expected in searches:
            found = run(store.grep(query, f"{here}/d", glob))
            lines = [(match["path"], match["line"]) for match in found.matches]
            assert lines == [(f"{here}/d/{name}", line) for name, line in expected]
            assert found.truncated is (query.max_count is not None)
        one = run(store.grep(Query("MAIN", ignore_case=True), f"{here}/d/a.py")).matches
        assert [(match["path"], match["line"]) for match in one] == [(f"{here}/d/a.py", 3)]

    def test_lines_around_a_match_come_with_it(self, made: Any, run: Run) -> None:
        store, here = made
        run(store.put({f"{here}/a": b"1\nneedle\n3\n"}))
        [match] = run(store.grep(Query("needle", context=1), here or "/")).matches
        assert match["context_before"] == [{"line": 1, "text": "1"}]
        assert match["context_after"] == [{"line": 3, "text": "3"}]

    def test_errors_have_the_types_of_ours(self, made: Any, run: Run, tmp_path: Path) -> None:
        store, here = made
        a = f"{here}/a"
        run(store.write(a, "x x\n"))
        failures: list[tuple[Any, type[FilesystemError]]] = [
            (store.write(a, "again"), FileExists),
            (store.read(f"{here}/gone"), FileNotFound),
            (store.read(a, 99), OffsetPastEnd),
            (store.edit(a, "y", "z"), TextNotFound),
            (store.edit(a, "x", "z"), TextNotUnique),
            (store.edit(f"{here}/gone", "x", "z"), FileNotFound),
            (store.delete(f"{here}/gone"), FileNotFound),
            (store.ls(f"{here}/gone"), FileNotFound),
            (store.ls(a), NotDirectory),
            (store.inventory(f"{here}/gone"), FileNotFound),
            (store.move(a, f"{here}/b"), Unsupported),
            (store.grep(Query("(", regex=True), here or "/"), PatternRefused),
        ]
        for work, kind in failures:
            with pytest.raises(kind) as failed:
                run(work)
            text = str(failed.value)
            assert "Error:" not in text
            assert kind is PatternRefused or f"{here}/" in text
            assert here or str(tmp_path) not in text

    def test_a_file_that_must_not_be_overwritten_is_not(self, made: Any, run: Run) -> None:
        store, here = made
        files = {f"{here}/a": b"new", f"{here}/b": b"\xff", f"{here}/d": b"new"}
        run(store.put({f"{here}/a": b"old", f"{here}/d/c": b""}))
        failed = run(store.put(files, overwrite=False))
        assert {path: type(error) for path, error in failed.items()} == {
            f"{here}/a": FileExists,
            f"{here}/d": IsDirectory,
        }
        assert run(store.fetch([f"{here}/a", f"{here}/b"])) == [b"old", b"\xff"]

    def test_only_what_was_copied_is_deleted(self, made: Any, run: Run) -> None:
        store, here = made
        run(store.put({f"{here}/d/{name}": name.encode() for name in "abc"}))
        digests = {f"{here}/d/a": digest_of(b"a"), f"{here}/d/b": digest_of(b"other")}
        stay = [f"{here}/d/b", f"{here}/d/c"]
        assert sorted(run(store.delete_copied(f"{here}/d", digests))) == stay
        assert sorted(f["path"] for f in run(store.inventory(f"{here}/d")).files) == stay
        assert run(store.delete_copied(stay[0], {stay[0]: digest_of(b"b")})) == []


class TestHostPaths:
    """What a directory is called on the host, no message shows."""

    @pytest.fixture(params=[FilesystemBackend, LocalShellBackend])
    def store(self, request: pytest.FixtureRequest, tmp_path: Path) -> FileStore:
        (tmp_path / "d").mkdir()
        (tmp_path / "a").write_text("x x\n")
        (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
        (tmp_path / "out").symlink_to("/etc")
        return opened(request.param(root_dir=tmp_path, virtual_mode=True))

    def test_no_error_shows_it(self, store: FileStore, run: Run, tmp_path: Path) -> None:
        texts: list[str] = []
        for path in ("/gone", "/d", "/a", "/out/passwd", "/a/b", "/latin.txt"):
            for work in (
                store.ls(path),
                store.read(path, 99),
                store.write(path, "new"),
                store.write(path, "a\ud800", overwrite=True),
                store.edit(path, "x", "z"),
                store.glob("*", path),
                store.grep(Query("x"), path),
                store.delete(f"{path}/none"),
            ):
                try:
                    run(work)
                except FilesystemError as error:
                    texts.append(outer(error))
        assert len(texts) > 20
        assert not [text for text in texts if str(tmp_path) in text]
        assert not [text for text in texts if "/m" not in text]
        assert any(text.endswith("outside root directory: /m") for text in texts)

    def test_what_is_not_text_is_read_whole_and_not_edited(
        self, store: FileStore, run: Run
    ) -> None:
        page = run(store.read("/latin.txt"))
        assert page.file_data == {"content": "Y2Fm6Q==", "encoding": "base64"}
        with pytest.raises(NotText, match=r"^/latin.txt: text that is not UTF-8 \(4 bytes\)"):
            run(store.edit("/latin.txt", "c", "d"))


class TestErrors:
    """Texts and exceptions of others become errors of ours, which name the path once."""

    @pytest.mark.parametrize(
        ("text", "kind", "said"),
        [
            ("file_not_found", FileNotFound, "/m/d/a: no such file"),
            ("Error: File '/d/a' not found", FileNotFound, "/m/d/a: no such file"),
            ("is_directory", IsDirectory, "/m/d/a: is a directory"),
            ("[Errno 21] Is a directory: '/d/a'", IsDirectory, "/m/d/a: is a directory"),
            ("permission_denied", PermissionDenied, "/m/d/a: permission denied"),
            ("file_exists", FileExists, "/m/d/a: the file exists"),
            ("invalid_path", BackendFailed, "/m/d/a: the backend does not accept this path"),
            ("Error: /d/a: quota", BackendFailed, "/m/d/a: quota"),
            ("sandbox not found", BackendFailed, "/m/d/a: sandbox not found"),
            ("'/d/a' is in /d, not in /da", BackendFailed, "'/m/d/a' is in /m/d, not in /da"),
            ("no:\n- /x/y: denied\n- /d", BackendFailed, "/m/d/a: no:\n- /m/x/y: denied\n- /m/d"),
        ],
    )
    def test_a_text(self, text: str, kind: type[FilesystemError], said: str) -> None:
        class Failing(Shelf):
            def read(self, *args: Any) -> ReadResult:
                return ReadResult(error=text)

        with pytest.raises(kind) as failed:
            RUNS["sync"](opened(Failing()).read("/d/a"))
        assert outer(failed.value).startswith(said)

    @pytest.mark.parametrize(
        ("error", "kind", "said"),
        [
            (ConnectionError("backend down"), BackendFailed, "/m/a: ConnectionError: backend down"),
            (OSError(28, "No space left", "/host/a"), BackendFailed, "/m/a: OSError: No space"),
            (PermissionError(13, "no", "/host/a"), PermissionDenied, "/m/a: permission denied"),
            (FileNotFoundError(2, "no", "/host/a"), FileNotFound, "/m/a: no such file"),
            (NotImplementedError(), Unsupported, "/m/a: the backend there can't delete."),
            (StopIteration("x"), BackendFailed, "/m/a: "),
        ],
    )
    def test_an_exception(
        self, run: Run, error: Exception, kind: type[FilesystemError], said: str
    ) -> None:
        with pytest.raises(kind) as failed:
            run(opened(Broken(error)).delete("/a"))
        assert outer(failed.value).startswith(said)

    def test_an_error_of_ours_passes_as_it_is(self, run: Run) -> None:
        error = FilesystemError(PathPart("/a"), ": no.")
        with pytest.raises(FilesystemError) as failed:
            run(opened(Broken(error)).delete("/a"))
        assert failed.value is error

    def test_a_result_of_another_kind_is_an_error(self, run: Run) -> None:
        class Listing(Shelf):
            def ls(self, path: str) -> Any:
                return ["/a"]

        with pytest.raises(BackendFailed, match="`ls` of the backend returned list, not LsResult"):
            run(opened(Listing()).ls("/"))

    def test_a_search_that_could_not_read_all_files_shows_what_it_found(self, run: Run) -> None:
        class Searching(Shelf):
            def grep(self, pattern: str, path: str | None = None, glob: str | None = None) -> Any:
                found = super().grep(pattern, path, glob)
                found.error = "Not all files were searched:\n- /d/no: denied"
                return found

        found: Any = run(opened(Searching(a="x\n")).grep(Query("x")))
        assert [match["path"] for match in found.matches] == ["/a"]
        assert found.note.renamed(lambda path: "/m" + path).endswith("\n- /m/d/no: denied")
        with pytest.raises(BackendFailed, match="Not all files"):
            run(opened(Searching(a="x\n")).grep(Query("y")))


class Older:
    """As small as a backend may be: fewer methods and keywords, no twins."""

    def __init__(self, **files: str) -> None:
        self.shelf = Shelf(**files)

    def ls(self, path: str) -> Any:
        return self.shelf.ls(path)

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> Any:
        return self.shelf.read(file_path, offset, limit)

    def write(self, file_path: str, content: str) -> Any:
        return self.shelf.write(file_path, content)


class TestMissingParts:
    """What a backend lacks is done with what it has."""

    def test_a_backend_that_lists_reads_and_writes_is_a_store(self, run: Run) -> None:
        backend = Older(a="One\ntwo\n", d__e="x\ny")
        store = opened(backend)
        assert not store.capabilities.deletes
        assert run(store.fetch(["/a", "/none"]))[0] == b"One\ntwo\n"
        assert run(store.digest("/a")) == digest_of(b"One\ntwo\n")
        found = run(store.grep(Query("^one", regex=True, ignore_case=True, context=1)))
        assert [(m["line"], m["text"]) for m in found.matches or ()] == [(1, "One")]
        assert [m["path"] for m in run(store.glob("e")).matches or ()] == ["/d/e"]
        assert run(store.put({"/b": b"text", "/raw": b"\xff"})).keys() == {"/raw"}
        assert backend.shelf.files["/b"] == b"text"
        for work in (store.edit("/a", "x", "y"), store.delete("/a"), store.move("/a", "/c")):
            with pytest.raises(Unsupported, match=r"^/a: the backend there can't"):
                run(work)

    def test_a_method_that_is_inherited_but_not_implemented_is_missing(self, run: Run) -> None:
        class Inheriting(Shelf):
            def missing(self, *args: Any) -> Any:
                raise NotImplementedError

            upload_files: Any = missing
            download_files: Any = missing
            glob: Any = missing
            grep: Any = missing

        store = opened(Inheriting(a="x"))
        assert run(store.fetch(["/a"])) == [b"x"]
        assert run(store.put({"/b": b"x"})) == {}
        assert [match["path"] for match in run(store.grep(Query("x"))).matches or ()] == [
            "/a",
            "/b",
        ]

    def test_pages_are_cut_for_a_backend_that_only_knows_lines(self, run: Run) -> None:
        store = opened(Shelf(a="0123456789\nnext\n"))
        page = run(store.read("/a", 0, 2, column=3, max_characters=4))
        assert page.file_data == {"content": "3456"}
        assert (page.next_offset, page.next_column) == (0, 7)
        with pytest.raises(ColumnPastEnd):
            run(store.read("/a", column=11))

    @pytest.mark.parametrize(
        ("offset", "limit", "total", "next_offset"),
        [(0, 10, 3, None), (1, 10, 3, None), (0, 2, None, 2), (0, 3, None, 3)],
    )
    def test_a_page_says_where_the_next_may_begin(
        self, run: Run, offset: int, limit: int, total: int | None, next_offset: int | None
    ) -> None:
        page = run(opened(Shelf(a="1\n2\n3")).read("/a", offset, limit))
        assert (page.total_lines, page.next_offset) == (total, next_offset)

    def test_keywords_that_a_method_does_not_take_are_left_out(self, run: Run) -> None:
        shell = PlainShell()
        assert run(opened(shell).execute("ls", timeout=5, on_output=print)).output == "ran ls\n"
        taking = Shell("said\n")
        heard: list[str] = []
        run(opened(taking).execute("ls", timeout=5, on_output=heard.append))
        assert taking.asked == [{"command": "ls", "timeout": 5}]
        assert heard == ["said\n"]

    def test_a_method_that_takes_any_keyword_does_not_decide_what_is_overwritten(
        self, run: Run
    ) -> None:
        class Loose(Shelf):
            def write(self, file_path: str, content: str, **options: Any) -> WriteResult:
                return super().write(file_path, content)

        store = opened(Loose(a="old"))
        with pytest.raises(FileExists):
            run(store.write("/a", "new"))

    def test_names_with_a_dot_are_searched_though_a_star_leaves_them_out(self, run: Run) -> None:
        class Dotted(Shelf):
            def glob(self, pattern: str, path: str | None = None) -> GlobResult:
                keys = [k for k in self.files if ("/." in k) is pattern.startswith(".")]
                return GlobResult(matches=[FileInfo(path=key) for key in keys])

        shelf = Dotted(a="x")
        shelf.put("/.env", "x")
        found = run(opened(shelf).grep(Query("X", ignore_case=True)))
        assert [match["path"] for match in found.matches or ()] == ["/.env", "/a"]

    def test_files_that_can_not_be_searched_are_named(self, run: Run) -> None:
        class Sized(Shelf):
            def glob(self, pattern: str, path: str | None = None) -> GlobResult:
                sizes = {"/large": 11_000_000, "/gone": 5}
                found = [FileInfo(path=key, size=sizes.get(key, 1)) for key in ("/a", *sizes)]
                return GlobResult(matches=found)

        found = run(opened(Sized(a="x", b=b"\xffx")).grep(Query("X", ignore_case=True)))
        assert [match["path"] for match in found.matches or ()] == ["/a"]
        assert found.note == "Not searched: /large (larger than 10,000,000 bytes)."

    def test_a_search_that_takes_too_long_says_so(self, run: Run) -> None:
        store = ForeignBackend(Shelf(a="x"), MountContext(), search_seconds=-1)
        found = run(store.grep(Query("X", ignore_case=True)))
        assert (found.matches, found.truncated) == ([], True)
        assert "Search a smaller directory" in (found.note or "")

    @pytest.mark.parametrize(("limit", "cut"), [(99, True), (199, True), (200, False)])
    def test_a_limit_is_one_for_all_files(self, run: Run, limit: int, cut: bool) -> None:
        store = opened(Shelf(**{f"f{n:03}": "x\nx\n" for n in range(100)}))
        for query in (Query("x", max_count=limit), Query("X", False, True, 0, limit)):
            found = run(store.grep(query))
            assert (len(found.matches or ()), found.truncated) == (limit, cut)
            assert sum((found.counts or {}).values()) == limit

    def test_a_list_that_is_not_whole_is_not_moved(self, run: Run) -> None:
        class Partial(Shelf):
            def ls(self, path: str) -> LsResult:
                return LsResult(entries=[FileInfo(path="/d/a")], error="unreadable: /d/x")

        store = opened(Partial())
        assert run(store.ls("/d")).note == "unreadable: /d/x"
        with pytest.raises(BackendFailed, match=r"^/d: was left as it is"):
            run(store.inventory("/d"))


class TestRuns:
    """Methods are called, or their twins are awaited, and no event loop is blocked."""

    def test_a_twin_is_awaited_and_else_a_thread_is_used(self, run: Run) -> None:
        class Telling(Shelf):
            said = ""

            def ls(self, path: str) -> LsResult:
                self.said = "method"
                return super().ls(path)

            async def als(self, path: str) -> LsResult:
                self.said = "twin"
                return super().ls(path)

            def delete(self, file_path: str) -> Any:
                self.said = threading.current_thread().name
                return super().delete(file_path)

        backend = Telling(a="x")
        run(opened(backend).ls("/"))
        assert backend.said == ("method" if run is RUNS["sync"] else "twin")
        run(opened(backend).delete("/a"))
        assert (backend.said == threading.current_thread().name) is (run is RUNS["sync"])

    async def test_commands_do_not_use_up_the_threads_of_others(self) -> None:
        gate = threading.Event()

        class Waiting(Shelf):
            def execute(self, command: str) -> ExecuteResponse:
                gate.wait(60)
                return ExecuteResponse("done", 0)

        store = opened(Waiting(a="x"))
        waiting = [asyncio.create_task(store.execute("x")) for _ in range(40)]
        await asyncio.sleep(0.05)
        assert await store.fetch(["/a"]) == [b"x"]
        gate.set()
        assert [done.output for done in await asyncio.gather(*waiting)] == ["done"] * 40

    def test_files_that_a_result_asks_for_are_written_to_the_thread(self, run: Run) -> None:
        class Asking(Shelf):
            def write(self, file_path: str, content: str) -> WriteResult:
                update: Any = {f"/m{file_path}": content}
                return WriteResult(path=file_path, files_update=update)

        thread = ThreadFiles({})
        run(opened(Asking(), prefix="/m", files=thread).write("/a", "text"))
        assert thread.files == {"/m/a": {"content": "text", "encoding": "utf-8"}}
        assert thread.update.keys() == {"/m/a"}
        run(opened(Asking()).write("/a", "text"))

    def test_files_that_are_not_valid_are_refused(self, run: Run) -> None:
        class Asking(Shelf):
            def delete(self, file_path: str) -> Any:
                return WriteResult(files_update={"/a": 1})  # type: ignore[dict-item]

        with pytest.raises(InvalidFiles):
            run(opened(Asking(), files=ThreadFiles({})).delete("/a"))


class TestCommands:
    """A command that may have run already is not run again."""

    def test_a_command_is_noted_in_the_sandbox_before_it_runs(self, run: Run) -> None:
        shell = Shell("ran")
        assert run(opened(shell).execute("x", once="scope.one.1")).output == "ran"
        assert run(opened(shell).execute("x", once="scope.one.2")).output == "ran"
        with pytest.raises(FilesystemError, match="started before the run was interrupted"):
            run(opened(shell).execute("x", once="scope.one.1"))
        assert shell.files == {"/tmp/langgraph-filesystem/scope": b"one.1\none.2\n"}
        run(opened(shell).execute("x", once="scope.two.1"))
        assert shell.files == {"/tmp/langgraph-filesystem/scope": b"two.1\n"}
        assert len(shell.asked) == 3

    def test_a_backend_that_takes_the_key_notes_it_itself(self, run: Run) -> None:
        class Journaling(Shelf):
            keys: tuple[str, ...] = ()

            def execute(self, command: str, *, once: str | None = None) -> ExecuteResponse:
                self.keys += (str(once),)
                return ExecuteResponse("ran", 0)

        shell = Journaling()
        for _ in range(2):
            run(opened(shell).execute("x", once="scope.one.1"))
        assert shell.keys == ("scope.one.1", "scope.one.1")
        assert shell.files == {}

    def test_a_store_says_what_it_can_do_and_where_commands_find_files(
        self, tmp_path: Path
    ) -> None:
        here = str(tmp_path.resolve())
        shell = opened(LocalShellBackend(root_dir=tmp_path, virtual_mode=True)).capabilities
        assert (shell.executes, shell.command_root) == (True, here)
        plain = opened(LocalShellBackend(root_dir=tmp_path, virtual_mode=False)).capabilities
        assert (plain.executes, plain.command_root) == (True, "/")
        files = opened(FilesystemBackend(root_dir=tmp_path, virtual_mode=True)).capabilities
        assert (files.executes, files.command_root) == (False, None)
        assert (files.deletes, files.moves, files.journals) == (True, False, False)
        assert opened(Shell()).capabilities.command_root is None

    def test_where_none_can_run_that_is_said(self, run: Run) -> None:
        with pytest.raises(Unsupported, match="can't execute"):
            run(opened(Shelf()).execute("x"))


class Plain:
    """A backend with no keyword beyond those of `deepagents`, and no twins."""

    def __init__(self, backend: StateBackend) -> None:
        self.ls = backend.ls
        self.delete = lambda path: backend.delete(path)
        self.move = lambda source, destination: backend.move(source, destination)
        self.upload_files = lambda files: backend.upload_files(files)
        self.download_files = backend.download_files
        self._backend = backend

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        return self._backend.read(file_path, offset, limit)

    def write(self, file_path: str, content: str) -> WriteResult:
        return self._backend.write(file_path, content, overwrite=True)

    def edit(self, file_path: str, old: str, new: str, replace_all: bool = False) -> Any:
        return self._backend.edit(file_path, old, new, replace_all)

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        return self._backend.glob(pattern, path)

    def grep(self, pattern: str, path: str | None = None, glob: str | None = None) -> Any:
        return self._backend.grep(pattern, path, glob)


class Wrapped(PublicMethods):
    """Such a backend with the public methods of ours."""

    def open(self, context: MountContext) -> FileStore:
        backend = StateBackend()
        return ForeignBackend(Plain(backend.bound_to(backend.open(context))), context)


@pytest.mark.soak
class TestConformance(BackendConformance):
    """With what is done here for it, a plain backend does what ours do."""

    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        return Applied(Wrapped())

    def test_nothing_is_uploaded_below_a_file(self, fs: Driven) -> None:
        """The code `invalid_path` has become a sentence."""
        fs.write("/a", "x")
        assert "does not accept this path" in str(fs.upload(("/a/below", b"y"))[0].error)

    def test_only_one_of_several_concurrent_writes_creates_a_file(self, fs: Driven) -> None:
        """A write that can't check itself is checked before, so the last of several wins."""
        results = fs.together(*(("write", "/a", str(n)) for n in range(8)))
        assert any(result.error is None for result in results)
