"""`turns`: milliseconds per turn of an agent that edits a small file again and again."""

from collections.abc import Callable, Sequence
from statistics import median

from tests.benchmarks.contestants import (
    BARE,
    DEEP,
    MIDDLEWARE,
    OURS,
    Contestant,
    peers,
    with_savers,
)
from tests.benchmarks.rounds import median_ratio, samples
from tests.benchmarks.rows import Row
from tests.benchmarks.runs import files_of, timed_run
from tests.benchmarks.savers import Opener
from tests.benchmarks.scripted import Call, call

__all__ = ("measure", "title")

title = "turns: milliseconds per turn, each turn one edit of a small file in state"

_PATH = "/notes/plan.md"
_TARGETS = {
    "SQLite": {MIDDLEWARE: 0.65, DEEP: 0.65, BARE: 1.3},
    "no saver": {MIDDLEWARE: 0.45, DEEP: 0.4, BARE: 1.3},
}


def measure(
    rounds: int = 5, turns: int = 100, contestants: Sequence[Contestant] | None = None
) -> list[Row]:
    """Return what a turn takes, with no saver and on SQLite."""
    chosen = [OURS, *peers(), BARE] if contestants is None else contestants
    measures = {
        (contestant, saver): _measure(contestant, opener, turns)
        for contestant in chosen
        for saver, opener in with_savers().items()
    }
    found = samples(measures, rounds)
    return [
        _row(saver, contestant, value, found.get((OURS, saver)))
        for (contestant, saver), value in sorted(found.items(), key=lambda item: item[0][1])
    ]


def _row(saver: str, contestant: Contestant, taken: list[float], ours: list[float] | None) -> Row:
    value = median(taken)
    if contestant is OURS or ours is None:
        return Row(saver, contestant.name, value, "ms")
    ratio = median_ratio(ours, taken)
    return Row(saver, contestant.name, value, "ms", ratio, _TARGETS[saver][contestant])


def _measure(contestant: Contestant, opener: Opener, turns: int) -> Callable[[], float]:
    before = "".join(f"- [ ] step {number:03}\n" for number in range(turns))
    script = _script(turns)

    def measured() -> float:
        milliseconds, state = timed_run(contestant, opener, {_PATH: before}, script)
        assert files_of(state)[_PATH] == before.replace("[ ]", "[x]"), contestant.name
        return milliseconds

    return measured


def _script(turns: int) -> list[Call]:
    edits = [
        call(
            "edit_file",
            file_path=_PATH,
            old_string=f"[ ] step {number:03}",
            new_string=f"[x] step {number:03}",
        )
        for number in range(turns)
    ]
    return [call("read_file", file_path=_PATH), *edits]
