"""Channels on real savers: what they store, what they refuse, and what comes back."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Overwrite

from langgraph_filesystem.guard import guarded
from langgraph_filesystem.state.channels import (
    FilesChannel,
    MessagesChannel,
    SeenChannel,
    StateChannel,
    check_files,
    merge_seen,
)
from langgraph_filesystem.state.errors import InvalidFiles
from langgraph_filesystem.state.schema import FilesystemState

THREAD: Any = {"configurable": {"thread_id": "1"}}
FIRST = {"content": "one two", "encoding": "utf-8"}


def work(state: Any) -> Any:
    """Answer the last message, and do to the files what it says."""
    text = state["messages"][-1].text
    update: Any = {"messages": [AIMessage(f"did {text}")], "seen": {"/a": text}}
    if text.startswith("write"):
        update["files"] = {"/written": text}
    if text == "edit":
        edit = {"old": "two", "new": "three", "replace_all": False}
        update["files"] = {"/a": {"edits": [edit], "modified_at": "now"}}
    return update


def builder() -> StateGraph[Any, Any, Any, Any]:
    made: StateGraph[Any, Any, Any, Any] = StateGraph(FilesystemState)
    made.add_node("work", work)
    made.add_node("rest", lambda state: {})
    made.add_edge(START, "work")
    made.add_edge("work", "rest")
    return made


def graph_on(saver: Any, **options: Any) -> Any:
    return guarded(builder().compile(checkpointer=saver, **options))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "threads.sqlite"


def opened(path: Path) -> Any:
    """Return a saver on a connection of its own."""
    return closing(sqlite3.connect(path, check_same_thread=False))


def strict_saver(connection: sqlite3.Connection) -> SqliteSaver:
    """Return a saver that loads only what is safe: plain values and LangChain's messages."""
    return SqliteSaver(connection, serde=JsonPlusSerializer(allowed_msgpack_modules=None))


def contents(graph: Any, config: Any = THREAD) -> dict[str, str]:
    files = graph.get_state(config).values.get("files", {})
    return {path: file["content"] for path, file in files.items()}


def stored(path: Path) -> list[Any]:
    """Return every row that the saver has stored."""
    with opened(path) as connection:
        return [
            row
            for table in ("checkpoints", "writes")
            for row in connection.execute(f"SELECT * FROM {table}")
        ]


BAD: dict[str, tuple[Any, str]] = {
    "a refused path": ({"../x": "y"}, r"\.\./x"),
    "a good and a refused path": ({"/good": "x", "/a/../b": "y"}, r"/a/\.\./b"),
    "a number": ({"/bad": 5}, "/bad"),
    "no content": ({"/bad": {"encoding": "utf-8"}}, "/bad"),
    "a list of files": (["/bad"], "mapping"),
    "an empty list": ([], "mapping"),
    "text": ("/bad", "mapping"),
    "a surrogate": ({"/bad": "\ud800"}, "/bad"),
    "an Overwrite by a number": (Overwrite(5), "mapping"),
    "an Overwrite by an empty list": (Overwrite([]), "mapping"),
    "an Overwrite by zero": (Overwrite(0), "mapping"),
    "an Overwrite with a refused path": (Overwrite({"~/x": "y"}), "~/x"),
    "an Overwrite as clients write it": ({"__overwrite__": {"/bad": 5}}, "/bad"),
    "an Overwrite as JSON makes it": ({"type": "__overwrite__", "value": {"/bad": 5}}, "/bad"),
}
bad_files = pytest.mark.parametrize(("bad", "named"), BAD.values(), ids=BAD)


def assert_thread_works(graph: Any, files: dict[str, str]) -> None:
    """Read, go back, update and go on, as if nothing had happened."""
    assert contents(graph) == files
    history = list(graph.get_state_history(THREAD))
    for snapshot in history:
        assert contents(graph, snapshot.config).items() <= files.items()
    before = len(graph.get_state(THREAD).values["messages"])
    graph.update_state(THREAD, {"messages": [HumanMessage("said by update")]})
    messages = graph.get_state(THREAD).values["messages"]
    assert messages[-1].content == "said by update"
    assert len(messages) == before + 1
    graph.update_state(THREAD, {"files": {"/updated": "u"}, "seen": {"/updated": "d"}})
    assert contents(graph) == {**files, "/updated": "u"}
    assert graph.get_state(THREAD).values["seen"]["/updated"] == "d"
    result = graph.invoke({"messages": ["write more"]}, THREAD)
    assert result["messages"][-1].content == "did write more"
    assert contents(graph) == {**files, "/updated": "u", "/written": "write more"}
    fork = graph.update_state(history[-1].config, {"files": {"/forked": "f"}}, as_node="work")
    assert contents(graph, fork)["/forked"] == "f"


@bad_files
def test_a_refused_input_leaves_nothing_behind(path: Path, bad: Any, named: str) -> None:
    with opened(path) as connection:
        graph = graph_on(SqliteSaver(connection))
        graph.invoke({"messages": ["hi"], "files": {"a": FIRST}}, THREAD)
        before = stored(path)
        with pytest.raises(InvalidFiles, match=named):
            graph.invoke({"messages": ["lost"], "files": bad}, THREAD)
        with pytest.raises(InvalidFiles, match=named):
            graph.invoke(Command(update={"files": bad}), THREAD)
        assert stored(path) == before
    with opened(path) as connection:
        assert_thread_works(graph_on(SqliteSaver(connection)), {"/a": "one two"})


@bad_files
def test_a_refused_first_input_leaves_no_thread(path: Path, bad: Any, named: str) -> None:
    with opened(path) as connection:
        graph = graph_on(SqliteSaver(connection))
        with pytest.raises(InvalidFiles, match=named):
            graph.invoke({"messages": ["lost"], "files": bad}, THREAD)
        with pytest.raises(InvalidFiles, match=named):
            graph.update_state(THREAD, {"files": bad}, as_node="work")
        assert graph.get_state(THREAD).created_at is None
        graph.invoke({"messages": ["hi"], "files": {"/a": FIRST}}, THREAD)
    with opened(path) as connection:
        assert_thread_works(graph_on(SqliteSaver(connection)), {"/a": "one two"})


@bad_files
@pytest.mark.parametrize("node", [None, "work", "rest"])
def test_a_refused_update_leaves_nothing_behind(
    path: Path, bad: Any, named: str, node: str | None
) -> None:
    # Before `rest` runs: an update as `rest` would be stored as the result of the waiting task.
    with opened(path) as connection:
        graph = graph_on(SqliteSaver(connection), interrupt_before=["rest"])
        graph.invoke({"messages": ["hi"], "files": {"/a": FIRST}}, THREAD)
        before = stored(path)
        with pytest.raises(InvalidFiles, match=named):
            graph.update_state(
                THREAD, {"messages": [HumanMessage("lost")], "files": bad}, as_node=node
            )
        assert stored(path) == before
        assert graph.get_state(THREAD).next == ("rest",)
        graph.invoke(None, THREAD)
        assert graph.get_state(THREAD).next == ()
    with opened(path) as connection:
        assert_thread_works(graph_on(SqliteSaver(connection)), {"/a": "one two"})


@bad_files
def test_a_write_that_was_stored_before_it_was_refused_does_not_poison_a_thread(
    path: Path, bad: Any, named: str
) -> None:
    # A graph without the guard, as people compile from a builder of their own.
    with opened(path) as connection:
        graph: Any = builder().compile(checkpointer=SqliteSaver(connection))
        graph.invoke({"messages": ["hi"], "files": {"/a": FIRST}}, THREAD)
        with pytest.raises((InvalidFiles, UnicodeEncodeError, TypeError), match=f"{named}|surrog"):
            graph.update_state(THREAD, {"files": bad})
        assert contents(graph) == {"/a": "one two"}
    with opened(path) as connection:
        graph = builder().compile(checkpointer=SqliteSaver(connection))
        assert contents(graph) == {"/a": "one two"}
        assert len(list(graph.get_state_history(THREAD))) == 4
        graph.invoke({"messages": ["edit"]}, THREAD)
        assert contents(graph) == {"/a": "one three"}
        graph.update_state(THREAD, {"files": {"/b": "x"}})
    with opened(path) as connection:
        graph = builder().compile(checkpointer=SqliteSaver(connection))
        assert contents(graph) == {"/a": "one three", "/b": "x"}


@bad_files
def test_a_stored_write_that_is_not_files_is_left_out_of_a_replay(bad: Any, named: str) -> None:
    channel = FilesChannel(typ=dict)
    channel.update([{"/a": "1"}])
    channel.replay_writes([("t", "files", {"/b": "2"}), ("t", "files", bad)])
    assert set(channel.get()) == {"/a", "/b"}


@bad_files
def test_the_channel_refuses_and_keeps_what_it_had(bad: Any, named: str) -> None:
    channel = FilesChannel(typ=dict)
    channel.update([{"/a": "1"}])
    with pytest.raises(InvalidFiles, match=named):
        channel.update([{"/b": "2"}, bad])
    with pytest.raises(InvalidFiles, match=named):
        check_files(bad)
    assert set(channel.get()) == {"/a"}


def test_null_for_files_is_no_files(path: Path) -> None:
    with opened(path) as connection:
        graph = graph_on(SqliteSaver(connection))
        graph.invoke({"messages": ["hi"], "files": {"/a": "one two"}}, THREAD)
        graph.invoke({"messages": ["hi"], "files": None}, THREAD)
        graph.update_state(THREAD, {"files": None})
        assert_thread_works(graph, {"/a": "one two"})


OVERWRITES: dict[str, Any] = {
    "typed": Overwrite({"b": "new", "c": ["x", "y"], "/gone": None}),
    "keyed": {"__overwrite__": {"b": "new", "c": ["x", "y"]}},
    "erased": {"type": "__overwrite__", "value": {"b": "new", "c": ["x", "y"]}},
}


@pytest.mark.parametrize("overwrite", OVERWRITES.values(), ids=OVERWRITES)
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_an_overwrite_goes_through_the_reducer(path: Path, overwrite: Any, durability: str) -> None:
    with opened(path) as connection:
        graph = graph_on(SqliteSaver(connection))
        graph.invoke({"messages": ["hi"], "files": {"/a": FIRST}}, THREAD)
        options: Any = {"durability": durability}
        graph.invoke({"messages": ["hi"], "files": overwrite}, THREAD, **options)
        assert contents(graph) == {"/b": "new", "/c": "x\ny"}
        graph.update_state(THREAD, {"files": {"/d": "1"}})
        graph.update_state(THREAD, {"files": overwrite})
        graph.update_state(THREAD, {"files": {"/e": "1"}})
    with opened(path) as connection:
        graph = graph_on(SqliteSaver(connection))
        assert contents(graph) == {"/b": "new", "/c": "x\ny", "/e": "1"}


def test_an_overwrite_by_nothing_empties_the_channel() -> None:
    for channel in (FilesChannel(typ=dict), SeenChannel(typ=dict), MessagesChannel(typ=list)):
        channel.update([Overwrite(None)])
        assert channel.get() == channel.typ()


def test_an_overwrite_that_is_replayed_gives_what_it_gave() -> None:
    for overwrite in OVERWRITES.values():
        live, replayed = FilesChannel(typ=dict), FilesChannel(typ=dict)
        for channel in (live, replayed):
            channel.update([{"/a": "1"}])
        live.update([overwrite])
        replayed.replay_writes([("t", "files", overwrite)])
        assert live.get() == replayed.get()


def test_an_overwrite_of_messages_makes_messages_with_ids() -> None:
    channel = MessagesChannel(typ=list)
    channel.update(["old"])
    channel.update([Overwrite(["new", {"role": "ai", "content": "ok"}])])
    assert [type(message) for message in channel.get()] == [HumanMessage, AIMessage]
    assert all(message.id for message in channel.get())
    with pytest.raises(NotImplementedError):
        channel.update([Overwrite(5)])


def run_of_everything(graph: Any) -> None:
    files = {"a": FIRST, "lines": ["x", ""], "text": "\ufeffx\r\n", "odd/é\u2028": "y"}
    binary = {"content": "/+8=", "encoding": "base64", "created_at": "c", "modified_at": "m"}
    graph.invoke({"messages": ["write"], "files": {**files, "/bin": binary}}, THREAD)
    graph.invoke({"messages": ["edit"]}, THREAD)
    graph.update_state(THREAD, {"files": {"/lines": None}})


@pytest.mark.parametrize("frequency", [1, 2, 100])
def test_every_value_loads_under_strict_msgpack(
    path: Path, frequency: int, caplog: pytest.LogCaptureFixture
) -> None:
    def strict_graph(connection: sqlite3.Connection) -> Any:
        graph: Any = graph_on(strict_saver(connection))
        for name in ("files", "messages", "seen"):
            graph.channels[name].snapshot_frequency = frequency
        return graph

    with opened(path) as connection:
        graph = strict_graph(connection)
        run_of_everything(graph)
        live = graph.get_state(THREAD).values
    with opened(path) as connection:
        graph = strict_graph(connection)
        assert graph.get_state(THREAD).values == live
        assert contents(graph) == {
            "/a": "one three",
            "/text": "\ufeffx\r\n",
            "/odd/é\u2028": "y",
            "/bin": "/+8=",
            "/written": "write",
        }
        assert graph.get_state(THREAD).values["files"]["/bin"]["created_at"] == "c"
        assert len(list(graph.get_state_history(THREAD))) > 5
    assert "Blocked" not in caplog.text


def test_a_thread_comes_back_as_it_was_at_every_checkpoint(path: Path) -> None:
    def values(graph: Any) -> list[Any]:
        return [snapshot.values for snapshot in graph.get_state_history(THREAD)]

    with opened(path) as connection:
        graph = graph_on(SqliteSaver(connection))
        run_of_everything(graph)
        live = values(graph)
    with opened(path) as connection:
        graph = graph_on(SqliteSaver(connection))
        assert values(graph) == live
        copied = graph.update_state(THREAD, None, as_node="__copy__")
        assert graph.get_state(copied).values == live[0]
    memory = graph_on(InMemorySaver())
    run_of_everything(memory)
    assert [found.get("files") for found in values(memory)] == [
        found.get("files") for found in live
    ]


def test_messages_without_ids_have_the_same_ids_after_every_load(path: Path) -> None:
    with opened(path) as connection:
        graph = graph_on(SqliteSaver(connection))
        first = graph.invoke({"messages": ["yes", "yes"]}, THREAD)["messages"]
    with opened(path) as connection:
        graph = graph_on(SqliteSaver(connection))
        again = graph.invoke({"messages": ["yes"]}, THREAD)["messages"]
    assert again[: len(first)] == first
    assert len({message.id for message in again}) == len(again) == 5


def test_an_edit_costs_what_the_edit_holds_and_not_what_the_file_holds(path: Path) -> None:
    with opened(path) as connection:
        graph = graph_on(SqliteSaver(connection))
        graph.invoke({"messages": ["hi"], "files": {"/a": "two " + "x" * 1_000_000}}, THREAD)
        before = sum(len(value) for row in stored(path) for value in row if type(value) is bytes)
        graph.invoke({"messages": ["edit"]}, THREAD)
        after = sum(len(value) for row in stored(path) for value in row if type(value) is bytes)
        assert after - before < 20_000
        assert contents(graph)["/a"].startswith("three x")


def loaded(channel: StateChannel, value: Any) -> Any:
    return channel.from_checkpoint(value)


def test_snapshots_of_a_small_channel_come_often() -> None:
    channel = loaded(FilesChannel(typ=dict), {})
    for number in range(50):
        channel.update([{f"/{number}": "x"}])
    assert channel.snapshot_frequency == 10
    assert loaded(FilesChannel(typ=dict, snapshot_frequency=7), {}).snapshot_frequency == 7


@pytest.mark.parametrize(("size", "spaced"), [(500_000, 325), (1_000_000, 651), (10_000_000, 200)])
def test_snapshots_are_spaced_by_size_until_replaying_takes_too_long(
    size: int, spaced: int
) -> None:
    written = loaded(FilesChannel(typ=dict), {})
    written.update([{"/a": "x" * size}])
    from_snapshot = loaded(FilesChannel(typ=dict), {"/a": {"content": "x" * size}})
    replayed = loaded(FilesChannel(typ=dict), {})
    replayed.replay_writes([("t", "files", {"/a": "x" * size})])
    overwritten = loaded(FilesChannel(typ=dict), {})
    overwritten.update([Overwrite({"/a": "x" * size})])
    for channel in (written, from_snapshot, replayed, overwritten, written.copy()):
        assert channel.weight == pytest.approx(size, rel=0.01)
        assert channel.snapshot_frequency == pytest.approx(spaced, rel=0.01)


def test_a_file_that_is_written_over_and_over_does_not_put_off_the_snapshot() -> None:
    channel = loaded(FilesChannel(typ=dict), {})
    for _ in range(200):
        channel.update([{"/a": "x" * 100_000}])
    assert channel.weight <= 2 * 100_000 + 100
    replayed = loaded(FilesChannel(typ=dict), {})
    replayed.replay_writes([("t", "files", {"/a": "x" * 100_000})] * 200)
    assert replayed.weight <= 2 * 100_000 + 100


def test_messages_and_their_calls_weigh_what_they_hold() -> None:
    channel = loaded(MessagesChannel(typ=list), [])
    call = {"name": "write_file", "args": {"content": "x" * 5_000}, "id": "c"}
    channel.update([AIMessage([{"type": "text", "text": "y" * 5_000}], tool_calls=[call])])
    assert channel.weight > 10_000


def test_a_copy_of_a_channel_goes_its_own_way() -> None:
    channel = FilesChannel(typ=dict)
    channel.key = "files"
    channel.update([{"/a": "1"}])
    copied = channel.copy()
    copied.update([{"/b": "2"}])
    assert set(channel.get()) == {"/a"}
    assert set(copied.get()) == {"/a", "/b"}
    assert copied.key == "files"
    assert copied == channel


def test_a_channel_says_the_type_it_was_declared_with() -> None:
    for channel in (FilesChannel(typ=dict[str, int]), SeenChannel(typ=dict[str, int])):
        assert channel.ValueType == channel.UpdateType == dict[str, int]
        assert channel.copy().ValueType == dict[str, int]
        assert channel.from_checkpoint({}).ValueType == dict[str, int]
        assert channel.from_checkpoint({}).get() == {}


digests = st.dictionaries(
    st.sampled_from(["/a", "/b", "/c"]), st.none() | st.sampled_from(["1", "2"]), max_size=3
)
seen = st.dictionaries(st.sampled_from(["/a", "/b", "/c"]), st.sampled_from(["1", "2"]))


@given(seen, st.lists(digests, max_size=4), st.lists(digests, max_size=4))
def test_digests_merge_the_same_in_batches_of_any_size(left: Any, xs: Any, ys: Any) -> None:
    before = dict(left)
    assert merge_seen(merge_seen(left, xs), ys) == merge_seen(left, xs + ys)
    assert left == before
    assert None not in merge_seen(left, xs).values()


@pytest.mark.parametrize("kind", [FilesChannel, MessagesChannel, SeenChannel])
def test_a_copy_has_everything_that_the_channel_has(kind: Any) -> None:
    channel: StateChannel = kind(snapshot_frequency=7)
    channel.key = "key"
    channel.update([{"/a": "text"} if kind is not MessagesChannel else [HumanMessage("text")]])
    copy = channel.copy()

    slots = [slot for part in kind.__mro__ for slot in getattr(part, "__slots__", ())]
    assert "snapshot_frequency" in slots
    for slot in slots:
        assert getattr(copy, slot) == getattr(channel, slot), slot
    assert type(copy) is kind

    before = copy.value
    channel.update([{"/b": "more"} if kind is not MessagesChannel else [HumanMessage("more")]])
    assert copy.value == before != channel.value
