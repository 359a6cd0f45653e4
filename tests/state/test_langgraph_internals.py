"""What we assume about the inside of LangGraph still holds.

Each test fails with the sentence that the docstring of its function has about it.
"""

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.channels import BinaryOperatorAggregate, DeltaChannel, LastValue
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph, add_messages
from langgraph.types import Command, Overwrite, Send, interrupt
from typing_extensions import TypedDict

from langgraph_filesystem import FilesystemState, merge_files
from langgraph_filesystem.state import langgraph_internals
from langgraph_filesystem.state.channels import FilesChannel
from langgraph_filesystem.state.langgraph_internals import (
    MISSING,
    bare_copy,
    checkpoints_of,
    command_writes,
    constructor_arguments,
    durability_of,
    graph_namespace,
    has_interrupt,
    input_keys,
    is_entrypoint,
    is_external_write,
    nesting_depth,
    overwrite_of,
    read_channels,
    reducer_of,
    runnable_of,
    running_channels,
    saver_of,
    with_first_writer,
)

GO: Any = {"messages": [HumanMessage("hi")]}
THREAD: RunnableConfig = {"configurable": {"thread_id": "1"}}


def why(function: Callable[..., Any]) -> str:
    """Return the sentence that says what breaks a function."""
    _, _, sentence = inspect.cleandoc(function.__doc__ or "").partition("Breaks if ")
    assert sentence, f"{function.__name__} does not say what breaks it"
    return f"{function.__name__} breaks if " + " ".join(sentence.split())


def graph_of(node: Any, schema: Any = FilesystemState, **options: Any) -> Any:
    builder = StateGraph(schema)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    return builder.compile(**options)


def config_of_a_task(**options: Any) -> RunnableConfig:
    """Return the config that a node gets."""
    found: list[RunnableConfig] = []

    def node(state: Any, config: RunnableConfig) -> dict[str, Any]:
        found.append(config)
        return {}

    graph_of(node, checkpointer=InMemorySaver()).invoke(GO, THREAD, **options)
    return found[0]


def test_every_function_says_what_breaks_it() -> None:
    functions = [getattr(langgraph_internals, name) for name in langgraph_internals.__all__]
    for function in filter(callable, functions):
        if function is not MISSING:
            why(function)


async def test_a_node_that_a_send_started_reads_the_state_of_its_superstep() -> None:
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
    graph.invoke(GO)
    await graph.ainvoke(GO)
    assert sorted(sent for sent, _ in found) == ["x", "x", "y", "y"], why(read_channels)
    for _, values in found:
        assert [message.text for message in values["messages"]] == ["hi"], why(read_channels)
        assert list(values["files"]) == ["/a"], why(read_channels)
        assert values.get("seen", {}) == {}, why(read_channels)


async def test_a_node_sees_the_channels_of_its_graph() -> None:
    found: list[Any] = []

    def node(state: Any, config: RunnableConfig) -> dict[str, Any]:
        found.append(running_channels(config))
        return {}

    graph_of(node).invoke(GO)
    await graph_of(node).ainvoke(GO)
    assert len(found) == 2
    for channels in found:
        assert isinstance(channels["files"], FilesChannel), why(running_channels)
        assert channels["messages"].get()[0].text == "hi", why(running_channels)
    assert running_channels({}) is None
    assert running_channels({"configurable": {}}) is None


def test_a_task_knows_the_checkpointer() -> None:
    assert isinstance(saver_of(config_of_a_task()), InMemorySaver), why(saver_of)
    assert saver_of({}) is None


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_task_knows_the_durability_mode(durability: str) -> None:
    found = durability_of(config_of_a_task(durability=durability))
    assert found == durability, why(durability_of)


def test_durability_is_async_by_default() -> None:
    assert durability_of(config_of_a_task()) == durability_of({}) == "async", why(durability_of)


def test_a_nested_task_knows_its_namespace_and_its_checkpoints() -> None:
    found: list[RunnableConfig] = []

    def node(state: Any, config: RunnableConfig) -> dict[str, Any]:
        found.append(config)
        return {}

    saver = InMemorySaver()
    parent = graph_of(graph_of(node), checkpointer=saver)
    parent.invoke(GO, THREAD, durability="sync")
    namespace = graph_namespace(found[0])
    assert namespace.startswith("node:"), why(graph_namespace)
    assert graph_namespace(config_of_a_task()) == "", why(graph_namespace)
    assert nesting_depth(namespace) == 1, why(nesting_depth)
    assert nesting_depth(found[0]["configurable"]["checkpoint_ns"]) == 2, why(nesting_depth)
    places = checkpoints_of(found[0])
    assert places.keys() == {"", namespace}, why(checkpoints_of)
    for space, checkpoint in places.items():
        place: Any = {"thread_id": "1", "checkpoint_ns": space, "checkpoint_id": checkpoint}
        assert saver.get_tuple({"configurable": place}), why(checkpoints_of)


def test_an_entrypoint_is_told_from_a_graph() -> None:
    found: list[Any] = []

    @entrypoint()
    def program(given: str, *, config: RunnableConfig) -> str:
        found.append(running_channels(config))
        return given

    program.invoke("hi")
    assert is_entrypoint(found[0]), why(is_entrypoint)
    assert not is_entrypoint(running_channels(config_of_a_task()) or {}), why(is_entrypoint)


@pytest.mark.parametrize(
    "value",
    [
        Overwrite({"a": 1}),
        {"__overwrite__": {"a": 1}},
        {"type": "__overwrite__", "value": {"a": 1}},
    ],
)
def test_an_overwrite_is_recognised_in_each_form(value: Any) -> None:
    assert overwrite_of(value) == (True, {"a": 1}), why(overwrite_of)
    channel = BinaryOperatorAggregate(dict, lambda left, right: left | right)
    channel.update([{"b": 2}])
    channel.update([value])
    assert channel.get() == {"a": 1}, why(overwrite_of)
    assert overwrite_of({"a": 1})[0] is False, why(overwrite_of)


@pytest.mark.parametrize("update", [{"a": 1, "b": 2}, [("a", 1), ("b", 2)]])
def test_a_command_gives_its_writes_as_pairs(update: Any) -> None:
    assert list(command_writes(Command(update=update))) == [("a", 1), ("b", 2)], why(command_writes)
    assert list(command_writes(Command())) == [], why(command_writes)


def test_a_write_that_comes_with_a_resume_is_of_no_task() -> None:
    def node(state: Any) -> dict[str, Any]:
        interrupt("which?")
        raise RuntimeError("stop here, so that the writes stay pending")

    saver = InMemorySaver()
    graph = graph_of(node, checkpointer=saver)
    graph.invoke(GO, THREAD)
    with pytest.raises(RuntimeError, match="stop here"):
        graph.invoke(Command(resume="this", update={"files": {"/a": "a"}}), THREAD)
    found = saver.get_tuple(THREAD)
    assert found
    writes = found.pending_writes or []
    external = {channel for task, channel, _ in writes if is_external_write(task)}
    assert "files" in external, why(is_external_write)
    assert "__error__" in {c for t, c, _ in writes if not is_external_write(t)}


def test_a_checkpoint_tells_whether_a_task_has_interrupted_there() -> None:
    saver = InMemorySaver()
    graph = graph_of(lambda state: {"messages": [interrupt("well?")]}, checkpointer=saver)
    graph.invoke(GO, THREAD)
    waiting = saver.get_tuple(THREAD)
    assert waiting is not None
    assert has_interrupt(waiting), why(has_interrupt)
    graph.invoke(Command(resume="this"), THREAD)
    done = saver.get_tuple(THREAD)
    assert done is not None
    assert not has_interrupt(done), why(has_interrupt)


def test_the_reducer_of_a_channel_is_known() -> None:
    assert reducer_of(DeltaChannel(merge_files, dict)) is merge_files, why(reducer_of)
    assert reducer_of(BinaryOperatorAggregate(dict, merge_files)) is merge_files, why(reducer_of)
    assert reducer_of(LastValue(str)) is None
    assert reducer_of(graph_of(print, MessagesState).channels["messages"]) is add_messages


def test_a_bare_copy_has_all_that_a_delta_channel_has() -> None:
    channel: DeltaChannel[Any] = DeltaChannel(merge_files, dict, snapshot_frequency=7)
    channel.key, channel.value = "files", {"/a": "a"}
    copied = bare_copy(channel)
    copied.snapshot_frequency = 7
    slots = {slot for kind in DeltaChannel.__mro__ for slot in getattr(kind, "__slots__", ())}
    kept = {slot: getattr(channel, slot) for slot in slots if hasattr(channel, slot)}
    assert {slot: getattr(copied, slot, None) for slot in kept} == kept, why(bare_copy)
    assert copied.value is channel.value
    assert not hasattr(channel, "__dict__") or vars(copied) == vars(channel), why(bare_copy)


def test_a_channel_without_a_value_holds_missing() -> None:
    sentence = "MISSING breaks if a channel without a value holds another object"
    channel: DeltaChannel[Any] = DeltaChannel(merge_files, dict)
    assert channel.value is MISSING, sentence
    assert channel.checkpoint() is MISSING, sentence
    assert channel.from_checkpoint(MISSING).get() == {}, sentence


def test_a_graph_made_from_the_arguments_of_another_works_like_it() -> None:
    graph = graph_of(lambda state: {"files": {"/a": "a"}}, checkpointer=InMemorySaver())
    again = type(graph)(**constructor_arguments(graph))
    assert list(again.invoke(GO, THREAD)["files"]) == ["/a"], why(constructor_arguments)
    assert list(graph.get_state(THREAD).values["files"]) == ["/a"], why(constructor_arguments)


def test_the_input_keys_of_a_graph_are_those_of_its_input_schema() -> None:
    class Given(TypedDict):
        messages: list[Any]

    builder: Any = StateGraph(FilesystemState, input_schema=Given)
    builder.add_node("node", print)
    builder.add_edge(START, "node")
    assert input_keys(builder.compile()) == ["messages"], why(input_keys)


def test_a_compiled_node_keeps_its_runnable_and_its_writers() -> None:
    node: Any = RunnableLambda(lambda state: {"files": {"/a": "a"}})
    graph = graph_of(node)
    assert runnable_of(graph.nodes["node"]) is node, why(runnable_of)
    passed: list[Any] = []

    def look(output: Any) -> Any:
        passed.append(output)
        return output

    nodes = {
        **graph.nodes,
        "node": with_first_writer(graph.nodes["node"], RunnableLambda(look)),
    }
    again = type(graph)(**{**constructor_arguments(graph), "nodes": nodes})
    assert list(again.invoke(GO)["files"]) == ["/a"], why(with_first_writer)
    assert passed == [{"files": {"/a": "a"}}], why(with_first_writer)


def test_the_snapshot_frequency_of_a_channel_is_asked_at_every_checkpoint() -> None:
    """`StateChannel` answers with a property, so that snapshots are spaced by the size."""
    asked: list[int] = []

    class Asked(DeltaChannel[Any]):
        __slots__ = ()

        @property
        def snapshot_frequency(self) -> int:
            asked.append(1)
            return 2

        @snapshot_frequency.setter
        def snapshot_frequency(self, frequency: int) -> None:
            """Keep the two."""

    class State(TypedDict):
        files: Annotated[dict[str, Any], Asked(merge_files, dict)]

    saver = InMemorySaver()
    graph = graph_of(lambda state: {"files": {"/b": "b"}}, State, checkpointer=saver)
    graph.invoke({"files": {"/a": "a"}}, THREAD)
    stored = ["files" in found.checkpoint["channel_values"] for found in saver.list(THREAD)]
    sentence = "StateChannel breaks if LangGraph does not ask for `snapshot_frequency` each time"
    assert asked, sentence
    assert any(stored), sentence
