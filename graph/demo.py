"""`make demo`: an agent works on files, and each node prints what it did.

It needs no key and no network: `CommandModel` is the model. The thread is in a SQLite file, so the
next run continues where this one ended.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph

from langgraph_filesystem.agent import create_filesystem_agent
from langgraph_filesystem.command_model import CommandModel
from langgraph_filesystem.persistence.sqlite import open_sqlite

__all__ = ("main",)

_FIRST = """\
write_file /site/index.html "<h1>Todo</h1>\\n<p>nothing yet</p>\\n"
write_file /site/style.css "h1 { color: teal }\\n"
write_file /notes.md "# Plan\\n- draft the page\\n- choose colours\\n- publish\\n"
ls /

grep color output_mode=content
edit_file /notes.md "- draft the page" "- [x] draft the page"
edit_file /notes.md "- choose colours" "- [x] choose colours"
edit_file /site/index.html "nothing yet" "three things, two of them done"
read_file /notes.md

move /site /public
glob *.css
read_file /public/index.html
"""

_NEXT = """\
read_file /notes.md
edit_file /notes.md "# Plan\\n" "# Plan\\n- visit {visit}: still here\\n"
grep visit path=/notes.md output_mode=content
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the task, or the commands from the command line, in the thread of the database."""
    options = _options(arguments)
    config: RunnableConfig = {"configurable": {"thread_id": options.thread}}
    with open_sqlite(options.db) as (checkpointer, store):
        agent = create_filesystem_agent(CommandModel(), checkpointer=checkpointer, store=store)
        visits = _visits(agent, config)
        print(f"thread {options.thread!r} in {options.db}: visit {visits + 1}")
        typed = "\n".join(options.commands)
        task = typed or (_NEXT.format(visit=visits + 1) if visits else _FIRST)
        print(f"\nthe task, as typed:\n\n{_indented(task.strip())}\n\nthe nodes, as they fire:\n")
        messages = {"messages": [{"role": "user", "content": task}]}
        for chunk in agent.stream(messages, config, stream_mode="updates"):
            for node, update in chunk.items():
                print(f"  {node:<12}{_summary(node, update or {})}")
        state = agent.get_state(config).values
    print(f"\nthe answer:\n\n{_indented(state['messages'][-1].text)}")
    print("\nthe files of the thread:\n")
    print("\n".join(_tree(state.get("files", {}))) or "  none")
    print("\nRun it again: it continues in the same thread.")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="langgraph_filesystem.demo", description=__doc__)
    parser.add_argument("commands", nargs="*", help="commands to run, such as 'ls /'")
    parser.add_argument("--db", default="demo.sqlite", help="the database (default: %(default)s)")
    parser.add_argument("--thread", default="demo", help="the thread (default: %(default)s)")
    return parser.parse_args(arguments)


def _visits(agent: CompiledStateGraph[Any, Any, Any, Any], config: RunnableConfig) -> int:
    messages = agent.get_state(config).values.get("messages", [])
    return sum(message.type == "human" for message in messages)


def _summary(node: str, update: dict[str, Any]) -> str:
    """Return a short description of what a node did."""
    if node == "router":
        routes = [f"{r['node']} {r['path']} @ {r['mount']}" for r in update.get("routes", ())]
        return "plans " + ("; ".join(routes) or "nothing: every call was refused")
    messages = update.get("messages", [])
    if not messages:
        return "nothing to do"
    if isinstance(messages[0], AIMessage):
        calls = [call["name"] for call in messages[0].tool_calls]
        return f"calls {', '.join(calls)}" if calls else "answers, and the run ends"
    return f"\n{'':<14}".join(_first_lines(messages))


def _first_lines(messages: list[Any]) -> Iterator[str]:
    for message in messages:
        mark = "error: " if getattr(message, "status", "") == "error" else ""
        lines = str(message.content).split("\n")
        more = f"  (+{len(lines) - 1} lines)" if len(lines) > 1 else ""
        yield f"{mark}{lines[0].strip()[:90]}{more}"


def _tree(files: dict[str, Any]) -> Iterator[str]:
    """Yield the files as an indented tree."""
    shown: set[str] = set()
    for path in sorted(files):
        *above, name = path.strip("/").split("/")
        for depth, directory in enumerate(above):
            if (place := "/".join(above[: depth + 1])) not in shown:
                shown.add(place)
                yield f"  {'  ' * depth}{directory}/"
        size = len(files[path]["content"])
        yield f"  {'  ' * len(above)}{name}  ({size} characters)"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" if line else "" for line in text.split("\n"))


if __name__ == "__main__":
    sys.exit(main())
