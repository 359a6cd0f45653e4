"""Phrases get numbers, and every byte comes back."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Send

from langgraph_filesystem import phrases
from langgraph_filesystem.compression import CompressedSerializer
from langgraph_filesystem.phrases import is_clear, shortened, spelled_out

MESSAGE = "lc_run--01a1e34c-8f63-70fd-8680-1fb5df4ff947-0"
CALL = {"name": "edit_file", "args": {"file_path": "/a"}, "id": "call_" + 24 * "0"}
CHECKPOINT = {
    "v": 4,
    "ts": "2026-11-16T07:40:07.906170+00:00",
    "id": "1f1e190f-2222-6b7c-8082-d1e849c9cd2e",
    "channel_values": {"branch:to:model": None},
    "channel_versions": {"__start__": 7, "branch:to:prepare": 8, "messages": 300},
    "versions_seen": {"__input__": {}, "__start__": {"__start__": 6}},
    "updated_channels": ["branch:to:model"],
}


@pytest.mark.parametrize(
    ("value", "share"),
    [
        (CHECKPOINT, 0.5),
        ([AIMessage("", id=MESSAGE, tool_calls=[CALL])], 0.4),
        ([ToolMessage("Done.", id=f"{MESSAGE}:0", tool_call_id=CALL["id"])], 0.5),
        ([{"message": MESSAGE, "calls": [CALL["id"]], "node": "edit_file", "path": "/a"}], 0.8),
        ({"/a": {"edits": [{"old": "a", "new": "b", "replace_all": False}]}}, 0.7),
        (Send("edit_file", {"message": MESSAGE, "calls": [CALL["id"]]}), 0.7),
    ],
    ids=["checkpoint", "request", "answer", "route", "edit", "send"],
)
def test_what_the_graph_stores_gets_smaller(value: object, share: float) -> None:
    data = JsonPlusSerializer().dumps_typed(value)[1]

    short = shortened(data)

    assert len(short) <= share * len(data)
    assert spelled_out(short) == data


@given(
    st.lists(st.sampled_from(phrases._ALL) | st.binary(max_size=3) | st.just(b"\xc1\x00")).map(
        b"".join
    )
)
def test_any_bytes_come_back(data: bytes) -> None:
    short = shortened(data)
    assert not is_clear(short) or spelled_out(short) == data


def test_where_a_number_and_what_follows_make_a_phrase_it_is_noticed() -> None:
    data = phrases._ALL[1] + phrases._ALL[14][1:]
    assert phrases._ALL[14].startswith(b"\x01")
    assert spelled_out(shortened(b"some" + phrases._ALL[2])) == b"some" + phrases._ALL[2]

    assert not is_clear(shortened(data))
    kept = CompressedSerializer().dumps_typed({"blob": data, "more": 200 * "."})
    assert CompressedSerializer().loads_typed(kept)["blob"] == data


def test_the_phrases_are_those_that_files_were_written_with() -> None:
    # They are part of the file format: see the note beside them before you touch this.
    assert hashlib.sha256(b"\n".join(phrases._ALL)).hexdigest() == PHRASES


def test_every_phrase_has_a_number_of_one_byte_and_no_mark_in_it() -> None:
    assert len(phrases._ALL) < 128
    assert not any(b"\xc1" in phrase for phrase in phrases._ALL[1:])


PHRASES = "d2133553fc1ea3ed07c3b2d5bb0c78456e5328b0341a1d01ca9fe8e301d41dac"
