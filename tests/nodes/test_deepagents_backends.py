"""Backends made for `deepagents`, mounted as they are: every operation works through our graph."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends import (
    CompositeBackend,
    FilesystemBackend,
    LocalShellBackend,
    StateBackend,
    StoreBackend,
)
from deepagents.backends.protocol import (
    ExecuteResponse,
    FileDownloadResponse,
    FileUploadResponse,
)
from deepagents.backends.sandbox import BaseSandbox
from langgraph.store.memory import InMemoryStore

from langgraph_filesystem import StateBackend as OurStateBackend
from langgraph_filesystem import create_filesystem_agent
from tests.nodes.backends import Shelf
from tests.scripted import ScriptedModel, answers, arun, call, run

STORE = InMemoryStore()


class Sandbox(BaseSandbox):
    """A sandbox of which every operation is a command, as those of partners are."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @property
    def id(self) -> str:
        return "a-sandbox"

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        done = subprocess.run(
            ["sh", "-c", command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=self._directory,
            timeout=timeout,
            # It runs Python for each operation: the one that is here, not one that looks for it.
            env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        )
        return ExecuteResponse(output=done.stdout + done.stderr, exit_code=done.returncode)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        for path, content in files:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_bytes(content)
        return [FileUploadResponse(path=path) for path, _ in files]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        return [self._download(path) for path in paths]

    def _download(self, path: str) -> FileDownloadResponse:
        if not os.path.exists(path):
            return FileDownloadResponse(path=path, error="file_not_found")
        if os.path.isdir(path):
            return FileDownloadResponse(path=path, error="is_directory")
        return FileDownloadResponse(path=path, content=Path(path).read_bytes())


Made = tuple[dict[str, Any], str]
"""Mounts, and the path at which to work in them."""


def filesystem(tmp_path: Path) -> Made:
    return {"/m": FilesystemBackend(root_dir=tmp_path, virtual_mode=True)}, "/m"


def store(tmp_path: Path) -> Made:
    return {"/m": StoreBackend(store=STORE, namespace=lambda _: (tmp_path.name,))}, "/m"


def shell(tmp_path: Path) -> Made:
    return {"/m": LocalShellBackend(root_dir=tmp_path, virtual_mode=True)}, "/m"


def state(tmp_path: Path) -> Made:
    return {"/m": StateBackend()}, "/m"


def composite(tmp_path: Path) -> Made:
    disk = FilesystemBackend(root_dir=tmp_path, virtual_mode=True)
    return {"/m": CompositeBackend(StateBackend(), {"/disk/": disk})}, "/m/disk"


def sandbox(tmp_path: Path) -> Made:
    # Its paths are those of the machine, so it is mounted at `/`.
    return {"/": Sandbox(tmp_path), "/own": OurStateBackend()}, str(tmp_path)


KINDS: list[Callable[[Path], Made]] = [filesystem, store, shell, state, composite, sandbox]
kinds = pytest.mark.parametrize("made", KINDS)
modes = pytest.mark.parametrize("mode", ["sync", "async"])


async def replies(mode: str, mounts: dict[str, Any], *turns: Any) -> list[Any]:
    options: Any = {"mounts": mounts, "store": STORE}
    return answers(await arun(*turns, **options) if mode == "async" else run(*turns, **options))


async def texts(mode: str, mounts: dict[str, Any], *turns: Any) -> list[str]:
    found = await replies(mode, mounts, *turns)
    assert [reply.status for reply in found] == ["success"] * len(found), found
    return [reply.text for reply in found]


def write(path: str, content: str, **args: Any) -> Any:
    return call("write_file", file_path=path, content=content, **args)


def read(path: str, **args: Any) -> Any:
    return call("read_file", file_path=path, **args)


def grep(pattern: str, path: str, **args: Any) -> Any:
    return call("grep", pattern=pattern, path=path, output_mode="content", **args)


@kinds
@modes
async def test_files_are_written_read_edited_and_deleted(
    made: Any, mode: str, tmp_path: Path
) -> None:
    mounts, here = made(tmp_path)
    path = f"{here}/d/a.txt"
    said = await texts(
        mode,
        mounts,
        write(path, "one\ntwo\nthree\n"),
        call("edit_file", file_path=path, old_string="two", new_string="2"),
        read(path, offset=1, limit=1),
        write(path, "new\n", overwrite=True),
        read(path),
        call("delete", file_path=path),
    )
    assert said[0] == f"Wrote {path}: 3 lines, 14 characters."
    assert said[1] == f"Edited {path} in 1 place."
    assert said[2].startswith("     2\t2\n")
    assert said[4].startswith("     1\tnew\n[end of file: 1 line")
    assert said[5] == f"Deleted {path}."


@kinds
@modes
async def test_files_are_listed_and_found(made: Any, mode: str, tmp_path: Path) -> None:
    mounts, here = made(tmp_path)
    said = await texts(
        mode,
        mounts,
        write(f"{here}/d/a.py", "one\nTwo\n"),
        write(f"{here}/d/e/b.md", "two\n"),
        call("ls", path=f"{here}/d"),
        call("glob", pattern="*.py", path=here),
        call("glob", pattern="d/**/*.md", path=here),
        grep("two", here),
        grep("o", here, glob="*.py"),
        call("grep", pattern="o", path=f"{here}/d", output_mode="count", max_count=2),
    )
    assert said[2].split("\n") == [f"{here}/d/a.py", f"{here}/d/e/"]
    assert said[3] == f"{here}/d/a.py"
    assert said[4] == f"{here}/d/e/b.md"
    assert said[5] == f"{here}/d/e/b.md:1:two"
    assert said[6].split("\n") == [f"{here}/d/a.py:1:one", f"{here}/d/a.py:2:Two"]
    assert "there are more matches" in said[7]


@kinds
@modes
async def test_searches_that_they_do_not_know_work_too(
    made: Any, mode: str, tmp_path: Path
) -> None:
    mounts, here = made(tmp_path)
    path = f"{here}/d/a.py"
    said = await texts(
        mode,
        mounts,
        write(path, "import os\n\ndef Main():\n    return 1\n"),
        write(f"{here}/d/.env", "MAIN=1\n"),
        grep("^def \\w+", here, regex=True),
        grep("main", here, ignore_case=True),
        grep("Main", here, context=1),
        grep("main", path, ignore_case=True),
        grep("m", here, ignore_case=True, glob="*.py", max_count=1),
    )
    assert said[2] == f"{path}:3:def Main():"
    assert said[3].split("\n") == [f"{here}/d/.env:1:MAIN=1", f"{path}:3:def Main():"]
    assert said[4].split("\n") == [f"{path}-2-", f"{path}:3:def Main():", f"{path}-4-    return 1"]
    assert said[5] == f"{path}:3:def Main():"
    assert said[6].split("\n")[0] == f"{path}:1:import os"


@kinds
@modes
async def test_files_move_within_and_to_and_from_mounts(
    made: Any, mode: str, tmp_path: Path
) -> None:
    mounts, here = made(tmp_path)
    mounts["/own"] = OurStateBackend()
    said = await texts(
        mode,
        mounts,
        write(f"{here}/d/a", "1\n"),
        write(f"{here}/d/e/b", "2\n"),
        call("move", source=f"{here}/d/a", destination=f"{here}/c"),
        call("move", source=f"{here}/d", destination="/own/d"),
        call("move", source="/own/d", destination=f"{here}/back"),
        read(f"{here}/c"),
        read(f"{here}/back/e/b"),
        call("glob", pattern="*", path="/own"),
    )
    assert said[3] == f"Moved {here}/d to /own/d (1 file)."
    assert said[5].startswith("     1\t1\n")
    assert said[6].startswith("     1\t2\n")
    assert said[7] == "No file in /own matches *."


@kinds
@modes
async def test_what_goes_wrong_is_a_reply_that_names_the_path(
    made: Any, mode: str, tmp_path: Path
) -> None:
    mounts, here = made(tmp_path)
    path = f"{here}/a"
    found = await replies(
        mode,
        mounts,
        write(path, "x x\n"),
        write(path, "again"),
        read(f"{here}/gone"),
        call("edit_file", file_path=path, old_string="y", new_string="z"),
        call("edit_file", file_path=path, old_string="x", new_string="z"),
        call("edit_file", file_path=f"{here}/gone", old_string="x", new_string="z"),
        call("delete", file_path=f"{here}/gone"),
        call("move", source=f"{here}/gone", destination=f"{here}/b"),
        call("move", source=path, destination=path),
        grep("(", here, regex=True),
        read(path),
    )
    assert [reply.status for reply in found[1:-1]] == ["error"] * 9
    for reply in found[1:9]:
        assert here in reply.text
        assert not reply.text.startswith("Error: Error")
        if here != str(tmp_path):
            assert str(tmp_path) not in reply.text
    assert "malformed" in found[9].text
    assert found[-1].text.startswith("     1\tx x\n")


@pytest.mark.parametrize("kind", [FilesystemBackend, LocalShellBackend])
@pytest.mark.parametrize("prefix", ["/", "/m"])
@modes
async def test_no_answer_shows_where_the_root_is_on_the_host(
    kind: Any, prefix: str, mode: str, tmp_path: Path
) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "a").write_text("x x\n")
    (tmp_path / "out").symlink_to("/etc")
    mounts = {prefix: kind(root_dir=tmp_path, virtual_mode=True)}
    here = prefix.rstrip("/")
    turns = [
        turn
        for path in (f"{here}/{name}" for name in ("gone", "d", "a", "out/passwd", "a/b"))
        for turn in (
            call("ls", path=path),
            read(path),
            read(path, offset=99),
            write(path, "new"),
            call("edit_file", file_path=path, old_string="x", new_string="z"),
            call("glob", pattern="*", path=path),
            grep("x", path),
            call("move", source=path, destination=f"{here}/a/x"),
            call("delete", file_path=path) if "gone" in path else call("ls", path=path),
        )
    ]
    found = await replies(mode, mounts, *turns)
    assert sum(reply.status == "error" for reply in found) > 20
    assert not [reply.text for reply in found if str(tmp_path) in reply.text]
    texts = [reply.text for reply in found if reply.status == "error"]
    assert f"Error: Error writing file '{here}/d': [Errno 21] Is a directory: '{here}/d'" in texts
    assert any(text.endswith(f"outside root directory: {prefix}") for text in texts)


class Searching(Shelf):
    """A search that could not read every file, and says so."""

    def grep(self, pattern: str, path: str | None = None, glob: str | None = None) -> Any:
        found = super().grep(pattern, path, glob)
        found.error = "Not all files were searched:\n- /d/no: denied\n- /e: denied"
        return found


@modes
async def test_a_search_that_could_not_read_all_files_shows_what_it_found(mode: str) -> None:
    mounts = {"/m": Searching(a="x\n")}
    found = await replies(mode, mounts, grep("x", "/m"), grep("y", "/m"))
    note = r"/m: Not all files were searched:\n- /m/d/no: denied\n- /m/e: denied"
    assert found[0].text == f"/m/a:1:x\n[{note}]"
    assert (found[1].status, found[1].text) == ("error", f"Error: {note.removeprefix('/m: ')}")


@pytest.mark.parametrize("made", [filesystem, store, shell])
@modes
async def test_what_is_no_text_is_not_edited_but_can_be_replaced(
    made: Any, mode: str, tmp_path: Path
) -> None:
    mounts, here = made(tmp_path)
    path = f"{here}/l1.txt"
    mounts["/m"].upload_files([("/l1.txt", "caf\xe9\n".encode("latin-1"))])
    found = await replies(
        mode,
        mounts,
        call("edit_file", file_path=path, old_string="c", new_string="d"),
        read(path),
        write(path, "new\n", overwrite=True),
    )
    said = f"Error: {path}: text that is not UTF-8 (5 bytes), which can't be read or edited"
    assert found[0].text.startswith(said)
    assert found[1].text.startswith(said)
    assert found[2].status == "success"


@pytest.mark.parametrize("made", [shell, sandbox])
@modes
async def test_commands_run_where_the_files_are(made: Any, mode: str, tmp_path: Path) -> None:
    mounts, here = made(tmp_path)
    found = await replies(
        mode,
        mounts,
        write(f"{here}/a", "text\n"),
        call("execute", command="cat a; exit 3"),
        call("execute", command="sleep 0.1; echo in time", timeout=20),
    )
    assert found[1].text.startswith("text\n")
    assert found[1].artifact["exit_code"] == 3
    assert found[2].text.startswith("in time\n")


@pytest.mark.parametrize("made", [filesystem, store, state])
def test_commands_are_not_offered_where_none_can_run(made: Any, tmp_path: Path) -> None:
    model = ScriptedModel()
    mounts, _ = made(tmp_path)
    create_filesystem_agent(model, mounts=mounts, store=STORE).invoke({"messages": ["go"]})
    assert "execute" not in str(model.bound)


@kinds
def test_bytes_that_are_no_text_move_unchanged(made: Any, tmp_path: Path) -> None:
    mounts, here = made(tmp_path)
    shelf = Shelf(raw=bytes(range(256)))
    mounts["/shelf"] = shelf
    there = call("move", source="/shelf/raw", destination=f"{here}/raw")
    back = call("move", source=f"{here}/raw", destination="/shelf/back")
    found = answers(run(there, back, mounts=mounts, store=STORE))
    assert [reply.status for reply in found] == ["success", "success"], found
    assert shelf.files == {"/back": bytes(range(256))}


class Older:
    """As small as a backend may be: fewer methods, fewer keywords, no twins."""

    def __init__(self) -> None:
        self._shelf = Shelf(a="One\ntwo\n")

    def ls(self, path: str) -> Any:
        return self._shelf.ls(path)

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> Any:
        return self._shelf.read(file_path, offset, limit)

    def write(self, file_path: str, content: str) -> Any:
        return self._shelf.write(file_path, content)

    def edit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> Any:
        return self._shelf.edit(file_path, old_string, new_string, replace_all)

    def glob(self, pattern: str, path: str = "/") -> Any:
        return self._shelf.glob(pattern, path)

    def grep(self, pattern: str, path: str | None = None, glob: str | None = None) -> Any:
        return self._shelf.grep(pattern, path, glob)

    def execute(self, command: str) -> Any:
        return ExecuteResponse(output=f"ran {command}\n", exit_code=0)


@modes
async def test_what_a_backend_has_not_is_not_assumed(mode: str) -> None:
    found = await replies(
        mode,
        {"/m": Older()},
        read("/m/a"),
        write("/m/a", "again"),
        write("/m/b", "new\n"),
        call("edit_file", file_path="/m/a", old_string="two", new_string="2"),
        grep("^one", "/m", regex=True, ignore_case=True, context=1, max_count=1),
        call("execute", command="x", timeout=5),
        call("delete", file_path="/m/a"),
        call("move", source="/m/a", destination="/here"),
        write("/here", "new\n"),
        call("move", source="/here", destination="/m/c"),
        read("/m/c"),
    )
    statuses = [reply.status == "success" for reply in found]
    assert statuses == [True, False, True, True, True, True, False, False, True, True, True]
    assert found[4].text.split("\n")[:2] == ["/m/a:1:One", "/m/a-2-2"]
    assert found[5].text == "ran x\n[exit status 0]"
    assert found[6].text == "Error: /m/a: the backend mounted at /m can't delete."
    assert found[7].text.startswith("Error: /m/a: can't be moved to /here, as the backend mounted")
