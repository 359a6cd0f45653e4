"""Checkpoints and writes made small before they are stored.

A checkpoint of a quiet superstep is half a kilobyte of names that every checkpoint repeats, and so
is most of a message. Such small values get numbers for their names (`phrases.py`). What holds text
is left to zlib. A message is too short for it to find anything in, so it is given the names
beforehand: a preset dictionary, which counts as text that it has already seen.
"""

import functools
import zlib
from collections.abc import Callable
from typing import Any, Self

import ormsgpack
from langgraph.checkpoint.serde.jsonplus import EXT_DELTA_SNAPSHOT, JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from langgraph_filesystem.phrases import is_clear, shortened, spelled_out

__all__ = ("CompressedSerializer", "LateSnapshot")

_COMPRESS_OVER = 80
"""Bytes. Measured with messages, routes and edits: from here on it pays for the 12 µs it takes,
while of 64 bytes it saves 1."""

_THOROUGH_UP_TO = 1_024
"""Bytes. Up to here zlib's default level takes no longer than the fastest and saves 7 % of a
checkpoint; for a page of a file it takes twice as long, for a large snapshot four times."""

_SUFFIX = "+zlib1"
"""Marks what is compressed with the dictionary below, behind the type that is inside."""

_SHORT = 330
"""Bytes. What is longer without its phrases holds text, which zlib makes much smaller."""

_SHORTENED = "+phrases1"
"""Marks what has numbers for its phrases."""

_DICTIONARY = b"".join(
    (
        # zlib reaches what stands last with the fewest bits: rare things first. Names stand as
        # msgpack writes them, behind the byte that holds their length.
        b"\xbdlangchain_core.messages.human\xacHumanMessage\x86\xa7content\xa0",
        b"\xaeusage_metadata\x83\xacinput_tokens\xcd\xadoutput_tokens\xcc\xactotal_tokens\xcd",
        b"\xb3input_token_details\xb4output_token_details\xaacache_read\xaemodel_provider",
        b"\xaamodel_name\xadfinish_reason\xaatool_calls\xabstop_reason\xa8tool_use\xa6openai",
        b"\xa9anthropic\xa8toolu_01\xa4text\xa7success\xa5error\xa5index",
        b"\xabcreated_at\xabmodified_at\xbd2026-\xa8encoding\xa5utf-8\xa6base64",
        b"\xa5edits\x91\x83\xa3old\xa3new\xabreplace_all\xc2",
        b"\xa6delete\xa4move\xa4glob\xa4grep\xa7execute\xa5tools\xa4task\xa6review\xa9summarize",
        b"\xa7pattern\xa7command\xa6offset\xa5limit\xaaold_string\xaanew_string",
        b"\x91\xc8\x01\x05\x94\xbclangchain_core.messages.tool\xabToolMessage\x89\xa7content",
        b"\xb1additional_kwargs\x80\xb1response_metadata\x80\xa4type\xa4tool\xa4name\xaawrite_file",
        b"\xa2id\xd90lc_run--01\xactool_call_id\xd9%call_\xa8artifact\x82\xa4diff",
        b"\xa6status\xa7success\xb3model_validate_json",
        b"\x91\xc8\x01\x05\x94\xbalangchain_core.messages.ai\xa9AIMessage\x89\xa7content\xa0",
        b"\xb1additional_kwargs\x80\xb1response_metadata\x80\xa4type\xa2ai\xa4name\xc0",
        b"\xa2id\xd9.lc_run--01\xaatool_calls\x91\x84\xa4name\xa9edit_file\xa4args\x83",
        b"\xa9file_path\xa2id\xd9%call_\xa4type\xa9tool_call\xb2invalid_tool_calls\x90",
        b"\xaeusage_metadata\xc0\xb3model_validate_json",
        b"\x87\xa1v\x04\xa2ts\xd9 2026-01-01T00:00:00.000000+00:00\xa2id\xd9$1f1",
        b"\xaechannel_values\x83\xa6routes\x91\x86\xa7message\xd9.lc_run--01",
        b"\xa5calls\x91\xd9%call_\xa4node\xa9edit_file\xa4path\xa1/\xa5mount\xa1/",
        b"\xa7backend\xacStateBackend\xb1FilesystemBackend\xacStoreBackend",
        b"\xae__pregel_tasks\x91\xc7\x81\x01\x93\xaflanggraph.types\xa4Send\x92\xa9read_file\x82",
        b"\xa7message\xd9.lc_run--01\xa5calls\x91\xd9%call_\xae__pregel_tasks\x90",
        b"\xafbranch:to:model\xc0\xb0channel_versions\x8a\xa9__start__\x02\xa8messages\xcd",
        b"\xb1branch:to:prepare\x03\xafbranch:to:evict\xcd\xafbranch:to:model\xcd",
        b"\xb0branch:to:router\xcd\xa6routes\xcd\xae__pregel_tasks\xcd\xa5files\xcd\xa4seen\xcd",
        b"\xadversions_seen\x8a\xa9__input__\x80\xa9__start__\x81\xa9__start__\x01",
        b"\xa7prepare\x81\xb1branch:to:prepare\x02\xa5evict\x81\xafbranch:to:evict\xcd",
        b"\xa5model\x81\xafbranch:to:model\xcd\xa6router\x81\xb0branch:to:router\xcd",
        b"\xaawrite_file\x80\xa9read_file\x80\xa9edit_file\x80\xa2ls\x80",
        b"\xb0updated_channels\x92\xae__pregel_tasks\xa6routes\x92\xafbranch:to:evict\xa8messages",
        b"\xb0updated_channels\x91\xafbranch:to:model\x92\xb0branch:to:router\xa8messages",
    )
)
"""What checkpoints and messages of this graph have in common. Other graphs gain a little less.

Never change a byte of it: what was compressed with it can be read with nothing else. A better one
gets a suffix of its own, and this one stays."""


_THOROUGH = zlib.compressobj(-1, zlib.DEFLATED, 12, 5, zdict=_DICTIONARY)
"""Copied for each small value: the dictionary is read once. A window of 4 kB holds it and the value
and is a tenth of the usual memory, which each copy would take from the system and give back."""

_FAST = zlib.compressobj(1, zdict=_DICTIONARY)
"""The same for larger values, with the usual window."""


class CompressedSerializer(JsonPlusSerializer):
    """LangGraph's serializer, with whatever zlib makes smaller compressed.

    It reads what the plain serializer wrote, so that an older thread can go on. It is a child and
    not a wrapper, because LangGraph derives a strict serializer (`LANGGRAPH_STRICT_MSGPACK`) only
    from one that it knows, and would leave strict mode off for a wrapper, with no more than a
    warning.
    """

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Return the type and the bytes, compressed where that makes them fewer."""
        kind, data = super().dumps_typed(obj)
        if len(data) <= _COMPRESS_OVER:
            return kind, data
        if kind == "msgpack" and len(data) <= _THOROUGH_UP_TO:
            short = shortened(data)
            if len(short) <= _SHORT and len(short) < len(data) and is_clear(short):
                return kind + _SHORTENED, short
        zipper = (_THOROUGH if len(data) <= _THOROUGH_UP_TO else _FAST).copy()
        packed = zipper.compress(data) + zipper.flush()
        if len(packed) + len(_SUFFIX) >= len(data):
            return kind, data
        return kind + _SUFFIX, packed

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Return the object, whether it is compressed or not."""
        kind, plain = data
        if kind.endswith(_SUFFIX):
            unzipper = zlib.decompressobj(zdict=_DICTIONARY)
            plain = unzipper.decompress(plain) + unzipper.flush()
            kind = kind.removesuffix(_SUFFIX)
        elif kind.endswith(_SHORTENED):
            plain, kind = spelled_out(plain), kind.removesuffix(_SHORTENED)
        if kind != "msgpack":
            return super().loads_typed((kind, plain))
        option = ormsgpack.OPT_NON_STR_KEYS
        return ormsgpack.unpackb(plain, ext_hook=self._loaded, option=option)

    def _loaded(self, code: int, data: bytes) -> Any:
        if code == EXT_DELTA_SNAPSHOT:
            return LateSnapshot(data, self._unpack_ext_hook)
        return self._unpack_ext_hook(code, data)


class LateSnapshot(_DeltaSnapshot):
    """A snapshot of a channel that is loaded when it is asked for.

    To load a thread LangGraph walks back to the last snapshot of each channel, and on its way it
    reads those of the others, whole. Measured after 2,000 turns: 18,500 messages for a thread that
    has 3,800.
    """

    _hook: Callable[[int, bytes], Any]

    def __new__(cls, data: bytes, hook: Callable[[int, bytes], Any]) -> Self:
        """Keep the bytes, and what makes a snapshot of them."""
        new = super().__new__(cls, data)
        new._hook = hook
        return new

    @functools.cached_property
    def value(self) -> Any:
        """Return what the channel held."""
        return self._hook(EXT_DELTA_SNAPSHOT, self[0]).value
