"""Backends of ours in an agent of `deepagents`: its tools work on them."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend as TheirCompositeBackend
from deepagents.backends.protocol import BackendProtocol, SandboxBackendProtocol
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.store.memory import InMemoryStore

from langgraph_filesystem.interop import for_deepagents
from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from langgraph_filesystem.state.backends.execution.shell import LocalShellBackend
from langgraph_filesystem.state.backends.objects.store import StoreBackend
from langgraph_filesystem.state.workspace.composite import CompositeBackend
from tests.nodes.backends import Shelf
from tests.scripted import ScriptedModel, call, says


class Shut(Shelf):
    """A shelf that can't be searched."""

    def glob(self, pattern: str, path: str | None = None) -> Any:
        raise ConnectionError("no route")


modes = pytest.mark.parametrize("mode", ["sync", "async"])


async def replies(mode: str, backend: Any, *turns: Any) -> list[ToolMessage]:
    agent = create_deep_agent(model=ScriptedModel([says(turn) for turn in turns]), backend=backend)
    given: Any = {"messages": [HumanMessage("go")]}
    state = await agent.ainvoke(given) if mode == "async" else agent.invoke(given)
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


def disk(tmp_path: Path) -> Any:
    return FilesystemBackend(tmp_path)


def composite(tmp_path: Path) -> Any:
    stored = StoreBackend(("files",), store=InMemoryStore())
    return CompositeBackend(FilesystemBackend(tmp_path), {"/store/": stored, "/shelf": Shelf()})


def within_theirs(tmp_path: Path) -> Any:
    stored = StoreBackend(("files",), store=InMemoryStore())
    routes: Any = {"/store/": for_deepagents(stored), "/shelf/": for_deepagents(Shelf())}
    return TheirCompositeBackend(for_deepagents(FilesystemBackend(tmp_path)), routes)


def adapted(tmp_path: Path) -> Any:
    return for_deepagents(FilesystemBackend(tmp_path))


def adapted_composite(tmp_path: Path) -> Any:
    return for_deepagents(composite(tmp_path))


@pytest.mark.parametrize("made", [disk, composite, adapted, adapted_composite])
@modes
async def test_its_file_tools_work(made: Any, mode: str, tmp_path: Path) -> None:
    found = await replies(
        mode,
        made(tmp_path),
        call("write_file", file_path="/d/a.txt", content="one\ntwo\nthree\n"),
        call("read_file", file_path="/d/a.txt", offset=1, limit=1),
        call("edit_file", file_path="/d/a.txt", old_string="two", new_string="2"),
        call("edit_file", file_path="/d/a.txt", old_string="two", new_string="2"),
        call("ls", path="/d"),
        call("glob", pattern="*.txt"),
        call("grep", pattern="2", output_mode="content"),
        call("grep", pattern="e", path="/d", glob="*.txt", output_mode="count"),
        call("read_file", file_path="/gone"),
        call("delete", file_path="/d/a.txt"),
    )
    statuses = [reply.status == "success" for reply in found]
    assert statuses == [True, True, True, False, True, True, True, True, False, True]
    assert "two" in found[1].text
    assert "three" not in found[1].text
    assert "`old_string` is not in the file" in found[3].text
    assert "/d/a.txt" in found[4].text
    assert "/d/a.txt" in found[5].text
    assert "2" in found[6].text
    assert "/d/a.txt: 2" in found[7].text
    assert "/gone" in found[8].text
    assert list(tmp_path.rglob("*.txt")) == []


@pytest.mark.parametrize("made", [composite, within_theirs])
@modes
async def test_mounts_are_reached(made: Any, mode: str, tmp_path: Path) -> None:
    found = await replies(
        mode,
        made(tmp_path),
        call("write_file", file_path="/store/a.md", content="in the store\n"),
        call("write_file", file_path="/shelf/b.md", content="on the shelf\n"),
        call("write_file", file_path="/c.md", content="on the disk\n"),
        call("glob", pattern="*.md"),
        call("grep", pattern="the", output_mode="files_with_matches"),
        call("ls", path="/"),
    )
    assert [reply.status for reply in found] == ["success"] * 6
    for path in ("/store/a.md", "/shelf/b.md", "/c.md"):
        assert path in found[3].text
        assert path in found[4].text
    assert "/store" in found[5].text
    assert [path.name for path in tmp_path.rglob("*.md")] == ["c.md"]


@modes
async def test_its_execute_works_with_the_adapter(mode: str, tmp_path: Path) -> None:
    found = await replies(
        mode,
        for_deepagents(LocalShellBackend(tmp_path)),
        call("write_file", file_path="/a.txt", content="text\n"),
        call("execute", command="cat a.txt; exit 3"),
        call("execute", command="echo early; sleep 30", timeout=1),
        call("read_file", file_path="/a.txt"),
    )
    assert "text" in found[1].text
    assert found[1].artifact["exit_code"] == 3
    assert "early" in found[2].text
    assert found[3].status == "success"


@modes
async def test_a_write_replaces_what_is_there_as_its_agents_expect(
    mode: str, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text("old")
    change = call("write_file", file_path="/a", content="new")
    [kept] = await replies(mode, FilesystemBackend(tmp_path), change)
    assert kept.status == "error"
    assert (tmp_path / "a").read_text() == "old"
    [replaced] = await replies(mode, for_deepagents(FilesystemBackend(tmp_path)), change)
    assert replaced.status == "success"
    assert (tmp_path / "a").read_text() == "new"


@modes
async def test_an_empty_file_and_a_page_past_the_end_are_read(mode: str, tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("")
    (tmp_path / "a").write_text("one\n")
    found = await replies(
        mode,
        for_deepagents(FilesystemBackend(tmp_path)),
        call("read_file", file_path="/empty"),
        call("read_file", file_path="/a", offset=5),
    )
    assert "empty" in found[0].text
    assert "one" not in found[1].text


def test_only_what_a_backend_can_do_is_offered(tmp_path: Path) -> None:
    class Lasting(Shelf):
        """Nothing of it can be deleted."""

        delete: Any = None

    plain = for_deepagents(FilesystemBackend(tmp_path))
    assert isinstance(plain, BackendProtocol)
    assert not isinstance(plain, SandboxBackendProtocol)
    assert type(plain).delete is not BackendProtocol.delete
    assert type(for_deepagents(Lasting())).delete is BackendProtocol.delete
    able = for_deepagents(LocalShellBackend(tmp_path))
    assert isinstance(able, SandboxBackendProtocol)
    assert able.id == LocalShellBackend(tmp_path).id
    within = for_deepagents(CompositeBackend(Shelf(), {"/w": LocalShellBackend(tmp_path)}))
    assert within.execute("echo hi").output == "hi\n"


@modes
async def test_a_search_that_is_not_complete_does_not_look_complete(
    mode: str, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("needle\n")
    (tmp_path / "large.txt").write_text("needle\n" * 300_000)
    disk = FilesystemBackend(tmp_path, max_file_size_mb=1)
    backend = for_deepagents(CompositeBackend(disk, {"/m": Shut()}))
    searched, found = backend.grep("needle", "/"), backend.glob("*.txt", "/")
    assert (searched.truncated, found.truncated) == (True, True)
    assert "/large.txt" in searched.error
    grep, glob = await replies(
        mode,
        backend,
        call("grep", pattern="needle", output_mode="content"),
        call("glob", pattern="*.txt"),
    )
    assert grep.text.startswith("Not searched")
    assert "/a.txt:\n  1: needle" in grep.text
    assert "/a.txt" in glob.text
    assert "incomplete" in glob.text


def test_a_search_that_found_nothing_and_could_not_look_everywhere_is_an_error() -> None:
    found = for_deepagents(CompositeBackend(Shelf(), {"/m": Shut()})).glob("*.txt", "/")
    assert (found.truncated, found.matches) == (True, [])
    assert "no route" in found.error


def test_without_deepagents_the_error_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['deepagents'] = None\n"
        "from langgraph_filesystem.interop import for_deepagents\n"
        "for_deepagents(object())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "`for_deepagents` needs deepagents: pip install deepagents" in done.stderr
