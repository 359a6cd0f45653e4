"""Reading the channels of the running graph: the guard of the one LangGraph internal we touch."""

from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph
from langgraph.types import Send

from langgraph_filesystem import FilesystemState
from langgraph_filesystem.nodes.running import read_channels, running_channels
from langgraph_filesystem.state.channels import FilesChannel


async def test_a_node_started_by_a_send_reads_the_state_of_its_step() -> None:
    found: list[Any] = []

    def first(state: Any) -> dict[str, Any]:
        return {"files": {"/a": "from the step before"}}

    def reader(state: Any, config: RunnableConfig) -> dict[str, Any]:
        found.append((state, read_channels(config, "messages", "files", "seen")))
        return {"files": {f"/{state}": "of this step"}}

    builder = StateGraph(FilesystemState)
    builder.add_node("first", first)
    builder.add_node("reader", reader)
    builder.add_edge(START, "first")
    builder.add_conditional_edges("first", lambda _: [Send("reader", "x"), Send("reader", "y")])
    graph = builder.compile()
    given: Any = {"messages": [HumanMessage("hi")]}
    graph.invoke(given)
    await graph.ainvoke(given)
    assert sorted(sent for sent, _ in found) == ["x", "x", "y", "y"]
    for _, channels in found:
        assert [message.text for message in channels["messages"]] == ["hi"]
        assert list(channels["files"]) == ["/a"]
        assert channels.get("seen", {}) == {}


async def test_a_node_sees_the_channels_of_its_graph_themselves() -> None:
    found: list[Any] = []

    def node(state: Any, config: RunnableConfig) -> dict[str, Any]:
        found.append(running_channels(config))
        return {}

    builder = StateGraph(FilesystemState)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    given: Any = {"messages": [HumanMessage("hi")]}
    builder.compile().invoke(given)
    await builder.compile().ainvoke(given)
    for channels in found:
        assert isinstance(channels["files"], FilesChannel)
        assert [message.text for message in channels["messages"].get()] == ["hi"]
    assert len(found) == 2
    assert running_channels({}) is None
    assert running_channels({"configurable": {}}) is None
