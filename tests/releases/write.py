"""Write the database of a release, to be kept beside this file.

    python -m tests.releases.write

Run once for each release, before its tag; what is there already is never written again.
"""

import gzip
import sqlite3
import tempfile
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage

from langgraph_filesystem import create_filesystem_agent, open_sqlite
from tests.scripted import ScriptedModel, call, says

HERE = Path(__file__).parent
DONE: Any = {"configurable": {"thread_id": "done"}}
WAITING: Any = {"configurable": {"thread_id": "waiting"}}
SCRIPT = [
    says(
        call("write_file", "1", file_path="/notes/a.txt", content="one two\n"),
        call("write_file", "2", file_path="/notes/b.txt", content="gone soon\r\n"),
    ),
    says(
        call("edit_file", "3", file_path="/notes/a.txt", old_string="one", new_string="ONE"),
        call("edit_file", "4", file_path="/notes/a.txt", old_string="two", new_string="zwei €"),
        call("delete", "5", file_path="/notes/b.txt"),
    ),
    says(call("read_file", "6", file_path="/notes/a.txt")),
]
BLOB = {"content": "AAEC/w==", "encoding": "base64"}


def write(file: Path) -> None:
    """Keep a thread that is done, one that waits for a person, and an item of the store."""
    given: dict[str, Any] = {"messages": [HumanMessage("go", id="go")], "files": {"/blob": BLOB}}
    with open_sqlite(file) as (checkpointer, store):
        model = ScriptedModel(SCRIPT)
        agent = create_filesystem_agent(model, checkpointer=checkpointer, store=store)
        agent.invoke(given, DONE)
        careful = create_filesystem_agent(
            model, checkpointer=checkpointer, store=store, interrupt_before=["edit_file"]
        )
        careful.invoke(given, WAITING)
        store.put(("users", "ada"), "name", {"is": "Ada"})


def main() -> None:
    """Write the file of the version that is installed."""
    kept = HERE / f"{version('langgraph-filesystem')}.sqlite.gz"
    if kept.exists():
        raise SystemExit(f"{kept.name} is there already, and stays as it is.")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "agent.sqlite"
        write(file)
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.execute("VACUUM")
        kept.write_bytes(gzip.compress(file.read_bytes(), mtime=0))


if __name__ == "__main__":
    main()
