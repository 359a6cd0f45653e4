"""Small values made smaller by the phrases that they are known to repeat.

zlib would make them a tenth smaller still. But it lets go of the interpreter twice for each value,
which the running graph then keeps: measured on SQLite, it cost a turn a tenth of its time.
"""

__all__ = ("is_clear", "shortened", "spelled_out")

# Names stand as msgpack writes them, behind the byte that holds their length. Longer phrases stand
# before those that are parts of them.

_OF_TASKS = (
    b"-0\xa5calls\x91\xbdcall_",
    b"\xa5calls\x91",
    b"\xa4node\xa9edit_file\xa4path",
    b"\xa4node\xa9read_file\xa4path",
    b"\xa4node",
    b"\xa5mount\xa1/\xa7backend\xacStateBackend",
    b"\xa5mount",
    b"\xa7backend",
    b"\x01\x93\xaflanggraph.types\xa4Send\x92",
    b"\x82\xa7message\xd9.lc_run--01",
)

_OF_CHECKPOINTS = (
    b"\x87\xa1v\x04\xa2ts\xd9 20",
    b"+00:00\xa2id\xd9$1f",
    b"\xaechannel_values\x83\xa6routes\x91\x86\xa7message\xd9.lc_run--01",
    b"\xaechannel_values\x82\xa6routes\x91\x86\xa7message\xd9.lc_run--01",
    b"\xaechannel_values",
    *_OF_TASKS,
    b"\xae__pregel_tasks\x90",
    b"\xb0channel_versions\x8a\xa9__start__",
    b"\xb0channel_versions",
    b"\xadversions_seen",
    b"\xa9__input__\x80\xa9__start__\x81\xa9__start__",
    b"\xa7prepare\x81\xb1branch:to:prepare",
    b"\xa5evict\x81\xafbranch:to:evict",
    b"\xa5model\x81\xafbranch:to:model",
    b"\xa6router\x81\xb0branch:to:router",
    b"\xb1branch:to:prepare",
    b"\xb0updated_channels\x94\xafbranch:to:evict\xa5files\xa8messages\xa4seen",
    b"\xb0updated_channels\x92\xae__pregel_tasks\xa6routes",
    b"\xb0updated_channels",
    b"\xafbranch:to:evict",
    b"\xafbranch:to:model",
    b"\xb0branch:to:router",
    b"\xae__pregel_tasks",
    b"\xa8messages",
    b"\xa6routes",
    b"\xa5files",
    b"\xa4seen",
    b"\xaawrite_file\x80",
    b"\xa9read_file\x80",
    b"\xa9edit_file\x80",
)

_OF_MESSAGES = (
    b"\x05\x94\xbalangchain_core.messages.ai\xa9AIMessage\x89\xa7content",
    b"\x05\x94\xbclangchain_core.messages.tool\xabToolMessage\x89\xa7content",
    b"\x05\x94\xbdlangchain_core.messages.human\xacHumanMessage\x86\xa7content",
    b"\xb1additional_kwargs\x80\xb1response_metadata\x80\xa4type\xa5human\xa4name\xc0\xa2id",
    b"\xb1additional_kwargs\x80\xb1response_metadata\x80\xa4type\xa2ai\xa4name\xc0\xa2id\xd9.lc_run--01",
    b"\xb1additional_kwargs\x80\xb1response_metadata\x80\xa4type\xa4tool\xa4name",
    b"\xb1additional_kwargs\x80",
    b"\xb1response_metadata",
    b"\xaatool_calls\x91\x84\xa4name",
    b"\xaatool_calls",
    b"\xa4args",
    b"\xa9file_path",
    b"\xaaold_string",
    b"\xaanew_string",
    b"\xa7content",
    b"\xa4type\xa9tool_call",
    b"\xb2invalid_tool_calls\x90\xaeusage_metadata",
    b"\xc0\xb3model_validate_json",
    b"\xa6status\xa7success\xb3model_validate_json",
    b"\xa6status\xa5error\xb3model_validate_json",
    b"\xb3model_validate_json",
    b"\xa2id\xd90lc_run--01",
    b"\xa2id\xbdcall_",
    b"\xactool_call_id\xbdcall_",
    b"\xactool_call_id",
    b"\xa8artifact\x82\xacreplacements\x01\xa4diff",
    b"\xa8artifact",
    b"\xaawrite_file",
    b"\xa9edit_file",
    b"\xa9read_file",
)

_OF_OTHERS = (
    b"\x91\x86\xa7message\xd9.lc_run--01",
    b"\x82\xa5edits\x91\x83\xa3old",
    b"\xa3new",
    b"\xabreplace_all\xc2",
    b"\xabmodified_at\xbd20",
    b"\xabcreated_at\xbd20",
    b"\xa8encoding\xa5utf-8",
    b"+00:00",
    *_OF_TASKS,
)

_MARK = b"\xc1"
"""Stands before the number of a phrase. No type of msgpack begins with it and no UTF-8 has it, so
it is rare; where it stands for itself, a zero follows."""

_ALL = (_MARK, *dict.fromkeys(_OF_CHECKPOINTS + _OF_MESSAGES + _OF_OTHERS))
"""Every phrase, at the place that is its number. It belongs to the format: what was written with it
can be read with nothing else, so a better one gets a name of its own."""

_NUMBERED = {phrase: _MARK + bytes([number]) for number, phrase in enumerate(_ALL)}
_CHECKPOINTS, _MESSAGES, _OTHERS = (
    [(phrase, _NUMBERED[phrase]) for phrase in phrases]
    for phrases in (_OF_CHECKPOINTS, _OF_MESSAGES, _OF_OTHERS)
)


def shortened(data: bytes) -> bytes:
    """Return a value of msgpack with numbers for the phrases in it."""
    data = data.replace(_MARK, _NUMBERED[_MARK])
    for phrase, number in _phrases_for(data):
        data = data.replace(phrase, number)
    return data


def is_clear(short: bytes) -> bool:
    """Say whether it can be spelled out: a number and what follows it may be a phrase again."""
    return _MARK + _MARK not in short


def spelled_out(data: bytes) -> bytes:
    """Return what was shortened, as it was."""
    start, *numbered = data.split(_MARK)
    return start + b"".join([_ALL[part[0]] + part[1:] for part in numbered])


def _phrases_for(data: bytes) -> list[tuple[bytes, bytes]]:
    if data.startswith(b"\x87\xa1v\x04"):
        return _CHECKPOINTS
    return _MESSAGES if b"\xb1additional_kwargs" in data else _OTHERS
