"""Threads and stores that outlive the process, in LangGraph's own tables.

`sqlite.py` and `postgres.py` open a database and give you LangGraph's checkpointer and store on
it; `prune.py` deletes the history of a thread. Every other program that uses LangGraph's savers can
read what is written here, and the reverse.
"""

from typing import Any, NamedTuple

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

__all__ = ("Persistence",)


class Persistence(NamedTuple):
    """The two arguments of `compile` that keep things: `checkpointer=` and `store=`."""

    checkpointer: BaseCheckpointSaver[Any]
    store: BaseStore
