"""What the model is told: exactly what exists, behind what the user says."""

import re

import pytest
from langchain_core.messages import SystemMessage

from langgraph_filesystem.nodes.operations import OPERATIONS
from langgraph_filesystem.nodes.prompt import filesystem_prompt, system_message
from tests.snapshots import assert_snapshot


@pytest.mark.parametrize(
    ("name", "operations", "mounts"),
    [
        ("prompt_all.md", list(OPERATIONS), ["/"]),
        ("prompt_read_only.md", ["ls", "read_file"], ["/"]),
        ("prompt_mounts.md", ["ls", "grep"], ["/", "/box", "/memories"]),
    ],
)
def test_the_section_is_as_a_model_sees_it(
    name: str, operations: list[str], mounts: list[str]
) -> None:
    assert_snapshot(name, filesystem_prompt(operations, mounts) + "\n")


@pytest.mark.parametrize("name", OPERATIONS)
def test_no_operation_is_mentioned_that_does_not_exist(name: str) -> None:
    mentioned = set(re.findall(r"`(\w+)`", filesystem_prompt([name], ["/"])))
    assert mentioned & OPERATIONS.keys() == {name}


def test_without_operations_there_is_no_section() -> None:
    assert filesystem_prompt([], ["/"]) == ""


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
