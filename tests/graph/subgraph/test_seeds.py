"""Channels that begin with what another graph holds."""

import operator
from typing import Any

import pytest
from langgraph.channels import BinaryOperatorAggregate, LastValue
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.errors import EmptyChannelError
from langgraph.graph import add_messages
from langgraph.types import Overwrite

from langgraph_filesystem.state.channels import (
    FilesChannel,
    MessagesChannel,
    SeenChannel,
    StateChannel,
)
from langgraph_filesystem.state.files import merge_files
from langgraph_filesystem.state.langgraph_internals import MISSING
from langgraph_filesystem.subgraph.seeds import (
    RecordedChannel,
    SeededChannel,
    VisitorsSeen,
    can_be_seeded,
    rebuilt,
    seeded,
)

SEED: Any = {"/a": {"content": "one two", "encoding": "utf-8"}, "/b": {"content": "b"}}
PLAIN_MESSAGES: Any = BinaryOperatorAggregate(list, add_messages)
EDIT = {"edits": [{"old": "one", "new": "ONE", "replace_all": False}]}


def files_channel(checkpoint: Any = MISSING) -> Any:
    return seeded("files", FilesChannel(), SEED).from_checkpoint(checkpoint)


def test_a_channel_begins_with_its_seed_and_replays_what_was_written() -> None:
    channel = files_channel()
    assert channel.get() == SEED
    channel.replay_writes([("task", "files", {"/a": EDIT}), ("task", "files", {"/b": None})])
    assert channel.get() == {"/a": {"content": "ONE two", "encoding": "utf-8"}}
    assert channel.get().changes == {"/a": EDIT, "/b": None}
    assert channel.copy().get().changes == {"/a": EDIT, "/b": None}
    assert channel.checkpoint() is MISSING
    assert files_channel().get() == SEED


def test_a_snapshot_holds_all_and_needs_no_seed() -> None:
    channel = files_channel(_DeltaSnapshot({"/a": SEED["/a"], "/c": {"content": "c"}}))
    assert set(channel.get()) == {"/a", "/c"}
    assert channel.get().changes == {"/c": {"content": "c"}, "/b": None}


def test_what_is_overwritten_is_compared_with_the_seed() -> None:
    for new in (Overwrite({"c": "c"}), {"__overwrite__": {"/c": "c"}}):
        channel = files_channel()
        channel.update([new])
        assert channel.get().changes == {
            "/c": {"content": "c", "encoding": "utf-8"},
            "/a": None,
            "/b": None,
        }
    channel.update([Overwrite(None)])
    assert (dict(channel.get()), channel.get().changes) == ({}, {"/a": None, "/b": None})


@pytest.mark.parametrize(
    ("key", "channel", "seed", "write"),
    [
        ("messages", MessagesChannel(), ["m"], []),
        ("messages", PLAIN_MESSAGES, ["m"], []),
        ("seen", SeenChannel(), {"/a": "1"}, {}),
    ],
)
def test_conversations_and_digests_begin_with_a_seed_too(
    key: str, channel: Any, seed: Any, write: Any
) -> None:
    like = seeded(key, channel, seed)
    assert isinstance(like, SeededChannel)
    assert like.from_checkpoint(MISSING).get() is seed
    assert like.from_checkpoint(MISSING).copy().get() is seed
    assert like.from_checkpoint(_DeltaSnapshot(write)).get() == write
    assert seeded(key, channel).from_checkpoint(MISSING).get() == write
    assert seeded(key, like, seed).from_checkpoint(MISSING).get() is seed


def test_files_with_a_plain_reducer_are_seeded_as_ours() -> None:
    plain = BinaryOperatorAggregate(dict, merge_files)
    channel = seeded("files", plain, SEED).from_checkpoint(MISSING)
    channel.update([{"/a": EDIT}])
    assert channel.get().changes == {"/a": EDIT}


def recorded(seed: Any, **options: Any) -> RecordedChannel:
    channel = seeded("log", BinaryOperatorAggregate(list, operator.add), seed, **options)
    assert isinstance(channel, RecordedChannel)
    return channel


def test_a_reducer_of_somebody_elses_is_recorded() -> None:
    live: dict[str, RecordedChannel] = {}
    channel = recorded(["seed"], live=live).from_checkpoint(MISSING)
    assert live == {"log": channel}
    assert channel.get() == ["seed"]
    assert channel.written() == []
    channel.update([["a"], ["b"]])
    channel.update([])
    channel.update([["c"]])
    assert channel.get() == ["seed", "a", "b", "c"]
    assert channel.written() == [["a"], ["b"], ["c"]]
    again = recorded(["other"]).from_checkpoint(channel.checkpoint())
    assert again.get() == ["other", "a", "b", "c"]
    copied = again.copy()
    copied.update([["d"]])
    assert again.get() == ["other", "a", "b", "c"]
    assert copied.get() == ["other", "a", "b", "c", "d"]


def test_what_was_overwritten_is_handed_on_whole() -> None:
    channel = recorded(["seed"]).from_checkpoint(MISSING)
    channel.update([["a"]])
    channel.update([Overwrite(["b"]), ["dropped"]])
    channel.update([["c"]])
    assert channel.written() == [Overwrite(["b", "c"])]
    assert recorded(["seed"]).from_checkpoint(channel.checkpoint()).get() == ["b", "c"]


def test_a_reducer_that_changes_its_value_in_place_does_not_reach_the_seed() -> None:
    def append(left: list[str], right: list[str]) -> list[str]:
        left += right
        return left

    seed = ["seed"]
    channel = seeded("log", BinaryOperatorAggregate(list, append), seed).from_checkpoint(MISSING)
    channel.update([["a"]])
    assert (channel.get(), seed) == (["seed", "a"], ["seed"])


def test_only_channels_with_reducers_are_seeded() -> None:
    assert can_be_seeded(FilesChannel())
    assert can_be_seeded(BinaryOperatorAggregate(int, operator.add))
    assert not can_be_seeded(LastValue(str))


def test_a_value_is_rebuilt_from_what_a_saver_has() -> None:
    channel: StateChannel = seeded("files", FilesChannel(), SEED)
    writes = [("task", "files", {"/b": None})]
    assert set(rebuilt(channel, {}, writes)) == {"/a"}
    stored = {"seed": {"/c": {"content": "c"}, "/b": {"content": "b"}}}
    assert set(rebuilt(channel, stored, writes)) == {"/c"}


def test_what_visitors_know_is_not_there_until_they_know_something() -> None:
    channel = VisitorsSeen().from_checkpoint(MISSING)
    assert not channel.is_available()
    with pytest.raises(EmptyChannelError):
        channel.get()
    channel.update([{"/a": "1"}])
    assert channel.get() == {"/a": "1"}
    again = VisitorsSeen().from_checkpoint(MISSING)
    again.replay_writes([("task", "seen", {"/a": "1"})])
    assert again.get() == {"/a": "1"}
