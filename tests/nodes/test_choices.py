"""Choices of a run: each is followed, and a context of another kind chooses nothing."""

from dataclasses import dataclass
from typing import Any, get_args

import pytest
from langchain_core.messages import HumanMessage
from langgraph.runtime import Runtime
from pydantic import ValidationError

from langgraph_filesystem import create_filesystem_agent
from langgraph_filesystem.nodes.registry import OPERATIONS
from langgraph_filesystem.nodes.settings import (
    DEFAULTS,
    Choices,
    OperationName,
    chosen,
    offered_by,
)
from tests.scripted import ScriptedModel, answers, call, says

GIVEN: Any = {"messages": [HumanMessage("go")]}


def test_every_operation_can_be_chosen() -> None:
    assert get_args(OperationName) == tuple(OPERATIONS)


@dataclass
class Theirs:
    """A context of somebody else, with a name that we know too."""

    model: str = "none of ours"
    operations: tuple[str, ...] = ()


@pytest.mark.parametrize("context", [None, {"operations": ["ls"]}, Theirs()])
def test_a_context_of_another_kind_chooses_nothing(context: Any) -> None:
    runtime = Runtime(context=context)
    assert chosen(runtime) is DEFAULTS
    assert offered_by(OPERATIONS, runtime) is OPERATIONS


def test_operations_keep_their_order() -> None:
    runtime = Runtime(context=Choices(operations=("grep", "ls")))
    assert list(offered_by(OPERATIONS, runtime)) == ["ls", "grep"]
    assert offered_by(OPERATIONS, Runtime(context=Choices(operations=()))) == {}


@pytest.mark.parametrize(
    "wrong",
    [
        {"evict_over": 0},
        {"evict_over": True},
        {"evict_over": 1.5},
        {"operations": ["fly"]},
        {"operations": "ls"},
        {"model": None},
        {"other": 1},
    ],
)
def test_a_wrong_choice_is_rejected(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Choices(**wrong)


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_run_follows_its_choices_and_the_next_one_does_not(mode: str) -> None:
    script = [says(call("ls", path="/"), call("grep", pattern="x"))]
    model = ScriptedModel(script)
    agent = create_filesystem_agent(model, context_schema=Choices, system_prompt="Default.")

    async def ran(**context: Any) -> Any:
        if mode == "async":
            return await agent.ainvoke(GIVEN, context=context)
        return agent.invoke(GIVEN, context=context)

    state = await ran(operations=["ls"], system_prompt="Be brief.")
    assert {m.name: m.status for m in answers(state)} == {"ls": "success", "grep": "error"}
    assert "There are: ls." in next(m.text for m in answers(state) if m.name == "grep")
    assert "Be brief." in model.asked[0][0].text
    assert "Default." not in model.asked[0][0].text
    assert "`grep`" not in model.asked[0][0].text
    state = await ran()
    assert {m.name: m.status for m in answers(state)} == {"ls": "success", "grep": "success"}
    assert "Default." in model.asked[-1][0].text
    assert "`grep`" in model.asked[-1][0].text


def test_the_eviction_limit_is_that_of_the_run() -> None:
    agent = create_filesystem_agent(ScriptedModel(), context_schema=Choices, evict_over=None)
    given: Any = {"messages": [HumanMessage("x" * 5_000)]}
    assert agent.invoke(given).get("files", {}) == {}
    state = agent.invoke(given, context={"evict_over": 500, "operations": ["grep"]})
    assert len(state["files"]) == 1
    notice = state["messages"][0].text
    assert "`grep`" in notice
    assert "`read_file`" not in notice


def test_an_operation_that_the_graph_lacks_is_refused_at_the_start() -> None:
    model = ScriptedModel()
    agent = create_filesystem_agent(model, operations=["ls"], context_schema=Choices)
    with pytest.raises(ValueError, match=r"does not have: grep\. It has: ls\."):
        agent.invoke(GIVEN, context={"operations": ["ls", "grep"]})
    assert model.asked == []
