"""The filesystem that operations get: mounts under their paths, commands where they can run."""

from typing import Any

import pytest
from langgraph.runtime import Runtime

from langgraph_filesystem.nodes.filesystem import Filesystem
from langgraph_filesystem.nodes.node import _Blocking
from langgraph_filesystem.nodes.settings import Settings
from langgraph_filesystem.state.backends import StateBackend
from langgraph_filesystem.state.errors import Unsupported
from langgraph_filesystem.state.files import Files
from langgraph_filesystem.state.workspace.mounts import Mounts
from tests.nodes.backends import Shelf, Shell
from tests.scripted import answers, call, run


def filesystem(
    files: Files | None = None, mounts: Any = None, seen: Any = None, **options: Any
) -> Filesystem:
    settings = Settings(Mounts(mounts), **options)
    return Filesystem(settings, _Blocking(), Runtime(), files=files or {}, seen=seen or {})


def test_what_changes_nothing_writes_nothing() -> None:
    assert filesystem().updates() == {}


async def test_without_a_shell_nothing_can_be_executed() -> None:
    with pytest.raises(Unsupported):
        await filesystem().execute("ls", None)
    shell = Shell("hi")
    response, hint = await filesystem(mounts={"/w": shell}).execute("ls", 5, unknown=1)
    assert hint == ""
    assert (response.output, shell.asked) == ("hi", [{"command": "ls", "timeout": 5}])


def test_mounts_are_separate() -> None:
    shelf, other = Shelf(a="outer", inner__a="hidden"), Shelf(a="inner")
    mounts = {"/m": shelf, "/m/inner": other, "/s": StateBackend()}
    state = run(
        [
            call("read_file", "1", file_path="/m/a"),
            call("read_file", "2", file_path="/m/inner/a"),
            call("read_file", "3", file_path="/s/a"),
            call("read_file", "4", file_path="/a"),
        ],
        files={"/a": "root", "/s/a": "state"},
        mounts=mounts,
    )
    texts = {m.tool_call_id: m.text.split("\n")[0].split("\t")[-1] for m in answers(state)}
    assert texts == {"1": "outer", "2": "inner", "3": "state", "4": "root"}
