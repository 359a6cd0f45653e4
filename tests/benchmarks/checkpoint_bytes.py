"""`checkpoint_bytes`: what a thread takes in the database, against what was said in it."""

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.messages import messages_to_dict

from tests.benchmarks.contestants import MIDDLEWARE, OURS, Contestant, peers
from tests.benchmarks.corpus import random_text, real_text, step, with_steps
from tests.benchmarks.rows import Row
from tests.benchmarks.runs import files_of, run
from tests.benchmarks.savers import database_bytes, open_saver
from tests.benchmarks.scripted import Call, call

__all__ = ("measure", "title")

title = "checkpoint_bytes: bytes in SQLite after 20 files of 100 kB and 100 small edits of one"

Text = Callable[[int, int], str]


def measure(
    rounds: int = 1,
    files: int = 20,
    size: int = 100_000,
    edits: int = 100,
    *,
    with_peers: bool = True,
) -> list[Row]:
    """Return the bytes; they are the same in each round, so there is one."""
    # `create_deep_agent` would summarize so long a conversation, which is another thing.
    chosen = [OURS, MIDDLEWARE] if with_peers and peers() else [OURS]
    kinds: tuple[tuple[str, Text], ...] = (("source code", real_text), ("random text", random_text))
    rows = []
    for what, text in kinds:
        written = {f"/src/module_{n:02}.py": text(n, size) for n in range(files)}
        for contestant in chosen:
            stored, said = _measure(contestant, dict(written), edits)
            rows.append(Row(what, contestant.name, stored / 1000, "kB", stored / said))
            if contestant is OURS:
                rows.append(Row(what, "the conversation itself", said / 1000, "kB"))
    return rows


def _measure(contestant: Contestant, files: dict[str, str], edits: int) -> tuple[int, int]:
    edited = next(iter(files))
    files[edited] = with_steps(files[edited], edits)
    with TemporaryDirectory() as directory:
        database = Path(directory, "bench.db")
        with open_saver(database) as saver:
            _, state = run(contestant, saver, _script(files, edited, edits))
        files[edited] = files[edited].replace("# [ ]", "# [x]")
        assert files_of(state) == files, contestant.name
        return database_bytes(database), _said(state["messages"])


def _script(files: dict[str, str], edited: str, edits: int) -> list[Call]:
    writes = [call("write_file", file_path=path, content=text) for path, text in files.items()]
    changes = [
        call("edit_file", file_path=edited, old_string=step(n), new_string=step(n, "x"))
        for n in range(edits)
    ]
    return [*writes, call("read_file", file_path=edited), *changes]


def _said(messages: list[Any]) -> int:
    """Return the bytes of the conversation, each message counted once."""
    return len(json.dumps(messages_to_dict(messages), ensure_ascii=False).encode())
