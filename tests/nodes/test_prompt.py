"""What the model is told: exactly what exists, behind what the user says."""

import re
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends import LocalShellBackend as TheirShell
from langchain_core.messages import HumanMessage, SystemMessage
from obstore.store import MemoryStore

from langgraph_filesystem import (
    CompositeBackend,
    FilesystemBackend,
    LocalShellBackend,
    RemoteBackend,
    SandboxBackend,
    create_filesystem_agent,
    deploy,
    filesystem_tools,
)
from langgraph_filesystem.nodes.prompt import (
    filesystem_prompt,
    system_message,
    where_commands_run,
)
from langgraph_filesystem.nodes.registry import OPERATIONS
from langgraph_filesystem.state.backends.objects.store import StoreBackend
from langgraph_filesystem.state.backends.state import StateBackend
from langgraph_filesystem.state.workspace.mounts import Mounts
from tests.nodes.backends import Shell
from tests.scripted import ScriptedModel
from tests.snapshots import assert_snapshot


@pytest.mark.parametrize(
    ("name", "operations", "mounts"),
    [
        ("prompt_all.md", list(OPERATIONS), {}),
        ("prompt_read_only.md", ["ls", "read_file"], {}),
        (
            "prompt_mounts.md",
            ["ls", "write_file", "grep"],
            {"/box": StateBackend(), "/made": lambda runtime: None, "/memories": StoreBackend()},
        ),
    ],
)
def test_the_section_is_as_a_model_sees_it(
    name: str, operations: list[str], mounts: dict[str, Any]
) -> None:
    assert_snapshot(name, filesystem_prompt(operations, Mounts(mounts)) + "\n")


class Shelf:
    """A backend of somebody else's: it need not say whether it lasts, nor say it our way."""

    ls = read = write = edit = glob = grep = print
    lasting: Any

    def __init__(self, **said: Any) -> None:
        vars(self).update(said)


@pytest.mark.parametrize(
    ("said", "told"), [({}, False), ({"lasting": False}, False), ({"lasting": True}, True)]
)
def test_only_a_backend_that_says_so_outlasts_the_conversation(
    said: dict[str, Any], told: bool
) -> None:
    shelf: Any = Shelf(**said)
    assert (
        "`/shelf/` outlasts" in filesystem_prompt(["write_file"], Mounts({"/shelf": shelf}))
    ) is told


def lasting(mounts: dict[str, Any], *operations: str) -> str | None:
    section = filesystem_prompt(operations or ["write_file"], Mounts(mounts))
    found = re.findall(r"^- (.*) outlasts this conversation", section, re.MULTILINE)
    return found[0] if found else None


def test_what_lasts_is_named_for_every_backend_that_keeps_files(tmp_path: Path) -> None:
    store, disk, thread = StoreBackend(), FilesystemBackend(tmp_path), StateBackend()
    shell, remote = LocalShellBackend(tmp_path), RemoteBackend(MemoryStore())
    unknown: Any = lambda runtime: store  # noqa: E731
    assert lasting({}) is None
    assert lasting({"/": store}) == lasting({"/": disk}) == "What you keep in files"
    assert lasting({"/d": disk, "/r": remote, "/s": shell, "/t": thread}) == (
        "What you keep in `/d/`, `/r/`, `/s/`"
    )
    assert lasting({"/": disk, "/t": thread, "/u": unknown}) == (
        "What you keep outside of `/t/`, `/u/`"
    )
    assert lasting({"/d": disk, "/d/t": thread, "/d/s": store}) == (
        "What you keep in `/d/`, `/d/s/`, but not in `/d/t/`,"
    )
    composite = CompositeBackend(thread, {"/memories": store})
    assert lasting({"/": composite}) == "What you keep in `/memories/`"


@pytest.mark.parametrize("operations", [["ls", "read_file", "glob", "grep"], ["ls", "delete"]])
def test_nothing_outlasts_where_nothing_can_be_kept(operations: list[str]) -> None:
    assert lasting({"/memories": StoreBackend()}, *operations) is None


def test_the_model_of_the_deployed_graph_is_told_that_memories_last() -> None:
    section = filesystem_prompt(["write_file"], Mounts(deploy.mounted()))
    assert "`/memories/` outlasts this conversation" in section


@pytest.mark.parametrize("name", OPERATIONS)
def test_no_operation_is_mentioned_that_does_not_exist(name: str) -> None:
    mentioned = set(re.findall(r"`(\w+)`", filesystem_prompt([name], Mounts())))
    assert mentioned & OPERATIONS.keys() == {name}


def test_without_operations_there_is_no_section() -> None:
    assert filesystem_prompt([], Mounts()) == ""


RELATIVE = (
    "Commands start in `/project`, but know it under another path: use relative paths there, "
    "`src/a.py` for `/project/src/a.py`. They don't see your other files"
)
SAME = "Commands find files at the same paths as the other operations."


def test_it_is_told_where_commands_run_and_how_they_name_files(tmp_path: Path) -> None:
    def told(mounts: Any) -> str:
        text = where_commands_run(Mounts(mounts))
        assert str(tmp_path) not in text or str(tmp_path) in mounts
        return text

    shell, sandbox = LocalShellBackend(tmp_path), SandboxBackend(tmp_path)
    theirs = TheirShell(root_dir=tmp_path, virtual_mode=True)
    unconfined, memory = LocalShellBackend(tmp_path, virtual_mode=False), StateBackend()
    assert told({"/project": shell}) == told({"/project": theirs}) == f"{RELATIVE}."
    assert told({"/project": shell, "/m": memory}) == f"{RELATIVE}."
    assert (
        told({"/project": shell, "/project/docs": memory}) == f"{RELATIVE}, nor `/project/docs/`."
    )
    assert told({"/": shell, "/m": memory}).endswith("for `/src/a.py`. They don't see `/m/`.")
    others = "They don't see your other files."
    assert told({"/project": sandbox}) == f"Commands start in `/project`. {SAME} {others}"
    assert told({str(tmp_path): shell}) == f"Commands start in `{tmp_path}`. {SAME} {others}"
    assert told({"/": unconfined}) == SAME
    assert told({"/host": unconfined}) == (
        f"Commands know `/host/src/a.py` as `/src/a.py`. {others}"
    )
    assert told({"/m": Shell()}) == f"Commands see only the files of `/m/`. {others}"
    assert told({"/b/c": shell, "/a": sandbox}).startswith("Commands start in `/a`.")
    for unknown in ({}, {"/": Shell()}, {"/project": lambda runtime: shell}):
        assert told(unknown) == ""


def test_where_commands_run_is_told_by_an_agent_and_by_the_tools_alone(tmp_path: Path) -> None:
    mounts: Any = {"/project": LocalShellBackend(tmp_path)}
    model = ScriptedModel()
    create_filesystem_agent(model, mounts=mounts).invoke({"messages": [HumanMessage("go")]})
    assert RELATIVE in model.asked[0][0].text
    execute = {tool.name: tool for tool in filesystem_tools(mounts=mounts)}["execute"]
    assert execute.description.endswith(f"{RELATIVE}.")
    [own] = filesystem_tools(["execute"], mounts=mounts, tool_descriptions={"execute": "Run."})
    assert own.description == "Run."


OURS = {"type": "text", "text": "ours"}


@pytest.mark.parametrize(
    ("own", "section", "content"),
    [
        (None, "ours", "ours"),
        ("", "ours", "ours"),
        ("theirs", "ours", [{"type": "text", "text": "theirs"}, OURS]),
        (SystemMessage("theirs"), "ours", [{"type": "text", "text": "theirs"}, OURS]),
        (
            SystemMessage([{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]),
            "ours",
            [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}, OURS],
        ),
        ("theirs", "", "theirs"),
    ],
)
def test_ours_is_put_behind_theirs(
    own: str | SystemMessage | None, section: str, content: object
) -> None:
    message = system_message(own, section)
    assert message is not None
    assert message.content == content


def test_nothing_to_say_is_no_message() -> None:
    assert system_message(None, "") is None
    assert system_message("", "") is None


def test_a_message_of_the_user_is_not_changed() -> None:
    own = SystemMessage([{"type": "text", "text": "x"}], id="s", name="n")
    message = system_message(own, "ours")
    assert message is not None
    assert (message.id, message.name) == ("s", "n")
    assert own.content == [{"type": "text", "text": "x"}]
