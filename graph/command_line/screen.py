"""What people see while an agent works, and what scripts read instead.

Names and contents come from files and models. They are escaped, so that none of them can move the
cursor, change a colour or hide a line.
"""

import json
import os
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import click
from langchain_core.messages import AIMessage, ToolMessage
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from langgraph_filesystem.nodes.answers import counted
from langgraph_filesystem.state.text import escaped

__all__ = (
    "LISTED",
    "FileChange",
    "JsonLines",
    "Screen",
    "change_line",
    "diff_line",
    "lines_of",
    "plain",
    "print_json",
)

T = TypeVar("T")

_NAME = 11
"""The width of the column with the names of nodes."""
_NARROW = 40
_FIRST_LINES = 20
"""Lines of a diff, an answer or an output that are shown while the agent works."""
_LAST_LINES = 10
"""Lines that are shown of the end of a longer output."""
_ASKED_LINES = 100
"""Lines of a call that waits for approval; the pager has the rest."""
LISTED = 50
"""Files that are listed after a run, or when they are written; `lgfs status` lists all."""
_LONGEST_LINE = 1_000
"""Characters that are shown of one line."""
_IDLE = "nothing to do"
_DIFF_STYLES = {
    **{"diff ": "bold", "+++": "bold", "---": "bold", "@@ ": "cyan"},
    **{"+": "green", "-": "red", "\\": "dim"},
}
_KINDS = {"added": ("A", "green"), "changed": ("M", "yellow"), "deleted": ("D", "red")}
_SUBJECTS = ("file_path", "path", "source", "command", "description")


class FileChange(NamedTuple):
    """A changed file, as git shows it."""

    path: str
    kind: str
    """`added`, `changed` or `deleted`."""
    added: int
    removed: int


def print_json(*objects: Mapping[str, Any]) -> None:
    """Print each object as one line, in ASCII."""
    for one in objects:
        print(json.dumps(one, default=str), flush=True)


class JsonLines:
    """Reports a run to scripts, as one JSON object a line. `Screen` has the same methods."""

    def running(self, names: Sequence[str]) -> None:
        """Say nothing: each node is reported when it has ended."""

    def node(self, place: Sequence[str], name: str, update: Any) -> None:
        """Print the messages of a node: calls of the model, answers of operations."""
        messages = [_message(message) for message in _messages(update)]
        print_json({"event": "node", "node": name, "in": list(place), "messages": messages})

    def output(self, event: Mapping[str, Any]) -> None:
        """Print progress, such as the output of a command."""
        facts = dict(event)
        kind = facts.pop("event", None)
        print_json({"event": "progress", "kind": kind, **facts})

    def ask(self, request: Mapping[str, Any]) -> None:
        """Print what waits for approval, and leave it waiting."""
        print_json({"event": "approval", **request})


# Lines of text


def lines_of(text: str) -> list[str]:
    """Return the lines of a text: only a newline ends one."""
    return text.removesuffix("\n").split("\n") if text else []


def plain(line: str, style: str = "") -> Text:
    """Return a line in one style."""
    return Text(escaped(line), style)


def diff_line(line: str) -> Text:
    """Return a line of a unified diff in its colour."""
    return plain(line, next((s for start, s in _DIFF_STYLES.items() if line.startswith(start)), ""))


def change_line(change: FileChange, before: str = "  ") -> Text:
    """Return a changed file as git shows it."""
    letter, style = _KINDS[change.kind]
    text = Text(before).append(f"{letter} ", style).append(escaped(change.path))
    if change.added:
        text.append(f"  +{change.added}", "green")
    if change.removed:
        text.append(f"{'' if change.added else ' '} -{change.removed}", "red")
    return text


def _dim(line: str) -> Text:
    return plain(f"  {line}", "dim")


class Screen:
    """A terminal, or a pipe.

    Args:
        is_typed: Whether a person types the calls. Then each answer is shown where it comes, and
            not again in what the model says at the end.
    """

    def __init__(self, *, is_typed: bool = False) -> None:
        self.console = Console(markup=False, highlight=False, emoji=False, soft_wrap=True)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self._is_typed = is_typed
        self._is_answered = False
        """Whether a call was answered since the last final answer of the model."""
        self._calls: dict[str, Mapping[str, Any]] = {}
        """Arguments of the calls that the model made, by id."""
        self._made: Counter[str | None] = Counter()
        """How many calls each message of the model has."""
        self._command = ""
        """The id of the call whose command printed last."""
        self._output = _Output()
        self._approves_all = False

    # Text

    def say(self, text: str, style: str = "") -> None:
        """Print sentences. A terminal breaks them between words."""
        for line in text.split("\n"):
            self.console.print(plain(line, style), soft_wrap=not self.console.is_terminal)

    def warn(self, text: str) -> None:
        """Print a sentence that should not be overlooked."""
        self.say(text, "yellow")

    def show(
        self, lines: Sequence[str], draw: Callable[[str], Text], limit: int = _FIRST_LINES
    ) -> None:
        """Print the first lines of a text, and say how many more there are."""
        self._print(draw(_crop(line, _LONGEST_LINE)) for line in lines[:limit])
        self._more(len(lines) - limit, "line")

    def files(
        self, rows: Sequence[T], draw: Callable[[T], Text], limit: int | None = LISTED
    ) -> None:
        """Print a row for each file, and say how many more there are."""
        self._print(map(draw, rows[:limit]))
        self._more(len(rows) - len(rows[:limit]), "file")

    def page(self, rows: Iterable[T], draw: Callable[[T], Text]) -> None:
        """Print any number of rows; in a terminal through a pager, as git does."""
        if not self.console.is_terminal:
            self._print(map(draw, rows))
            return
        # As git sets it: colours pass, and what fits on the screen stays there.
        os.environ.setdefault("LESS", "FRX")
        click.echo_via_pager(map(self._drawn, map(draw, rows)), color=True)

    def _print(self, lines: Iterable[Text]) -> None:
        for line in lines:
            self.console.print(line)

    def _more(self, count: int, what: str) -> None:
        if count > 0:
            self.say(f"  [{counted(count, f'more {what}')}]", "dim")

    def _drawn(self, line: Text) -> str:
        with self.console.capture() as captured:
            self.console.print(line)
        return captured.get()

    # Nodes

    def running(self, names: Sequence[str]) -> None:
        """Show a spinner with the nodes at work; without any, hide it."""
        if not names:
            self._progress.stop()
            for task in self._progress.task_ids:
                self._progress.remove_task(task)
            return
        text = escaped(", ".join(dict.fromkeys(names)))
        if self._progress.task_ids:
            task = self._progress.task_ids[0]
            if self._progress.tasks[0].description != text:
                self._progress.reset(task, description=text)
        else:
            self._progress.add_task(text, total=None)
            self._progress.start()

    def node(self, place: Sequence[str], name: str, update: Any) -> None:
        """Print one line about what a node did, then what it changed.

        A node that had nothing to do, and a router that planned all calls of the model, get no
        line: the spinner has shown them.
        """
        indent = "  " * len(place)
        messages = _messages(update)
        if not messages or name in ("prepare", "evict", "summarize"):
            if (did := self._plan(name, update)) != _IDLE:
                self._row(indent, name, did, "dim")
            return
        for message in messages:
            if isinstance(message, AIMessage):
                self._model(indent, name, message)
            elif isinstance(message, ToolMessage):
                self._answer(indent, name, message)
            else:
                self._row(indent, name, _first_line(message.text), "dim")

    def output(self, event: Mapping[str, Any]) -> None:
        """Print the output of a command as it comes; of a long one the first lines, then the last.

        Nothing is lost: the model reads it, and what is too long for that is in a file.
        """
        if event.get("event") == "output":
            call = str(event.get("call"))
            self._announce("", str(event.get("operation")), call)
            self._dim_lines(self._output.take(str(event.get("text"))))

    def _announce(self, indent: str, name: str, call: str) -> None:
        """Print the command whose output comes next, unless it printed last."""
        if self._command != call:
            self._dim_lines(self._output.end())
            self._command, self._output = call, _Output()
            self._row(indent, name, f"$ {_subject(self._calls.get(call, {}))}")

    def _dim_lines(self, lines: Iterable[str]) -> None:
        self._print(map(_dim, lines))

    def _row(self, indent: str, name: str, text: str, style: str = "") -> None:
        width = 0 if self.console.width < _NARROW else _NAME
        row = Text(indent).append(f"{escaped(name):<{width}} ", "dim" if style == "dim" else "cyan")
        row.append(escaped(_crop(text)), style)
        if self.console.is_terminal and width and style != "red":
            self.console.print(row, soft_wrap=False, no_wrap=True, overflow="ellipsis")
        else:
            self.console.print(row, soft_wrap=not self.console.is_terminal)

    def _plan(self, name: str, update: Any) -> str:
        """Describe what a node did that is no operation, such as `router` or `evict`."""
        values = update if isinstance(update, Mapping) else {}
        if routes := values.get("routes"):
            planned = sum(len(route["calls"]) for route in routes)
            made = self._made.get(routes[0]["message"])
            if planned == made:
                return _IDLE
            listed = ", ".join(
                f"{route['node']} {route.get('path') or ''}".strip() for route in routes
            )
            return f"{planned} of {made} calls now: {listed}"
        count = len(_messages(update))
        if name == "evict" and count:
            return f"moves {counted(count, 'large message')} to files"
        if name == "prepare" and count:
            return "answers calls that were left open"
        return "done" if any(values.values()) else _IDLE

    def _model(self, indent: str, name: str, message: AIMessage) -> None:
        self._calls.update({call["id"] or "": call["args"] for call in message.tool_calls})
        self._made[message.id] = len(message.tool_calls)
        calls = [f"{call['name']} {_subject(call['args'])}".strip() for call in message.tool_calls]
        self._row(indent, name, "calls " + ", ".join(calls) if calls else "answers")
        if message.text.strip() and not (self._is_typed and self._is_answered):
            self.say(f"\n{message.text.strip()}\n")
        if not calls:
            self._is_answered = False

    def _answer(self, indent: str, name: str, message: ToolMessage) -> None:
        self._is_answered = True
        args = self._calls.get(message.tool_call_id, {})
        text = message.text
        if message.status == "error":
            self._row(indent, name, text, "red")
        elif name == "execute":
            self._announce(indent, name, message.tool_call_id)
            self._dim_lines([*self._output.end(), *_notes(text)])
        elif name in ("write_file", "edit_file", "delete", "move", "task", "write_todos"):
            self._row(indent, name, _first_line(text))
            self._changed(name, args, message)
        else:
            lines = lines_of(text)
            self._row(indent, name, f"{_subject(args)}  ({counted(len(lines), 'line')})")
            if self._is_typed:
                self.show(lines, _dim)

    def _changed(self, name: str, args: Mapping[str, Any], message: ToolMessage) -> None:
        artifact = message.artifact if isinstance(message.artifact, dict) else {}
        if artifact.get("diff"):
            # Without its first two lines: the row above names the file.
            self.show(lines_of(str(artifact["diff"]))[2:], diff_line)
        elif name == "write_file" and isinstance(args.get("content"), str):
            self.show([f"+{line}" for line in lines_of(args["content"])], diff_line)
        elif name == "write_todos":
            todos = args.get("todos") or ()
            self._dim_lines(f"{one.get('status')}: {one.get('content')}" for one in todos)

    # Approvals

    def ask(self, request: Mapping[str, Any]) -> list[dict[str, Any]] | None:
        """Show each call with what it would change, and ask what to do."""
        self.running(())
        if not sys.stdin.isatty():
            for action in request["action_requests"]:
                self.show(lines_of(action["description"]), diff_line)
            return None
        decisions = []
        configs = request.get("review_configs") or [{}] * len(request["action_requests"])
        for action, config in zip(request["action_requests"], configs, strict=True):
            self.say("")
            lines = str(action.get("description") or action["name"]).split("\n")
            self.show(lines, diff_line, _ASKED_LINES)
            allowed = config.get("allowed_decisions") or ["approve", "reject"]
            decision = self._decision(action, allowed, lines)
            if decision is None:
                return None
            decisions.append(decision)
        return decisions

    def _decision(
        self, action: Mapping[str, Any], allowed: Sequence[str], lines: Sequence[str]
    ) -> Any:
        if self._approves_all and "approve" in allowed:
            self.say("approved, as you said for all", "dim")
            return {"type": "approve"}
        choices = {"y": "approve", "n": "reject", "e": "edit"}
        offered = {key: kind for key, kind in choices.items() if kind in allowed}
        if "approve" in allowed:
            offered["a"] = "approve all"
        if len(lines) > _ASKED_LINES or max(map(len, lines)) > _LONGEST_LINE:
            offered["v"] = "view all of it"
        offered["s"] = "stop here"
        question = ", ".join(f"{key} = {kind}" for key, kind in offered.items())
        while True:
            try:
                key = self.console.input(Text(f"Run this? ({question}) ", "bold yellow")).strip()
            except (EOFError, KeyboardInterrupt):
                self.say("")
                return None
            kind = offered.get(key[:1].lower())
            if kind == "view all of it":
                self.page(lines, diff_line)
            if kind == "stop here":
                return None
            if kind == "approve all":
                self._approves_all, kind = True, "approve"
            if kind == "reject":
                return _rejected(self.console)
            if kind == "edit" and (args := self._edited(action["args"])) is not None:
                return {"type": "edit", "edited_action": {"name": action["name"], "args": args}}
            if kind == "approve":
                return {"type": "approve"}

    def _edited(self, args: Any) -> Any:
        """Let the person change the arguments in their editor; `None` if they did not."""
        text = click.edit(json.dumps(args, indent=2, ensure_ascii=False), extension=".json")
        try:
            return None if text is None else json.loads(text)
        except ValueError as error:
            self.warn(f"That is not JSON: {error}")
            return None


def _rejected(console: Console) -> dict[str, Any]:
    try:
        reason = console.input(Text("Why? (for the model; may be empty) ", "yellow")).strip()
    except (EOFError, KeyboardInterrupt):
        reason = ""
    return {"type": "reject", **({"message": reason} if reason else {})}


class _Output:
    """What one command has printed: its first lines are shown as they come, then its last ones."""

    def __init__(self) -> None:
        self._lines = 0
        self._last: deque[str] = deque(maxlen=_LAST_LINES)
        self._open = ""
        """A line that has no end yet."""

    def take(self, text: str) -> list[str]:
        """Return the lines to show of some more output."""
        *lines, self._open = (self._open + text).split("\n")
        self._open = self._open[:_LONGEST_LINE]
        room = max(0, _FIRST_LINES - self._lines)
        self._lines += len(lines)
        self._last.extend(map(_as_printed, lines[room:]))
        return [_as_printed(line) for line in lines[:room]]

    def end(self) -> list[str]:
        """Return the last lines, if they are not shown yet."""
        if self._open:
            self._lines += 1
            self._last.append(_as_printed(self._open))
        is_whole = self._lines - _FIRST_LINES <= len(self._last)
        last = [*([] if is_whole else ["[...]"]), *self._last]
        self._last.clear()
        self._open = ""
        return last


def _as_printed(line: str) -> str:
    """Return what a terminal shows of a line that was overwritten, such as a progress bar."""
    return _crop(line.rstrip("\r").rpartition("\r")[2], _LONGEST_LINE)


# Messages


def _messages(update: Any) -> list[Any]:
    messages = update.get("messages") if isinstance(update, Mapping) else None
    return list(messages) if isinstance(messages, list | tuple) else []


def _message(message: Any) -> dict[str, Any]:
    shown = {"type": message.type, "text": message.text}
    if isinstance(message, AIMessage):
        calls = [{k: call[k] for k in ("id", "name", "args")} for call in message.tool_calls]
        shown["calls"] = calls
    if isinstance(message, ToolMessage):
        shown |= {"call": message.tool_call_id, "status": message.status}
        shown["artifact"] = message.artifact
    return shown


def _subject(args: Any) -> str:
    """Return the argument that says most about a call."""
    values = args if isinstance(args, Mapping) else {}
    if values.get("pattern"):
        return f"{values['pattern']}" + (f" in {values['path']}" if values.get("path") else "")
    return str(next((values[name] for name in _SUBJECTS if values.get(name)), ""))


def _notes(text: str) -> list[str]:
    """Return the lines at the end of an answer that are no output: the exit status, for one."""
    lines = lines_of(text)
    is_note = [line.startswith("[") and line.endswith("]") for line in lines]
    return lines[len(lines) - is_note[::-1].index(False) if False in is_note else 0 :]


def _first_line(text: str) -> str:
    first, _, more = text.strip().partition("\n")
    return _crop(first) + (f"  (+{counted(more.count(chr(10)) + 1, 'line')})" if more else "")


def _crop(text: str, limit: int = 200) -> str:
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
