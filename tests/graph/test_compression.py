"""What is stored gets small, and comes back as it was."""

import hashlib
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Send
from pydantic import BaseModel

from langgraph_filesystem import compression
from langgraph_filesystem.compression import CompressedSerializer, LateSnapshot

PLAIN = JsonPlusSerializer()
SERDE = CompressedSerializer()

MESSAGES = [
    HumanMessage("hello", id="1"),
    AIMessage("", id="2", tool_calls=[{"name": "ls", "args": {"path": "/"}, "id": "call_1"}]),
    ToolMessage("/a.txt", id="3", tool_call_id="call_1"),
]


@pytest.mark.parametrize(
    "value",
    [
        None,
        "short",
        "long " * 10_000,
        b"bytes" * 100,
        bytearray(b"bytes" * 100),
        {"files": {"/a.txt": {"content": "line\r\n" * 50, "encoding": "utf-8"}}},
        MESSAGES,
        [Send("read_file", {"message": "lc_run--1" * 20, "calls": ["call_1"]})],
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    assert SERDE.loads_typed(SERDE.dumps_typed(value)) == value


@given(st.recursive(st.text() | st.binary(), lambda inner: st.lists(inner, max_size=30)))
def test_any_value_comes_back_as_it_was_and_never_takes_more_room(value: Any) -> None:
    kind, data = SERDE.dumps_typed(value)

    assert SERDE.loads_typed((kind, data)) == value
    assert len(data) <= len(PLAIN.dumps_typed(value)[1])


def test_a_value_of_the_first_release_is_read() -> None:
    # It was compressed with the usual window, not with the small one of today.
    data = PLAIN.dumps_typed(MESSAGES)[1]
    zipper = zlib.compressobj(-1, zdict=compression._DICTIONARY)
    packed = zipper.compress(data) + zipper.flush()

    assert SERDE.loads_typed(("msgpack+zlib1", packed)) == MESSAGES


def test_a_large_value_is_compressed() -> None:
    kind, data = SERDE.dumps_typed("long " * 10_000)

    assert kind == "msgpack+zlib1"
    assert len(data) < 500


def test_messages_are_compressed_though_each_is_short() -> None:
    for message in MESSAGES:
        assert len(SERDE.dumps_typed([message])[1]) < 0.5 * len(PLAIN.dumps_typed([message])[1])


@pytest.mark.parametrize("value", ["a few words", bytes(range(200))])
def test_what_would_not_get_smaller_is_left_alone(value: Any) -> None:
    assert SERDE.dumps_typed(value) == PLAIN.dumps_typed(value)


@pytest.mark.parametrize("value", ["short", "long " * 1_000, MESSAGES, None])
def test_what_the_plain_serializer_wrote_is_read(value: Any) -> None:
    assert SERDE.loads_typed(PLAIN.dumps_typed(value)) == value


def test_the_dictionary_is_the_one_that_files_were_written_with() -> None:
    # It is part of the file format: see the note beside it before you touch this.
    assert hashlib.sha256(compression._DICTIONARY).hexdigest() == DICTIONARY


DICTIONARY = "44367ae591a77903d4c7f0f81d783db35de7e0082ff759a1268865cb626c1731"


class Custom(BaseModel):
    """A class that no allowlist names."""

    value: str


def test_strict_mode_reads_messages() -> None:
    strict = CompressedSerializer(allowed_msgpack_modules=None)

    assert strict.loads_typed(strict.dumps_typed(MESSAGES)) == MESSAGES


def test_strict_mode_refuses_what_it_refuses_uncompressed() -> None:
    strict = CompressedSerializer(allowed_msgpack_modules=None)
    kind, data = strict.dumps_typed(Custom(value="long " * 100))

    assert kind.endswith("+zlib1")
    assert not isinstance(strict.loads_typed((kind, data)), Custom)


def test_langgraph_can_derive_a_serializer_that_allows_more() -> None:
    # What compiling a graph does in strict mode. A serializer that it does not know would come
    # back as it is, with strict mode off.
    saver: BaseCheckpointSaver[Any] = BaseCheckpointSaver(
        serde=CompressedSerializer(allowed_msgpack_modules=[("some", "Thing")])
    )

    derived = saver.with_allowlist([("other", "Thing")]).serde

    assert derived is not saver.serde
    assert isinstance(derived, CompressedSerializer)
    assert derived.dumps_typed("long " * 100)[0] == "msgpack+zlib1"


def test_a_snapshot_is_loaded_when_it_is_asked_for() -> None:
    serializer = CompressedSerializer()
    stored = serializer.dumps_typed({"messages": _DeltaSnapshot([HumanMessage("hi", id="1")])})
    snapshot = serializer.loads_typed(stored)["messages"]
    assert isinstance(snapshot, LateSnapshot)
    assert "value" not in vars(snapshot)
    assert snapshot.value == [HumanMessage("hi", id="1")]
    again = serializer.loads_typed(serializer.dumps_typed({"messages": snapshot}))["messages"]
    assert again.value == snapshot.value
