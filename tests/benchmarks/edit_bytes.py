"""`edit_bytes`: what one small edit of a large file adds to the database."""

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.contestants import MIDDLEWARE, OURS, Contestant, peers
from tests.benchmarks.corpus import real_text, step, with_steps
from tests.benchmarks.rows import Row
from tests.benchmarks.runs import CONFIG, files_of, run
from tests.benchmarks.savers import database_bytes, open_saver
from tests.benchmarks.scripted import ScriptedModel, call

__all__ = ("measure", "title")

title = "edit_bytes: small edits of a file of 1 MB, one a turn"

_TARGET = 14.0
_PEER_SHARE = 20
"""The peer makes so many times fewer edits: each of them stores the whole file."""
_PATH = "/src/large.py"
Resume = Callable[[Contestant, Path, str], float]


def measure(
    rounds: int = 1,
    edits: int = 1_000,
    size: int = 1_000_000,
    *,
    with_peers: bool = True,
    in_fresh_process: bool = True,
) -> list[Row]:
    """Return the bytes, which are the same in each round, and what it takes to read them again."""
    resume = _resume_in_fresh_process if in_fresh_process else _resume
    rows = _measure(OURS, edits, size, resume, _TARGET)
    if with_peers and peers():
        fewer = max(1, edits // _PEER_SHARE)
        rows += _measure(MIDDLEWARE, fewer, size, resume)
    return rows


def _measure(
    contestant: Contestant,
    edits: int,
    size: int,
    resume: Resume,
    target: float | None = None,
) -> list[Row]:
    text = with_steps(real_text(0, size), edits)
    with TemporaryDirectory() as directory:
        database = Path(directory, "bench.db")
        with open_saver(database) as opened:
            run(contestant, opened, [call("write_file", file_path=_PATH, content=text)])
        before = database_bytes(database)
        with open_saver(database) as opened:
            changes = [
                call("edit_file", file_path=_PATH, old_string=step(n), new_string=step(n, "x"))
                for n in range(edits)
            ]
            seconds, state = run(contestant, opened, changes)
        after = text.replace("# [ ]", "# [x]")
        assert files_of(state)[_PATH] == after, contestant.name
        added = (database_bytes(database) - before) / edits / 1000
        resumed = resume(contestant, database, after)
    name = contestant.name
    return [
        Row("added by an edit", name, added, "kB", target=target),
        Row("time of a turn", name, seconds * 1000 / edits, "ms"),
        Row(f"get_state after {edits:,} edits", name, resumed, "ms"),
    ]


def _resume_in_fresh_process(contestant: Contestant, database: Path, expected: str) -> float:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_resume, contestant, database, expected).result()


def _resume(contestant: Contestant, database: Path, expected: str) -> float:
    """Return the milliseconds from opening the database to the state, imports not counted."""
    model = ScriptedModel(turns=[])
    contestant.build(model, None)
    start = time.perf_counter()
    with open_saver(database) as saver:
        state = contestant.build(model, saver).get_state(CONFIG)
    milliseconds = (time.perf_counter() - start) * 1000
    assert files_of(state.values)[_PATH] == expected, contestant.name
    return milliseconds
