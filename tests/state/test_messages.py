"""The `messages` channel: by id, the same in every batching and at every replay."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages

from langgraph_filesystem.state.messages import merge_messages

ids = st.sampled_from(["1", "2", "3"])
said = st.sampled_from(["hi", "ho", "", "\ud800"])
with_id: st.SearchStrategy[Any] = st.one_of(
    st.builds(lambda text, id: HumanMessage(text, id=id), said, ids),
    st.builds(lambda text, id: AIMessage(text, id=id), said, ids),
    st.builds(lambda text, id: ToolMessage(text, tool_call_id="c", id=id), said, ids),
)
without_id: st.SearchStrategy[Any] = st.one_of(
    said.map(HumanMessage),
    said.map(lambda text: AIMessage(text, id="")),
    said.map(lambda text: AIMessage([{"type": "text", "text": text}])),
    said.map(lambda text: AIMessageChunk(content=text)),
    st.tuples(st.sampled_from(["user", "ai"]), said),
    said.map(lambda text: {"role": "user", "content": text}),
    st.sampled_from(["typed", "hi"]),
)
removals = (ids | st.just(REMOVE_ALL_MESSAGES)).map(lambda id: RemoveMessage(id=id))
one_message = with_id | without_id | removals
writes: st.SearchStrategy[Any] = one_message | st.lists(one_message, max_size=4)


@given(
    st.lists(writes, max_size=4),
    st.lists(writes, max_size=4),
    st.lists(writes, max_size=4),
)
def test_batches_of_any_size_give_the_same_messages(
    before: list[Any], xs: list[Any], ys: list[Any]
) -> None:
    left = merge_messages([], before)
    assert merge_messages(merge_messages(left, xs), ys) == merge_messages(left, xs + ys)


@given(st.lists(writes, max_size=4), st.lists(writes, max_size=4))
def test_a_merge_changes_neither_the_messages_nor_the_writes(
    before: list[Any], xs: list[Any]
) -> None:
    left = merge_messages([], before)
    kept = copy.deepcopy((left, xs))
    merge_messages(left, xs)
    assert (left, xs) == kept


@given(st.lists(writes, max_size=6))
def test_every_message_has_an_id_of_its_own(xs: list[Any]) -> None:
    merged = merge_messages([], xs)
    assert all(isinstance(message, BaseMessage) for message in merged)
    assert not any(isinstance(message, AIMessageChunk) for message in merged)
    found = [message.id for message in merged]
    assert all(found)
    assert len(set(found)) == len(found)


@given(st.lists(st.lists(st.one_of(with_id, said.map(HumanMessage)), max_size=3), max_size=4))
def test_a_replay_of_stored_writes_makes_the_same_ids(xs: list[Any]) -> None:
    serde = JsonPlusSerializer(allowed_msgpack_modules=None)
    if any("\ud800" in message.text for write in xs for message in write):
        return
    stored = [serde.loads_typed(serde.dumps_typed(write)) for write in xs]
    live: list[AnyMessage] = []
    for write in xs:
        live = merge_messages(live, [write])
    assert merge_messages([], stored) == live


@given(st.lists(with_id, max_size=5), st.lists(with_id, max_size=5))
def test_messages_with_ids_merge_as_langgraph_merges_them(
    left: list[Any], right: list[Any]
) -> None:
    ours = merge_messages(merge_messages([], [left]), [right])
    assert ours == add_messages(add_messages([], left), right)


def test_a_known_id_is_replaced_where_it_stands() -> None:
    left = merge_messages([], [HumanMessage("a", id="1"), HumanMessage("b", id="2")])
    merged = merge_messages(left, [[AIMessage("A", id="1"), HumanMessage("c", id="3")]])
    assert [(m.id, m.content) for m in merged] == [("1", "A"), ("2", "b"), ("3", "c")]


def test_a_removed_message_is_gone_and_may_come_back_at_the_end() -> None:
    left = merge_messages([], [HumanMessage("a", id="1"), HumanMessage("b", id="2")])
    merged = merge_messages(left, [RemoveMessage(id="1"), HumanMessage("a", id="1")])
    assert [message.id for message in merged] == ["2", "1"]


def test_removing_what_is_not_there_is_no_error() -> None:
    assert merge_messages([], [RemoveMessage(id="nobody")]) == []


def test_removing_all_keeps_only_what_comes_after() -> None:
    left = merge_messages([], [HumanMessage("a", id="1")])
    remove = RemoveMessage(id=REMOVE_ALL_MESSAGES)
    merged = merge_messages(left, [[HumanMessage("b", id="2"), remove, HumanMessage("c", id="3")]])
    assert [message.id for message in merged] == ["3"]


def test_the_same_text_said_twice_is_two_messages() -> None:
    merged = merge_messages([], [["yes", "yes"], "yes"])
    assert [message.content for message in merged] == ["yes", "yes", "yes"]
    assert len({message.id for message in merged}) == 3


def test_a_text_said_again_after_a_removal_does_not_replace_another() -> None:
    left = merge_messages([], [HumanMessage("x"), HumanMessage("y")])
    merged = merge_messages(left, [RemoveMessage(id=left[0].id or ""), HumanMessage("y")])
    assert [message.content for message in merged] == ["y", "y"]


@pytest.mark.parametrize(
    ("write", "kind"),
    [
        ("hi", HumanMessage),
        (("ai", "hi"), AIMessage),
        ({"role": "system", "content": "hi"}, SystemMessage),
        ({"type": "human", "content": "hi"}, HumanMessage),
        (AIMessageChunk(content="hi"), AIMessage),
    ],
)
def test_what_clients_send_is_made_into_a_message(write: Any, kind: type[BaseMessage]) -> None:
    for written in (write, [write]):
        [message] = merge_messages([], [written])
        assert type(message) is kind
        assert message.content == "hi"


@pytest.mark.parametrize("write", [5, None, [None], {"content": "no role"}, object()])
def test_what_is_no_message_is_refused(write: Any) -> None:
    with pytest.raises((ValueError, NotImplementedError)):
        merge_messages([], [write])
