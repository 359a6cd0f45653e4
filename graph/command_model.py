r"""A chat model for people without a key: it turns typed commands into tool calls.

    ls /
    write_file /a.txt "hi\nthere"
    write_file /b.txt <<END
    as many lines as you like
    END

    edit_file /a.txt hi hello replace_all=true
    grep hello --path /

Lines that stand together are the parallel calls of one message. A blank line waits for their
answers. Quote a word to keep its spaces, or to keep `name=value` and `<<END` as plain text.
"""

import json
import math
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from uuid import uuid4

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    ToolCall,
    ToolMessage,
)
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

__all__ = ("CommandModel",)

_QUOTED = r"""'[^']*'|"[^"\\]*(?:\\.[^"\\]*)*\""""
_WORD = re.compile(rf"""((?:{_QUOTED}|[^ \t'"]+)+)[ \t]*""", re.DOTALL)
_QUOTE = re.compile(_QUOTED, re.DOTALL)
_ESCAPE = re.compile(r'\\([nt"\\])')
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}
_HEREDOC = re.compile(r"<<(\w+)")
_TOKEN = re.compile(r"\s*\S+|\s+")

_TYPE_NAMES: dict[type, set[str]] = {
    type(None): {"null"},
    bool: {"boolean"},
    int: {"integer", "number"},
    float: {"number"},
    list: {"array"},
    dict: {"object"},
}
_EXCERPT = 120
# Measured: a message with arguments nested 300 deep can't be stored in a checkpoint, 250 can.
_DEEPEST = 100


class CommandModel(BaseChatModel):
    """A chat model that runs the commands in the last human message, and says what they did.

    It keeps nothing between calls: which group of commands is next follows from how many AI
    messages stand behind the human one. So it can be resumed and forked like any other model.
    """

    @property
    def _llm_type(self) -> str:
        return "command"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Offer these tools as commands. A `tool_choice` is ignored: the person chooses."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        reply = _reply(messages, _commands(kwargs.get("tools")))
        return ChatResult(generations=[ChatGeneration(message=reply)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        # The inherited form would hold a worker thread for what is pure computation.
        return self._generate(messages, **kwargs)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in _chunks(_reply(messages, _commands(kwargs.get("tools")))):
            yield ChatGenerationChunk(message=chunk)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._stream(messages, **kwargs):
            yield chunk


class _Command(NamedTuple):
    """A bound tool, as a person types it."""

    name: str
    description: str
    parameters: dict[str, Any]
    """JSON schema of each parameter, in the order in which words fill them."""
    required: Sequence[str]

    def usage(self) -> str:
        """Return `read_file file_path [offset=0]`."""
        return " ".join((self.name, *map(self._parameter, self.parameters)))

    def _parameter(self, name: str) -> str:
        if name in self.required:
            return name
        schema = self.parameters[name]
        default = schema.get("default") if isinstance(schema, dict) else None
        return f"[{name}]" if default is None else f"[{name}={json.dumps(default, default=str)}]"

    def find(self, name: str) -> str | None:
        """Return the parameter meant by `name`, where `--replace-all` means `replace_all`."""
        return next((n for n in (name, name.replace("-", "_")) if n in self.parameters), None)


class _Word(NamedTuple):
    """A word of a line without its quotes."""

    text: str
    bare: int
    """How many leading characters stood outside quotes: only these can be syntax."""


class _Call(NamedTuple):
    """What a line asks for; it gets its id when it is sent."""

    name: str
    args: dict[str, Any]


class _Unreadable(Exception):
    """A line that can't become a call, with the reason for the person who typed it."""


def _commands(tools: Any) -> dict[str, _Command]:
    functions = [tool["function"] for tool in tools or () if "function" in tool]
    return {function["name"]: _command(function) for function in functions}


def _command(function: dict[str, Any]) -> _Command:
    schema = function.get("parameters") or {}
    return _Command(
        name=function["name"],
        description=_excerpt(function.get("description") or ""),
        parameters=schema.get("properties") or {},
        required=schema.get("required") or (),
    )


# What to answer


def _reply(messages: Sequence[BaseMessage], commands: dict[str, _Command]) -> AIMessage:
    """Send the group of commands whose turn it is, or the text that ends the run."""
    request, since = _last_request(messages)
    if request.split(maxsplit=1)[:1] in ([], ["help"]) and "help" not in commands:
        return AIMessage(_manual(commands))
    try:
        groups = _groups(request, commands)
    except _Unreadable as error:
        return AIMessage(f"{error}\n\n{_manual(commands)}")
    sent = sum(isinstance(message, AIMessage) for message in since)
    if sent < len(groups):
        return AIMessage("", tool_calls=[_tool_call(call) for call in groups[sent]])
    return AIMessage(_summary(since) if groups else _manual(commands))


def _last_request(messages: Sequence[BaseMessage]) -> tuple[str, Sequence[BaseMessage]]:
    """Return the text of the last human message, and the messages behind it."""
    for place in range(len(messages) - 1, -1, -1):
        if isinstance(messages[place], HumanMessage):
            return _text(messages[place].content), messages[place + 1 :]
    return "", ()


def _text(content: Any) -> str:
    # `BaseMessage.text` glues blocks together, which would glue two commands into one line.
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else ()
    texts = (block.get("text") if isinstance(block, dict) else block for block in blocks)
    return "\n".join(text for text in texts if isinstance(text, str))


def _tool_call(call: _Call) -> ToolCall:
    made = f"call_{uuid4().hex}"
    return ToolCall(name=call.name, args=call.args, id=made, type="tool_call")


def _manual(commands: dict[str, _Command]) -> str:
    if not commands:
        return "There are no commands: no tools are bound to this model."
    lines = [
        "Type one command a line. A blank line waits for the answers of those above it. "
        "Quote text with spaces, or end a line with `<<END` and let the text follow, up to a "
        "line that says `END`. The commands:",
        "",
    ]
    for command in commands.values():
        about = f": {command.description}" if command.description else ""
        lines.append(f"- `{command.usage()}`{about}")
    return "\n".join(lines)


def _summary(since: Sequence[BaseMessage]) -> str:
    answers = [message for message in since if isinstance(message, ToolMessage)]
    return "\n".join(map(_outcome, answers)) or "Done, but no tool has answered."


def _outcome(answer: ToolMessage) -> str:
    outcome = "error" if answer.status == "error" else "ok"
    text = _excerpt(_text(answer.content))
    return f"- `{answer.name or answer.tool_call_id}` {outcome}" + (f": {text}" if text else "")


def _excerpt(text: str) -> str:
    """Return the first line, short, and with what would not print escaped."""
    line = " ".join(text.strip().split("\n", 1)[0].split())
    shown = line if len(line) <= _EXCERPT else line[: _EXCERPT - 1] + "…"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in shown)


def _chunks(reply: AIMessage) -> Iterator[AIMessageChunk]:
    for token in _TOKEN.findall(str(reply.content)):
        yield AIMessageChunk(content=token)
    for index, call in enumerate(reply.tool_calls):
        args = json.dumps(call["args"])
        piece = tool_call_chunk(name=call["name"], args=args, id=call["id"], index=index)
        yield AIMessageChunk(content="", tool_call_chunks=[piece])


# From text to calls


def _groups(text: str, commands: dict[str, _Command]) -> list[list[_Call]]:
    """Return the calls of each group of lines, or raise for the first line that is none."""
    groups: list[list[_Call]] = [[]]
    lines = enumerate(text.split("\n"), start=1)
    for number, line in ((number, line.strip()) for number, line in lines):
        if not line:
            groups.append([])
        elif not line.startswith("#"):
            try:
                groups[-1].append(_call(line, lines, commands))
            except _Unreadable as error:
                raise _Unreadable(f"Line {number}, `{_excerpt(line)}`: {error}") from None
    return [group for group in groups if group]


def _call(line: str, following: Iterable[tuple[int, str]], commands: dict[str, _Command]) -> _Call:
    # The name is looked up before quotes are, since prose such as "What's new?" has them too.
    name = line.split(" ", 1)[0].split("\t", 1)[0]
    if name not in commands:
        raise _Unreadable(f"there is no command `{_excerpt(name)}`.")
    words = [_with_heredoc(word, following) for word in _words(line[len(name) :].lstrip(" \t"))]
    return _Call(name, _arguments(commands[name], words))


def _words(line: str) -> Iterator[_Word]:
    """Split as a shell does, but keep a backslash outside double quotes: it may be a path's."""
    place = 0
    while place < len(line):
        match = _WORD.match(line, place)
        if match is None:
            raise _Unreadable(f"a quote `{line[place]}` is not closed.")
        raw, place = match[1], match.end()
        quote = _QUOTE.search(raw)
        yield _Word(_QUOTE.sub(_unquoted, raw), quote.start() if quote else len(raw))


def _unquoted(match: re.Match[str]) -> str:
    inner = match[0][1:-1]
    return inner if match[0][0] == "'" else _ESCAPE.sub(lambda escape: _ESCAPES[escape[1]], inner)


def _with_heredoc(word: _Word, following: Iterable[tuple[int, str]]) -> _Word:
    """Replace `<<END` by the lines up to `END`; they are taken from `following`."""
    opening = _HEREDOC.fullmatch(word.text)
    if opening is None or word.bare < len("<<"):
        return word
    body: list[str] = []
    for _, line in following:
        if line.strip() == opening[1]:
            return _Word("".join(body), bare=0)
        body.append(line + "\n")
    raise _Unreadable(f"no line `{opening[1]}` ends its text. Quote `<<` to have it as a word.")


def _arguments(command: _Command, words: Iterable[_Word]) -> dict[str, Any]:
    """Set the named parameters, then let the other words fill what is left in schema order."""
    named: dict[str, Any] = {}
    positional: list[_Word] = []
    waiting = deque(words)
    while waiting:
        word = waiting.popleft()
        dashes = 2 if word.text.startswith("--") and word.bare > 2 else 0
        typed, equals, value = word.text[dashes : word.bare].partition("=")
        name = command.find(typed) if dashes or equals else None
        if name is None:
            positional.append(word)
        elif equals:
            rest = _Word(word.text[dashes + len(typed) + 1 :], bare=len(value))
            named[name] = _converted(rest, command.parameters[name])
        elif word.bare < len(word.text):
            positional.append(word)
        else:
            named[name] = _flag(name, command.parameters[name], waiting)
    return named | _filled(command, positional, named)


def _flag(name: str, schema: Any, waiting: deque[_Word]) -> Any:
    """Return the value of `--name`: the next word, or true where a switch stands alone."""
    if "boolean" in _types(schema):
        given = waiting and waiting[0].text.lower() in ("true", "false")
        return _converted(waiting.popleft(), schema) if given else True
    if not waiting:
        raise _Unreadable(f"`--{name}` needs a value.")
    return _converted(waiting.popleft(), schema)


def _filled(command: _Command, words: list[_Word], named: dict[str, Any]) -> dict[str, Any]:
    free = [name for name in command.parameters if name not in named]
    if len(words) > len(free):
        raise _Unreadable(
            f"`{_excerpt(words[len(free)].text)}` is one word too many. Quote text with spaces."
        )
    return {
        name: _converted(word, command.parameters[name])
        for name, word in zip(free, words, strict=False)
    }


# From words to values


def _converted(word: _Word, schema: Any) -> Any:
    """Return the value in the type that the schema asks for.

    What does not convert stays as it was typed: the graph's own validation explains it better.
    """
    types = _types(schema)
    if types <= {"string"}:
        return word.text
    value = _parsed(word.text)
    # Where text is welcome, `5` and `true` are text, and so is a null in quotes.
    if "string" in types and isinstance(value, bool | int | float):
        return word.text
    if value is None and word.bare < len(word.text):
        return word.text
    return value if _TYPE_NAMES.get(type(value), set()) & types else word.text


def _types(schema: Any) -> set[str]:
    """Return the names of the JSON types that a schema allows, through `anyOf` and its kin."""
    if not isinstance(schema, dict):
        return set()
    own = schema.get("type", ())
    types = {own} if isinstance(own, str) else set(own)
    for key in ("anyOf", "oneOf", "allOf"):
        types.update(*map(_types, schema.get(key) or ()))
    return types


def _parsed(text: str) -> Any:
    """Return the JSON value, or the text itself when it is none that a checkpoint can keep."""
    literal = text.lower() if text.lower() in ("true", "false") else text
    try:
        value = json.loads(literal, parse_int=_int64, parse_float=_finite, parse_constant=_finite)
        return value if _depth(value) <= _DEEPEST else text
    except (ValueError, RecursionError):
        return text


def _int64(digits: str) -> int:
    value = int(digits)
    if not -(2**63) <= value < 2**63:
        raise ValueError("msgpack has no such integer")
    return value


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError("JSON has no such number")
    return value


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inner), default=0)
