r"""The commands that a person types, and the tool calls that they become.

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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

__all__ = (
    "Call",
    "Command",
    "Unreadable",
    "bound_commands",
    "excerpt",
    "manual",
    "read_calls",
)

_QUOTED = r"""'[^']*'|"[^"\\]*(?:\\.[^"\\]*)*\""""
_WORD = re.compile(rf"""((?:{_QUOTED}|[^ \t'"]+)+)[ \t]*""", re.DOTALL)
_QUOTE = re.compile(_QUOTED, re.DOTALL)
_ESCAPE = re.compile(r'\\([nt"\\])')
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}

_TYPE_NAMES: dict[type, set[str]] = {
    type(None): {"null"},
    bool: {"boolean"},
    int: {"integer", "number"},
    float: {"number"},
    list: {"array"},
    dict: {"object"},
}
# Measured: a message with arguments nested 300 deep can't be stored in a checkpoint, 250 can.
_DEEPEST = 100
_HEREDOC = re.compile(r"<<(\w+)")
_EXCERPT = 120


class Unreadable(Exception):
    """A line that is not a valid command, with the reason for the person who typed it."""


class Word(NamedTuple):
    """A word of a line without its quotes."""

    text: str
    bare: int
    """How many leading characters were outside of quotes: only these can be syntax."""


class Command(NamedTuple):
    """A bound tool, as a person types it."""

    name: str
    description: str
    parameters: dict[str, Any]
    """JSON schema of each parameter, in the order of positional words."""
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
        """Return the parameter with this name; `--replace-all` is `replace_all`."""
        return next((n for n in (name, name.replace("-", "_")) if n in self.parameters), None)


class Call(NamedTuple):
    """A tool call without an id."""

    name: str
    args: dict[str, Any]


def bound_commands(tools: Any) -> dict[str, Command]:
    """Return the commands for the tools that are bound to a model, by their names."""
    functions = [tool["function"] for tool in tools or () if "function" in tool]
    return {function["name"]: _command(function) for function in functions}


def manual(commands: Mapping[str, Command]) -> str:
    """Return the help text: how to type commands, and which there are."""
    if not commands:
        return "There are no commands: no tools are bound to this model."
    lines = [
        "Type one command per line. A blank line waits for the answers to the commands above it. "
        "Quote text with spaces, or end a line with `<<END` and write the text on the next lines, "
        "up to a line `END`. The commands:",
        "",
    ]
    for command in commands.values():
        about = f": {command.description}" if command.description else ""
        lines.append(f"- `{command.usage()}`{about}")
    return "\n".join(lines)


def excerpt(text: str) -> str:
    """Return the first line, shortened and with unprintable characters escaped."""
    line = " ".join(text.strip().split("\n", 1)[0].split())
    shown = line if len(line) <= _EXCERPT else line[: _EXCERPT - 1] + "…"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in shown)


def read_calls(text: str, commands: Mapping[str, Command]) -> list[list[Call]]:
    """Return the calls of each group of lines, or raise for the first line that is invalid."""
    groups: list[list[Call]] = [[]]
    lines = enumerate(text.split("\n"), start=1)
    for number, line in ((number, line.strip()) for number, line in lines):
        if not line:
            groups.append([])
        elif not line.startswith("#"):
            try:
                groups[-1].append(_call(line, lines, commands))
            except Unreadable as error:
                raise Unreadable(f"Line {number}, `{excerpt(line)}`: {error}") from None
    return [group for group in groups if group]


def _command(function: dict[str, Any]) -> Command:
    schema = function.get("parameters") or {}
    return Command(
        name=function["name"],
        description=excerpt(function.get("description") or ""),
        parameters=schema.get("properties") or {},
        required=schema.get("required") or (),
    )


def _call(line: str, following: Iterable[tuple[int, str]], commands: Mapping[str, Command]) -> Call:
    # The name is checked before quotes are parsed: prose such as "What's new?" has quotes too.
    name = line.split(" ", 1)[0].split("\t", 1)[0]
    if name not in commands:
        raise Unreadable(f"there is no command `{excerpt(name)}`.")
    words = split_words(line[len(name) :].lstrip(" \t"))
    return Call(name, _arguments(commands[name], [_with_heredoc(w, following) for w in words]))


def _with_heredoc(word: Word, following: Iterable[tuple[int, str]]) -> Word:
    """Replace `<<END` by the lines up to `END`; they are taken from `following`."""
    opening = _HEREDOC.fullmatch(word.text)
    if opening is None or word.bare < len("<<"):
        return word
    body: list[str] = []
    for _, line in following:
        if line.strip() == opening[1]:
            return Word("".join(body), bare=0)
        body.append(line + "\n")
    raise Unreadable(
        f"there is no line `{opening[1]}` to end the text. Quote `<<` to use it as a word."
    )


def _arguments(command: Command, words: Iterable[Word]) -> dict[str, Any]:
    """Set the named parameters, then fill the others with the other words, in schema order."""
    named: dict[str, Any] = {}
    positional: list[Word] = []
    waiting = deque(words)
    while waiting:
        word = waiting.popleft()
        dashes = 2 if word.text.startswith("--") and word.bare > 2 else 0
        typed, equals, value = word.text[dashes : word.bare].partition("=")
        name = command.find(typed) if dashes or equals else None
        if name is None:
            positional.append(word)
        elif equals:
            rest = Word(word.text[dashes + len(typed) + 1 :], bare=len(value))
            named[name] = value_of(rest, command.parameters[name])
        elif word.bare < len(word.text):
            positional.append(word)
        else:
            named[name] = _flag(name, command.parameters[name], waiting)
    return named | _filled(command, positional, named)


def _flag(name: str, schema: Any, waiting: deque[Word]) -> Any:
    """Return the value of `--name`: the next word, or true for a boolean without a value."""
    if "boolean" in types_of(schema):
        given = waiting and waiting[0].text.lower() in ("true", "false")
        return value_of(waiting.popleft(), schema) if given else True
    if not waiting:
        raise Unreadable(f"`--{name}` needs a value.")
    return value_of(waiting.popleft(), schema)


def _filled(command: Command, words: list[Word], named: dict[str, Any]) -> dict[str, Any]:
    free = [name for name in command.parameters if name not in named]
    if len(words) > len(free):
        raise Unreadable(
            f"`{excerpt(words[len(free)].text)}` is one word too many. Quote text with spaces."
        )
    return {
        name: value_of(word, command.parameters[name])
        for name, word in zip(free, words, strict=False)
    }


# Words of a line, and the values that they stand for.


def split_words(line: str) -> Iterator[Word]:
    """Split as a shell does, but keep backslashes outside double quotes, as in paths."""
    place = 0
    while place < len(line):
        match = _WORD.match(line, place)
        if match is None:
            raise Unreadable(f"a quote `{line[place]}` is not closed.")
        raw, place = match[1], match.end()
        quote = _QUOTE.search(raw)
        yield Word(_QUOTE.sub(_unquoted, raw), quote.start() if quote else len(raw))


def value_of(word: Word, schema: Any) -> Any:
    """Return the value in the type that the schema asks for.

    A value that can't be converted stays text: the validation of the graph explains the error
    better.
    """
    types = types_of(schema)
    if types <= {"string"}:
        return word.text
    value = _parsed(word.text)
    # Where text is allowed, `5` and `true` are text, and so is a quoted null.
    if "string" in types and isinstance(value, bool | int | float):
        return word.text
    if value is None and word.bare < len(word.text):
        return word.text
    return value if _TYPE_NAMES.get(type(value), set()) & types else word.text


def types_of(schema: Any) -> set[str]:
    """Return the names of the JSON types that a schema allows, those in `anyOf` included."""
    if not isinstance(schema, dict):
        return set()
    own = schema.get("type", ())
    types = {own} if isinstance(own, str) else set(own)
    for key in ("anyOf", "oneOf", "allOf"):
        types.update(*map(types_of, schema.get(key) or ()))
    return types


def _unquoted(match: re.Match[str]) -> str:
    inner = match[0][1:-1]
    return inner if match[0][0] == "'" else _ESCAPE.sub(lambda escape: _ESCAPES[escape[1]], inner)


def _parsed(text: str) -> Any:
    """Return the JSON value, or the text itself if it is not JSON that a checkpoint can store."""
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
