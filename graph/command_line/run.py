"""`lgfs run` and `lgfs chat`: an agent works in a thread, and a person follows and steers it.

Each message is a run of the graph. Ctrl-C cancels the current step. Earlier steps stay in the
thread, and the next message continues from there.
"""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

from langgraph.types import Command, Interrupt

from langgraph_filesystem.command_line import changes
from langgraph_filesystem.command_line.database import aopen_database
from langgraph_filesystem.command_line.failure import (
    ERROR,
    INTERRUPTED,
    OK,
    WAITING,
    explained,
)
from langgraph_filesystem.command_line.screen import JsonLines, Screen, print_json
from langgraph_filesystem.command_line.session import (
    MODEL_VARIABLE,
    Graph,
    Record,
    Where,
    build_agent,
    load_chat_model,
    prepared_thread,
)
from langgraph_filesystem.state.errors import FilesystemError
from langgraph_filesystem.state.io import attempt
from langgraph_filesystem.state.text import escaped_message

__all__ = ("chat", "run")

_MODES: Any = ["tasks", "updates", "custom"]
_ENDINGS = {OK: "done", ERROR: "error", WAITING: "waiting", INTERRUPTED: "interrupted"}
_HELP = """\
Type a task, and end a line with \\ to go on in the next one. Ctrl-C stops a step, Ctrl-D ends.
/status  /diff  /log  /undo  /apply  /discard   as `lgfs` has them
/help  /quit"""


def run(where: Where, task: tuple[str, ...], **settings: Any) -> int:
    """Send one task, and return the exit code."""
    text = sys.stdin.read() if task == ("-",) else " ".join(task)
    record = prepared_thread(where, text, settings, continues=where.thread is not None)
    with _conversation(record, where._replace(thread=record.thread)) as conversation:
        code = conversation.send({"messages": [{"role": "user", "content": text}]})
        conversation.end(code)
    return code


def chat(where: Where, new: bool, **settings: Any) -> int:
    """Send what is typed, message by message."""
    record = prepared_thread(where, "", settings, continues=not new)
    where = where._replace(thread=record.thread)
    commands = {
        "/status": lambda: changes.status(where),
        "/diff": lambda: changes.diff(where, (), since=None, until=None, patch=False),
        "/log": lambda: changes.log(where),
        "/undo": lambda: changes.undo(where, (), steps=1, to=None),
        "/apply": lambda: changes.apply(where, (), force=False),
        "/discard": lambda: changes.discard(where, ()),
    }
    with _conversation(record, where) as conversation:
        code = conversation.send(None) if conversation.is_waiting() else OK
        for text in _typed(is_quiet=where.as_json):
            if text in ("/quit", "/exit"):
                break
            if command := commands.get(text):
                try:
                    command()
                except Exception as error:  # ends the command, not the chat
                    print(escaped_message(explained(error, where.database)))
            elif text in ("/help", "/"):
                print(_HELP)
            else:
                code = conversation.send({"messages": [{"role": "user", "content": text}]})
        conversation.end(code)
    return code


@contextlib.contextmanager
def _conversation(record: Record, where: Where) -> Iterator["_Conversation"]:
    model = load_chat_model(record.model)
    with asyncio.Runner() as runner:
        opening = aopen_database(where.database)
        opened = runner.run(opening.__aenter__())
        try:
            agent = build_agent(record, model, opened)
            yield _Conversation(runner, agent, record, where)
        finally:
            runner.run(opening.__aexit__(None, None, None))


class _Conversation:
    """Runs the agent in one thread, and reports to a person or a script."""

    def __init__(self, runner: asyncio.Runner, agent: Graph, record: Record, where: Where) -> None:
        self._runner, self._agent = runner, agent
        self._record, self._where = record, where
        self._screen = Screen(is_typed=not record.model)
        self._listener: JsonLines | Screen = JsonLines() if where.as_json else self._screen
        self._begin()

    def is_waiting(self) -> bool:
        """Say whether calls wait for approval."""
        state = self._runner.run(self._agent.aget_state(self._record.config))
        return bool(state.interrupts)

    def send(self, given: Any) -> int:
        """Run the agent until it has answered, and return the exit code."""
        while True:
            try:
                ended = self._runner.run(attempt(self._stream(given), "The run"))
            except KeyboardInterrupt:
                self._listener.running(())
                self._tell("interrupted", "Stopped. The thread keeps what was done until then.")
                return INTERRUPTED
            self._listener.running(())
            if isinstance(ended, FilesystemError):
                self._tell("error", f"{ended} The thread keeps what was done until then.")
                return ERROR
            if not ended:
                return OK
            replies = self._replies(ended)
            if replies is None:
                return WAITING
            given = Command(resume=replies)

    def end(self, code: int) -> None:
        """Print what has changed, and how to go on."""
        waiting = [] if self._record.direct else changes.waiting_changes(self._where)
        if self._where.as_json:
            rows = [change._asdict() for change in waiting]
            print_json({"event": "end", "status": _ENDINGS[code], "changes": rows})
        else:
            changes.summarize(self._screen, self._record, waiting)

    async def _stream(self, given: Any) -> list[Interrupt]:
        """Run the graph, report what happens, and return the interrupts."""
        asked: dict[str, Interrupt] = {}
        tasks: dict[str, str] = {}
        events: AsyncIterator[Any] = self._agent.astream(
            given, self._record.config, stream_mode=_MODES, subgraphs=True
        )
        async for place, mode, event in events:
            if mode == "custom":
                self._listener.output(event)
            elif mode == "tasks" and "input" in event:
                tasks[event["id"]] = event["name"]
            elif mode == "tasks":
                tasks.pop(event["id"], None)
            else:
                for node, update in event.items():
                    if node == "__interrupt__":
                        asked |= {one.id: one for one in update}
                    else:
                        inside = [name.partition(":")[0] for name in place]
                        self._listener.node(inside, node, update)
            if tasks:
                self._listener.running(list(tasks.values()))
        return list(asked.values())

    def _replies(self, asked: list[Interrupt]) -> dict[str, Any] | None:
        """Return the reply to each interrupt, or `None` if somebody has to answer later."""
        replies: dict[str, Any] = {}
        for one in asked:
            decisions = self._listener.ask(one.value)
            if decisions is None:
                self._tell(
                    "waiting",
                    f"Waiting for your approval: `lgfs chat --thread {self._record.thread}` asks "
                    "again.",
                )
                return None
            replies[one.id] = {"decisions": decisions}
        return replies

    def _begin(self) -> None:
        record = self._record
        if self._where.as_json:
            facts = {"thread": record.thread, "directory": record.directory, "model": record.model}
            print_json({"event": "thread", **facts, "direct": record.direct})
            return
        how = "writes to disk at once" if record.direct else "changes wait in the thread"
        self._screen.say(f"thread {record.thread} in {record.directory}: {how}", "bold")
        if not record.model:
            self._screen.say(
                "No model is chosen, so typed commands are carried out, such as `ls /` (`help` "
                f"lists them). Choose a model with --model provider:name or {MODEL_VARIABLE}.",
                "dim",
            )

    def _tell(self, event: str, sentence: str) -> None:
        if self._where.as_json:
            print_json({"event": event, "message": sentence})
        else:
            self._screen.warn(sentence)


def _typed(*, is_quiet: bool) -> Iterator[str]:
    """Yield what a person types, or the lines of a pipe."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  (gives `input` a history and keys to edit)
    prompt = "" if is_quiet or not sys.stdin.isatty() else "> "
    while True:
        try:
            lines = [input(prompt)]
            while lines[-1].endswith("\\"):
                lines[-1] = lines[-1][:-1]
                lines.append(input(prompt and ". "))
        except KeyboardInterrupt:
            print()
            Screen().say("Ctrl-D or /quit ends the chat.", "dim")
            continue
        except EOFError:
            if prompt:
                print()
            return
        if text := "\n".join(lines).strip():
            yield text
