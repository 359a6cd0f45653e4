"""What people see while an agent works, and what scripts read instead.

Names and contents come from files and models. They are escaped, so that none of them can move the
cursor, change a colour or hide a line.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import click
from langchain_core.messages import AIMessage, ToolMessage
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from langgraph_filesystem.nodes.answers import counted
from langgraph_filesystem.state.text import escaped

__all__ = ("JsonLines", "Listener", "Screen", "print_json")

_NAME = 11
"""The width of the column with the names of nodes."""
_NARROW = 40
_SHOWN_LINES = 40
"""Lines of a diff that are shown while the agent works; `lgfs diff` shows all."""
_QUIET = frozenset({"prepare", "router", "evict", "summarize"})
_DIFF_STYLES = {"+++": "bold", "---": "bold", "@@ ": "cyan", "+": "green", "-": "red", "\\": "dim"}
_KINDS = {"added": ("A", "green"), "changed": ("M", "yellow"), "deleted": ("D", "red")}
_PATHS = ("file_path", "path", "source", "pattern", "command", "description")


class Listener(Protocol):
    """Who is told what happens in a run."""

    def running(self, names: Sequence[str]) -> None:
        """These nodes are at work now."""

    def node(self, place: Sequence[str], name: str, update: Any) -> None:
        """A node has ended; `place` names the subagents that it is in."""

    def output(self, event: Mapping[str, Any]) -> None:
        """A node reports progress."""

    def ask(self, request: Mapping[str, Any]) -> list[dict[str, Any]] | None:
        """Return a decision about each call, or `None` to leave them waiting."""


def print_json(event: Mapping[str, Any]) -> None:
    """Print one object as one line, in ASCII."""
    print(json.dumps(event, default=str), flush=True)


class JsonLines:
    """One JSON object a line, for scripts."""

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


class Screen:
    """A terminal, or a pipe."""

    def __init__(self) -> None:
        self.console = Console(markup=False, highlight=False, emoji=False, soft_wrap=True)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self._calls: dict[str, Mapping[str, Any]] = {}
        """Arguments of the calls that the model made, by id."""
        self._announced: set[str] = set()
        """Commands whose output is on the screen."""
        self._line = ""
        """Output that has no end of line yet."""
        self._approves_all = False

    # Text

    def say(self, text: str, style: str = "") -> None:
        """Print lines of text."""
        for line in text.split("\n"):
            self.console.print(Text(escaped(line), style=style))

    def warn(self, text: str) -> None:
        """Print a sentence that should not be overlooked."""
        self.say(text, "yellow")

    def diff(self, text: str, limit: int | None = None) -> None:
        """Print a unified diff in colours."""
        lines = text.removesuffix("\n").split("\n")
        for line in lines[:limit]:
            style = next((s for start, s in _DIFF_STYLES.items() if line.startswith(start)), "")
            self.console.print(Text(escaped(line), style=style))
        if limit is not None and len(lines) > limit:
            self.say(f"[{counted(len(lines) - limit, 'more line')}]", "dim")

    def change(self, path: str, kind: str, added: int, removed: int, before: str = "  ") -> None:
        """Print one changed file as git does."""
        letter, style = _KINDS[kind]
        text = Text(before).append(f"{letter} ", style).append(escaped(path))
        if added:
            text.append(f"  +{added}", "green")
        if removed:
            text.append(f"{'' if added else ' '} -{removed}", "red")
        self.console.print(text)

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
        """Print one line about what a node did, and below it what it changed."""
        indent = "  " * len(place)
        messages = _messages(update)
        if not messages or name in _QUIET:
            self._row(indent, name, _plan(name, update), "dim")
            return
        for message in messages:
            if isinstance(message, AIMessage):
                self._model(indent, name, message)
            elif isinstance(message, ToolMessage):
                self._answer(indent, name, message)
            else:
                self._row(indent, name, _first_line(message.text), "dim")

    def output(self, event: Mapping[str, Any]) -> None:
        """Print the output of a command as it comes."""
        if event.get("event") != "output":
            return
        self._announce("", str(event.get("operation")), str(event.get("call")))
        *lines, self._line = (self._line + str(event.get("text"))).split("\n")
        for line in lines:
            self.say(f"  {line}", "dim")

    def _row(self, indent: str, name: str, text: str, style: str = "") -> None:
        width = 0 if self.console.width < _NARROW else _NAME
        row = Text(indent).append(f"{escaped(name):<{width}} ", "dim" if style == "dim" else "cyan")
        self.console.print(row.append(escaped(text), style))

    def _model(self, indent: str, name: str, message: AIMessage) -> None:
        self._calls.update({call["id"] or "": call["args"] for call in message.tool_calls})
        calls = [f"{call['name']} {_subject(call['args'])}".strip() for call in message.tool_calls]
        self._row(indent, name, _crop("calls " + ", ".join(calls)) if calls else "answers")
        if message.text.strip():
            self.say(f"\n{message.text.strip()}\n")

    def _answer(self, indent: str, name: str, message: ToolMessage) -> None:
        args = self._calls.get(message.tool_call_id, {})
        text = message.text
        if message.status == "error":
            self._row(indent, name, text, "red")
        elif name == "execute":
            self._announce(indent, name, message.tool_call_id)
            if self._line:
                self.say(f"  {self._line}", "dim")
                self._line = ""
            self.say(f"  {text.rpartition(chr(10))[2]}", "dim")
        elif name in ("write_file", "edit_file", "delete", "move", "task", "write_todos"):
            self._row(indent, name, _first_line(text))
            self._changed(name, args, message)
        else:
            lines = counted(len(text.splitlines()), "line")
            self._row(indent, name, f"{_crop(_subject(args))}  ({lines})")

    def _changed(self, name: str, args: Mapping[str, Any], message: ToolMessage) -> None:
        artifact = message.artifact if isinstance(message.artifact, dict) else {}
        if artifact.get("diff"):
            self.diff(str(artifact["diff"]), _SHOWN_LINES)
        elif name == "write_file" and isinstance(args.get("content"), str) and args["content"]:
            content = args["content"].removesuffix("\n").split("\n")
            self.diff("\n".join(f"+{line}" for line in content), _SHOWN_LINES)
        elif name == "write_todos":
            for todo in args.get("todos") or ():
                self.say(f"  {todo.get('status', '')}: {todo.get('content', '')}", "dim")

    def _announce(self, indent: str, name: str, call: str) -> None:
        if call not in self._announced:
            self._announced.add(call)
            self._row(indent, name, f"$ {_subject(self._calls.get(call, {}))}")

    # Approvals

    def ask(self, request: Mapping[str, Any]) -> list[dict[str, Any]] | None:
        """Show each call with what it would change, and ask what to do."""
        self.running(())
        decisions = []
        configs = request.get("review_configs") or [{}] * len(request["action_requests"])
        for action, config in zip(request["action_requests"], configs, strict=True):
            self.say("")
            self.diff(str(action.get("description") or action["name"]))
            allowed = config.get("allowed_decisions") or ["approve", "reject"]
            decision = self._decision(action, allowed)
            if decision is None:
                return None
            decisions.append(decision)
        return decisions

    def _decision(self, action: Mapping[str, Any], allowed: Sequence[str]) -> Any:
        if self._approves_all and "approve" in allowed:
            self.say("approved, as you said for all", "dim")
            return {"type": "approve"}
        choices = {"y": "approve", "n": "reject", "e": "edit"}
        offered = {key: kind for key, kind in choices.items() if kind in allowed}
        if "approve" in allowed:
            offered["a"] = "approve all"
        offered["s"] = "stop here"
        question = ", ".join(f"{key} = {kind}" for key, kind in offered.items())
        while True:
            try:
                key = self.console.input(Text(f"Run this? ({question}) ", "bold yellow")).strip()
            except (EOFError, KeyboardInterrupt):
                self.say("")
                return None
            kind = offered.get(key[:1].lower())
            if kind == "stop here":
                return None
            if kind == "approve all":
                self._approves_all, kind = True, "approve"
            if kind == "reject":
                return _rejected(self.console)
            if kind == "edit" and (args := self._edited(action["args"])) is None:
                continue
            if kind == "edit":
                return {"type": "edit", "edited_action": {"name": action["name"], "args": args}}
            if kind == "approve":
                return {"type": "approve"}

    def _edited(self, args: Any) -> Any:
        """Let the person change the arguments in their editor; `None` if they did not."""
        text = click.edit(json.dumps(args, indent=2, ensure_ascii=False), extension=".json")
        if text is None:
            return None
        try:
            return json.loads(text)
        except ValueError as error:
            self.warn(f"That is not JSON: {error}")
            return None


def _rejected(console: Console) -> dict[str, Any]:
    try:
        reason = console.input(Text("Why? (for the model; may be empty) ", "yellow")).strip()
    except (EOFError, KeyboardInterrupt):
        reason = ""
    return {"type": "reject", **({"message": reason} if reason else {})}


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


def _plan(name: str, update: Any) -> str:
    """Return what a node of the graph itself did."""
    values = update if isinstance(update, Mapping) else {}
    if "routes" in values:
        routes = [f"{r['node']} {r.get('path') or ''}".strip() for r in values.get("routes") or ()]
        return _crop("plans " + (", ".join(routes) or "nothing: no call is left to run"))
    count = len(_messages(update))
    if name == "evict" and count:
        return f"moves {counted(count, 'large message')} to files"
    if name == "prepare" and count:
        return "answers calls that were left open"
    return "done" if values else "nothing to do"


def _subject(args: Any) -> str:
    """Return the argument that says most about a call."""
    values = args if isinstance(args, Mapping) else {}
    return str(next((values[name] for name in _PATHS if values.get(name)), ""))


def _first_line(text: str) -> str:
    first, _, more = text.strip().partition("\n")
    return _crop(first) + (f"  (+{counted(more.count(chr(10)) + 1, 'line')})" if more else "")


def _crop(text: str, limit: int = 200) -> str:
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
