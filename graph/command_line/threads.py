"""Threads of a directory."""

from dataclasses import asdict

from langgraph_filesystem.command_line.changes import Where
from langgraph_filesystem.command_line.database import open_database
from langgraph_filesystem.command_line.failure import OK
from langgraph_filesystem.command_line.screen import Screen, print_json
from langgraph_filesystem.command_line.session import known_threads

__all__ = ("threads",)


def threads(where: Where, *, everywhere: bool) -> int:
    """List the threads of the directory, or all."""
    with open_database(where.database) as (_, store):
        records = known_threads(store, **({} if everywhere else {"directory": where.root}))
    screen = Screen()
    for record in records:
        if where.as_json:
            print_json(asdict(record))
            continue
        first, _, _ = record.task.strip().partition("\n")
        screen.say(f"{record.thread}  {record.used[:16].replace('T', ' ')}  {first[:60]}")
        if everywhere:
            screen.say(f"  {record.directory}", "dim")
    if not records and not where.as_json:
        screen.say(f"No agent has worked in {where.root} yet.")
    return OK
