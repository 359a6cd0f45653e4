"""The content of messages: its text, its size, cutting it, and which media a model is sent.

The state keeps every block. What a model is sent leaves out media that it can't take, and media
from files that it read some turns ago: each of them would be paid for again at every turn.
"""

import base64
import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from langgraph_filesystem.state.text import escaped

__all__ = (
    "SUMMARY",
    "block_text",
    "cut_message",
    "cut_text",
    "media_lines",
    "media_type",
    "path_of",
    "profile_of",
    "sent",
    "size_of",
    "text_of",
)

SUMMARY = "summarized_to"
"""Marks a human message that is a summary: the paths of the turns that it stands for."""

_MEDIA = {
    **dict.fromkeys(("image", "image_url", "input_image"), "image"),
    **dict.fromkeys(("audio", "input_audio"), "audio"),
    "video": "video",
    **dict.fromkeys(("file", "input_file", "document", "media"), "application/octet-stream"),
}
"""Types of the blocks that hold media, or an uploaded text file, and what is in them if they don't
tell."""
_TEXT_TYPE = re.compile(r"text/|application/(json|xml|yaml|x-yaml|toml)\b")
_DATA_URL = re.compile(r"data:([^;,]*)[^,]*;base64,")
_CALLS = {"tool_use": "input", "tool_call": "args", "function_call": "arguments"}
"""Types of the blocks in which providers repeat the calls of a message, and where the arguments
are."""
_MESSAGE_SIZE = 40
"""Characters that a message takes besides its content: its role, its id."""
_MEDIA_SIZE = 8_000
"""Characters for a block of media: about what providers charge for an image. Where a long PDF
takes more than that, the model refuses it."""
_RECENT_TURNS = 5
"""Turns of the model after which media that it has read are no longer sent."""


def text_of(message: AnyMessage) -> str:
    """Return the text of a message, uploaded text files included."""
    if isinstance(message.content, str):
        return message.content
    texts = [block_text(block) for block in message.content]
    return "\n".join(text for text in texts if text is not None)


def block_text(block: Any) -> str | None:
    """Return the text of a content block, or `None` if it has none.

    A block of a kind that is not known counts as its JSON.
    """
    if isinstance(block, str):
        return block
    text = block.get("text")
    if isinstance(text, str):
        return text
    if block.get("type") in _MEDIA:
        return _uploaded_text(block)
    return json.dumps(block, ensure_ascii=False, default=str, indent=1)


def media_type(block: Any) -> str | None:
    """Return the MIME type of a block with media, or just its kind; `None` for other blocks."""
    if not isinstance(block, dict) or block.get("type") not in _MEDIA:
        return None
    found = _upload(block)[0] or _MEDIA[block["type"]]
    return None if _TEXT_TYPE.match(found) else found


def size_of(message: AnyMessage) -> int:
    """Return about how many characters a message takes of the window, calls and media included."""
    size = _MESSAGE_SIZE
    if isinstance(message.content, str):
        size += _bytes_of(message.content)
    else:
        size += sum(map(_block_size, message.content))
    if isinstance(message, AIMessage):
        for call in (*message.tool_calls, *message.invalid_tool_calls):
            size += _MESSAGE_SIZE + len(json.dumps(call.get("args"), default=str))
    return size


def _block_size(block: Any) -> int:
    if isinstance(block, dict) and block.get("type") in _CALLS:
        return 0  # counted with the calls of the message
    return _MEDIA_SIZE if media_type(block) else _bytes_of(block_text(block) or "")


def _bytes_of(text: str) -> int:
    # A character that is not ASCII takes more of the window, about as many times as bytes.
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def cut_text(text: str, most: int, where: str) -> str:
    """Return the text, or its head and tail and where the whole of it is."""
    if len(text) <= most:
        return text
    left_out = f"\n[... of {len(text):,} characters the middle is left out{where} ...]\n"
    room = max(0, most - len(left_out))
    return f"{text[: room - room // 3]}{left_out}{text[len(text) - room // 3 :]}"


def cut_message(
    message: AnyMessage, most: int, where: str, operations: Collection[str] | None = None
) -> AnyMessage:
    """Return a message with long texts cut, or with long arguments of these operations only."""
    if isinstance(message, AIMessage):
        return _cut_ai_message(message, most, where, operations)
    if operations is not None or size_of(message) <= most:
        return message
    text = "\n".join([text_of(message), *media_lines(message)])
    return message.model_copy(update={"content": cut_text(text, most, where)})


def media_lines(message: AnyMessage) -> list[str]:
    """Return a line for each block of media."""
    blocks = [] if isinstance(message.content, str) else message.content
    origin = f" from {path}" if (path := path_of(message)) else ""
    return [f"[{kind}{origin}]" for block in blocks if (kind := media_type(block))]


def _cut_ai_message(
    message: AIMessage, most: int, where: str, operations: Collection[str] | None
) -> AIMessage:
    calls = [
        {**call, "args": {k: _cut_value(v, most, where) for k, v in call["args"].items()}}
        if operations is None or call["name"] in operations
        else call
        for call in message.tool_calls
    ]
    content: Any = message.content
    if operations is None:
        content = _cut_said(content, most, where)
    if calls == message.tool_calls and content == message.content:
        return message
    args = {call["id"]: call["args"] for call in calls}
    if not isinstance(content, str):
        content = [_with_args(block, args) for block in content]
    # A provider's own copy of the calls would bring the arguments back.
    more = {k: v for k, v in message.additional_kwargs.items() if k != "tool_calls"}
    update = {"content": content, "tool_calls": calls, "additional_kwargs": more}
    return message.model_copy(update=update)


def _cut_said(content: Any, most: int, where: str) -> Any:
    if isinstance(content, str):
        return cut_text(content, most, where)
    return [
        {**block, "text": cut_text(block["text"], most, where)}
        if isinstance(block, dict) and isinstance(block.get("text"), str)
        else block
        for block in content
    ]


def _cut_value(value: Any, most: int, where: str) -> Any:
    if isinstance(value, str):
        return cut_text(value, most, where)
    text = json.dumps(value, default=str)
    return value if len(text) <= most else cut_text(text, most, where)


def _with_args(block: Any, args: Mapping[Any, Any]) -> Any:
    """Return a block with the arguments that its call has now."""
    key = _CALLS.get(str(block.get("type"))) if isinstance(block, dict) else None
    id = block.get("call_id") or block.get("id") if key else None
    if key is None or id not in args:
        return block
    return {**block, key: json.dumps(args[id]) if isinstance(block.get(key), str) else args[id]}


def profile_of(model: Any) -> Mapping[str, Any]:
    """Return what a chat model tells about itself; nothing for many of them."""
    profile = getattr(model, "profile", None)
    return profile if isinstance(profile, Mapping) else {}


def sent(messages: list[AnyMessage], profile: Mapping[str, Any]) -> list[AnyMessage]:
    """Return the conversation as a model with this profile is sent it."""
    # Most conversations have text only, and are sent as they are.
    held = [
        place
        for place, message in enumerate(messages)
        if not isinstance(message.content, str) and isinstance(message, ToolMessage | HumanMessage)
    ]
    if not held:
        return messages
    view, recent = list(messages), _first_recent(messages)
    for place in held:
        view[place] = _shown(messages[place], profile, is_old=place < recent)
    return view


def _first_recent(messages: Sequence[AnyMessage]) -> int:
    """Return the place behind which media are still sent."""
    turns = [place for place, m in enumerate(messages) if isinstance(m, AIMessage)]
    return turns[-_RECENT_TURNS] if len(turns) >= _RECENT_TURNS else 0


def _shown(message: AnyMessage, profile: Mapping[str, Any], *, is_old: bool) -> AnyMessage:
    blocks = [_shown_block(block, message, profile, is_old) for block in message.content]
    if all(new is old for new, old in zip(blocks, message.content, strict=True)):
        return message
    return message.model_copy(update={"content": blocks})


def _shown_block(
    block: Any, message: AnyMessage, profile: Mapping[str, Any], is_old: bool
) -> str | dict[str, Any]:
    kind = media_type(block)
    if kind is None:
        return block  # type: ignore[no-any-return]  # a block is as it came
    path = path_of(message)
    if not _takes(profile, kind, message):
        where = f" It is in {escaped(path)}." if path else ""
        return _sentence(f"[{kind}: this model takes no such content.{where}]")
    if is_old and path:
        return _sentence(
            f"[{kind} from {escaped(path)}, no longer shown: read the file again to see it.]"
        )
    return block  # type: ignore[no-any-return]


def _sentence(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _takes(profile: Mapping[str, Any], kind: str, message: AnyMessage) -> bool:
    """Say whether a model takes media; one that doesn't say is taken to do so."""
    name = "pdf" if kind == "application/pdf" else kind.partition("/")[0]
    if profile.get(f"{name}_inputs") is False:
        return False
    in_answer = isinstance(message, ToolMessage)
    return not in_answer or profile.get(f"{name}_tool_message") is not False


def path_of(message: AnyMessage) -> str:
    """Return the path of the file that `read_file` has answered with."""
    artifact = message.artifact if isinstance(message, ToolMessage) else None
    return str(artifact.get("path") or "") if isinstance(artifact, dict) else ""


def _uploaded_text(block: dict[str, Any]) -> str | None:
    """Return the text of an uploaded file, in the forms of LangChain, Anthropic and OpenAI."""
    kind, data, is_plain = _upload(block)
    if data is None or is_plain:
        return data
    if not _TEXT_TYPE.match(kind):
        return None
    try:
        return base64.b64decode(data).decode()
    except ValueError:
        return None


def _upload(block: dict[str, Any]) -> tuple[str, str | None, bool]:
    """Return the MIME type of a block and its data, and whether these are plain text."""
    held = next((block[k] for k in ("source", "file") if isinstance(block.get(k), dict)), block)
    kind = str(held.get("mime_type") or held.get("media_type") or "")
    data = held.get("base64") or held.get("data") or held.get("file_data")
    if not isinstance(data, str):
        return kind, None, False
    if held.get("type") == "text":
        return kind, data, True
    if url := _DATA_URL.match(data):
        return url[1], data[url.end() :], False
    return kind, data, False
