"""`add_filesystem` in a graph with a model node of its own."""

from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.graph import END, START, StateGraph, add_messages
from typing_extensions import TypedDict

from langgraph_filesystem import (
    FilesystemState,
    add_filesystem,
    create_filesystem_agent,
    filesystem_condition,
    filesystem_tools,
    guarded,
)
from langgraph_filesystem.labels import draw_mermaid
from tests.scripted import ScriptedModel, answers, call, says
from tests.snapshots import assert_snapshot


def own_graph(*script: AIMessage, **options: Any) -> Any:
    model = ScriptedModel(script)

    def think(state: FilesystemState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    builder = StateGraph(FilesystemState)
    builder.add_node("think", think)
    builder.add_edge(START, "think")
    builder.add_conditional_edges("think", filesystem_condition, ["router", END])
    assert add_filesystem(builder, then="think", **options) is builder
    return guarded(builder.compile())


def test_operations_answer_a_model_node_of_ones_own() -> None:
    graph = own_graph(
        says(
            call("write_file", "1", file_path="/a", content="x"),
            call("read_file", "2", file_path="/a"),
            call("nonsense", "3"),
        )
    )
    state = graph.invoke({"messages": [HumanMessage("go")]})
    found = {message.tool_call_id: message.status for message in answers(state)}
    assert found == {"1": "success", "2": "success", "3": "error"}
    assert len(answers(state)) == 3
    assert state["files"]["/a"]["content"] == "x"
    assert state["messages"][-1].text == "done"


def test_the_parent_draws_every_node_and_edge() -> None:
    assert_snapshot("graph_parent.mmd", draw_mermaid(own_graph().get_graph()))


def test_tools_of_ones_own_run_beside_the_operations() -> None:
    @tool
    def double(number: int) -> str:
        """Double a number."""
        return str(2 * number)

    graph = own_graph(says(call("double", number=4), call("ls", path="/")), tools=[double])
    state = graph.invoke({"messages": [HumanMessage("go")]})
    assert {message.text for message in answers(state)} == {"8", "/ is empty."}


def test_functions_are_tools_too() -> None:
    def triple(number: int) -> str:
        """Triple a number."""
        return str(3 * number)

    graph = own_graph(says(call("triple", number=4)), tools=[triple])
    assert answers(graph.invoke({"messages": [HumanMessage("go")]}))[0].text == "12"


def test_a_schema_without_the_channels_is_refused() -> None:
    class Plain(TypedDict):
        messages: Annotated[list[Any], add_messages]

    with pytest.raises(ValueError, match=r"Plain lacks the channels files, seen, routes, messages"):
        add_filesystem(StateGraph(Plain), then="think")


def test_schemas_are_those_of_the_operations_that_can_work() -> None:
    assert [tool.name for tool in filesystem_tools()] == [
        "ls",
        "read_file",
        "write_file",
        "edit_file",
        "delete",
        "move",
        "glob",
        "grep",
    ]
    [only] = filesystem_tools(["ls"], tool_descriptions={"ls": "Look around."})
    assert only.description == "Look around."
    with pytest.raises(ValueError, match="no operation"):
        filesystem_tools(["rm"])


def test_the_tools_show_a_model_what_the_agent_shows_it() -> None:
    model = ScriptedModel()
    create_filesystem_agent(model)
    assert [convert_to_openai_tool(tool) for tool in filesystem_tools()] == model.bound


@pytest.mark.parametrize("awaited", [False, True])
async def test_a_tool_that_is_run_says_what_to_use_instead(awaited: bool) -> None:
    agent = create_agent(ScriptedModel([says(call("ls", path="/"))]), filesystem_tools())
    given: Any = {"messages": [HumanMessage("go")]}
    with pytest.raises(RuntimeError, match=r"`ls` .* can't be run.*add_filesystem"):
        await agent.ainvoke(given) if awaited else agent.invoke(given)


def test_the_condition_sends_open_calls_to_the_router() -> None:
    assert filesystem_condition({"messages": [says(call("ls"))]}) == "router"
    assert filesystem_condition({"messages": [AIMessage("done")]}) == END
    assert filesystem_condition({"messages": []}) == END


def test_calls_that_a_person_answered_go_back_to_the_model() -> None:
    graph = own_graph(says(call("ls", path="/", id="mine")))
    given = [
        HumanMessage("go"),
        says(call("ls", path="/", id="mine")),
        ToolMessage("", tool_call_id="mine"),
    ]
    assert filesystem_condition({"messages": given}) == "router"
    assert graph.invoke({"messages": given})["messages"][-1].text == "done"


def test_a_builder_is_not_patched() -> None:
    builder = StateGraph(FilesystemState)
    builder.add_node("think", lambda state: {})
    add_filesystem(builder, then="think")
    assert "compile" not in vars(builder)
