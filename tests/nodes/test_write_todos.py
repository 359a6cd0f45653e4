"""`write_todos`: the list of steps, a channel that only a graph with `todos=True` has."""

import json
from typing import Annotated, Any

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.graph import START, StateGraph
from langgraph.types import Command

from langgraph_filesystem import (
    Choices,
    FilesystemState,
    create_filesystem_agent,
    filesystem_node,
)
from langgraph_filesystem.nodes.prompt import filesystem_prompt
from langgraph_filesystem.nodes.registry import WRITE_TODOS
from langgraph_filesystem.state.schema import Todos, extended_schema
from langgraph_filesystem.state.workspace.mounts import Mounts
from tests.scripted import ScriptedModel, answers, arun, call, run, says
from tests.snapshots import assert_snapshot

GO: Any = {"messages": [HumanMessage("go")]}
THREAD: Any = {"configurable": {"thread_id": "1"}}


def step(content: str, status: str = "pending") -> dict[str, str]:
    return {"content": content, "status": status}


def write(*steps: Any, id: str | None = None) -> dict[str, Any]:
    return call("write_todos", id, todos=list(steps))


def test_what_the_model_is_told_is_a_snapshot() -> None:
    assert_snapshot("write_todos.json", json.dumps(WRITE_TODOS.tool(), indent=1) + "\n")
    section = filesystem_prompt(["ls", "write_todos"], Mounts())
    assert_snapshot("prompt_todos.md", f"{section}\n")
    assert filesystem_prompt(["write_todos"], Mounts()).startswith("## Steps")
    assert "write_todos" not in filesystem_prompt(["ls"], Mounts())


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_the_list_is_replaced_by_the_last_call_and_every_call_is_answered(mode: str) -> None:
    turns: Any = [
        [write(step("a"), step("b"), id="1"), call("ls", "2"), write(step("a"), id="3")],
        write(step("a", "completed"), step("b", "in_progress"), step("c"), step("d")),
    ]
    state = await arun(*turns, todos=True) if mode == "async" else run(*turns, todos=True)
    assert state["todos"] == [
        step("a", "completed"),
        step("b", "in_progress"),
        step("c"),
        step("d"),
    ]
    assert [reply.text for reply in answers(state)] == [
        "The list has 2 steps: 2 pending.",
        "The list has 1 step: 1 pending.",
        "/ is empty.",
        "The list has 4 steps: 1 completed, 1 in progress, 2 pending.",
    ]


def test_an_empty_list_clears_it() -> None:
    state = run(write(step("a")), write(), todos=True)
    assert state["todos"] == []
    assert answers(state)[-1].text == "The list is empty."


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"todos": [{"content": "a", "status": "done"}]}, "`todos.0.status`"),
        ({"todos": [{"content": "", "status": "pending"}]}, "`todos.0.content`"),
        ({"todos": [{"content": "a"}]}, "`todos.0.status`"),
        ({"todos": [{"content": "\ud800", "status": "pending"}]}, "`todos.0.content`"),
        ({"todos": "a"}, "`todos`"),
        ({}, "`todos`"),
    ],
)
def test_a_list_of_another_form_is_an_error_reply_and_changes_nothing(
    wrong: dict[str, Any], problem: str
) -> None:
    state = run([write(step("a"), id="1"), call("write_todos", "2", **wrong)], todos=True)
    bad = next(reply for reply in answers(state) if reply.tool_call_id == "2")
    assert bad.status == "error"
    assert problem in bad.text
    assert state["todos"] == [step("a")]
    assert state["messages"][-1].text == "done"


def test_without_todos_there_is_no_such_tool_and_no_such_channel() -> None:
    agent = create_filesystem_agent(ScriptedModel([says(write(step("a")))]))
    assert "todos" not in agent.channels
    state = agent.invoke({**GO, "todos": [step("mine")]})
    assert "There is no tool 'write_todos'" in answers(state)[0].text
    assert "todos" not in state


def test_a_client_may_give_a_list_and_edit_it(saver: Any) -> None:
    agent = create_filesystem_agent(ScriptedModel(), todos=True, checkpointer=saver)
    assert agent.invoke({**GO, "todos": [step("given")]}, THREAD)["todos"] == [step("given")]
    agent.update_state(THREAD, {"todos": [step("edited")]})
    assert agent.get_state(THREAD).values["todos"] == [step("edited")]


def test_a_tool_may_write_the_list_beside_it() -> None:
    @tool
    def plan(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Plan."""
        message = ToolMessage("planned", tool_call_id=tool_call_id)
        return Command(update={"todos": [step("planned")], "messages": [message]})

    state = run([write(step("written")), call("plan")], todos=True, tools=[plan])
    assert state["todos"] == [step("planned")]
    assert [reply.status for reply in answers(state)] == ["success", "success"]


def test_a_run_that_stopped_before_it_goes_on_with_it(saver: Any) -> None:
    def agent() -> Any:
        model = ScriptedModel([says(write(step("a"), id="1"), call("ls", "2"))])
        return create_filesystem_agent(
            model, todos=True, checkpointer=saver, interrupt_before=["write_todos"]
        )

    stopped = agent().invoke(GO, THREAD)
    assert stopped.get("todos", []) == []
    state = agent().invoke(None, THREAD)
    assert state["todos"] == [step("a")]
    assert sorted(reply.tool_call_id for reply in answers(state)) == ["1", "2"]


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_the_list_of_a_node_reaches_a_parent_that_has_the_channel(mode: str) -> None:
    agent = create_filesystem_agent(ScriptedModel([says(write(step("a")))]), todos=True)
    for schema in (extended_schema(FilesystemState, todos=Todos), FilesystemState):
        builder = StateGraph(schema)
        builder.add_node("agent", filesystem_node(agent))
        builder.add_edge(START, "agent")
        graph = builder.compile()
        state = await graph.ainvoke(GO) if mode == "async" else graph.invoke(GO)
        assert state.get("todos") == (None if schema is FilesystemState else [step("a")])
        assert state["messages"][-1].text == "done"


def test_a_run_may_do_without_it() -> None:
    model = ScriptedModel([says(write(step("a")))])
    agent = create_filesystem_agent(model, todos=True, context_schema=Choices)
    state = agent.invoke(GO, context={"todos": False})
    assert answers(state)[0].status == "error"
    assert "write_todos" not in model.asked[0][0].text
    state = agent.invoke(GO, context={"operations": []})
    assert state["todos"] == [step("a")]
    with pytest.raises(ValueError, match=r"does not have: execute\. It has: ls.*grep\."):
        agent.invoke(GO, context={"operations": ["execute"]})


def test_the_description_may_be_your_own() -> None:
    model = ScriptedModel()
    create_filesystem_agent(model, todos=True, tool_descriptions={"write_todos": "Plan."})
    assert model.bound[-1]["function"]["description"] == "Plan."


class Own(FilesystemState):
    """A schema with another kind of todos."""

    todos: dict[str, str]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"todos": [step("a")]}, "`todos` must be True or False"),
        ({"todos": True, "state_schema": Own}, "Own has a key `todos` of its own"),
        ({"tool_descriptions": {"write_todos": "Plan."}}, "no operation 'write_todos'"),
    ],
)
def test_a_mistake_is_refused_when_the_graph_is_built(options: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        create_filesystem_agent(ScriptedModel(), **options)
