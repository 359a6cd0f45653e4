"""Backends made for `deepagents`, mounted as they are: every operation works through our graph."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends import StateBackend, StoreBackend
from deepagents.backends.protocol import ExecuteResponse
from langgraph.store.memory import InMemoryStore

from langgraph_filesystem import StateBackend as OurStateBackend
from langgraph_filesystem import create_filesystem_agent
from tests.nodes.backends import Shelf
from tests.scripted import ScriptedModel, answers, arun, call, run
from tests.state.backends import foreigners

STORE = InMemoryStore()

Made = tuple[dict[str, Any], str]
"""Mounts, and the path at which to work in them."""


def filesystem(tmp_path: Path) -> Made:
    return {"/m": foreigners.filesystem(tmp_path)[0]}, "/m"


def store(tmp_path: Path) -> Made:
    return {"/m": StoreBackend(store=STORE, namespace=lambda _: (tmp_path.name,))}, "/m"


def shell(tmp_path: Path) -> Made:
    return {"/m": foreigners.shell(tmp_path)[0]}, "/m"


def state(tmp_path: Path) -> Made:
    return {"/m": StateBackend()}, "/m"


def composite(tmp_path: Path) -> Made:
    backend, here = foreigners.composite(tmp_path)
    return {"/m": backend}, f"/m{here}"


def sandbox(tmp_path: Path) -> Made:
    # Its paths are those of the machine, so it is mounted at `/`.
    return {"/": foreigners.sandbox(tmp_path)[0], "/own": OurStateBackend()}, str(tmp_path)


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


@pytest.mark.parametrize("made", [filesystem, store, shell])
@modes
async def test_a_file_that_is_not_text_is_not_edited_but_can_be_replaced(
    made: Any, mode: str, tmp_path: Path
) -> None:
    mounts, here = made(tmp_path)
    path = f"{here}/l1.txt"
    mounts["/m"].upload_files([("/l1.txt", "caf\xe9\n".encode("latin-1"))])
    found = await replies(
        mode,
        mounts,
        read(path),
        call("edit_file", file_path=path, old_string="c", new_string="d"),
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
async def test_a_backend_with_fewer_methods_does_what_it_can(mode: str) -> None:
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
    assert found[6].text == "Error: /m/a: the backend there can't delete."
    assert found[7].text.startswith("Error: /m/a: can't be moved, because the backend there can't")
