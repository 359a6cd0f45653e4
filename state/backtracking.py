"""Regexes that may take for ever, matched where they can be stopped.

Python's `re` tries a line in all the ways there are, holds the interpreter meanwhile and can't be
interrupted. So a pattern that may backtrack is matched in a process of its own, which is ended when
its time is up; what it had answered until then counts.
"""

import contextlib
import json
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from re import _constants as opcodes  # type: ignore[attr-defined]  # the parse tree has no public API
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, Generic, TypeVar

from langgraph_filesystem.state.errors import FilesystemError, PatternRefused

__all__ = ("Unfinished", "in_process", "may_backtrack")

K = TypeVar("K")

_AHEAD = 4
"""How many texts the process is handed before it has answered the first."""

_CHILD = """
import json, re, sys
query = json.loads(sys.stdin.readline())
compiled = re.compile(query["pattern"], re.IGNORECASE if query["ignore_case"] else 0)
for line in sys.stdin:
    rows = json.loads(line).split("\\n")
    if rows[-1] == "":
        rows.pop()
    print(json.dumps([n for n, row in enumerate(rows, 1) if compiled.search(row)]), flush=True)
"""


def in_process(
    files: Iterable[tuple[K, str]],
    pattern: str,
    ignore_case: bool,
    seconds: float,
    *,
    shown: str | None = None,
) -> Iterator[tuple[K, str, list[int]]]:
    """Yield the texts that match, with their lines, matched by a process that can be stopped.

    Errors name the pattern, or what is `shown` in its place.
    """
    command = [sys.executable, "-I", "-S", "-c", _CHILD]
    child = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    late = threading.Timer(seconds, child.kill)
    late.start()
    feed = _Feed(files)
    feeder = threading.Thread(target=feed.run, args=(child, pattern, ignore_case))
    feeder.start()
    answered = 0
    try:
        for answer in child.stdout or ():
            key, text = feed.answered()
            answered += 1
            if found := json.loads(answer):
                yield key, text, found
    finally:
        late.cancel()
        child.kill()
        feed.stop()
        feeder.join()
        late.join()
        status = child.wait()
        if child.stdout:
            child.stdout.close()
    if feed.failure:
        raise feed.failure
    if not feed.is_done:
        raise _unfinished(shown or pattern, status, feed.place(), answered, seconds)


class _Feed(Generic[K]):
    """Texts on their way to a process, one by one: all at once would be in memory twice."""

    def __init__(self, files: Iterable[tuple[K, str]]) -> None:
        self.failure: Exception | None = None
        """Why there is nothing more to be had of the files."""
        self._files = files
        self._pending: deque[tuple[K, str]] = deque()
        """What the process has, and has not answered."""
        self._last: K | None = None
        self._was_given_all = False
        self._room = threading.Semaphore(_AHEAD)
        self._stopped = False

    def run(self, child: "subprocess.Popen[str]", pattern: str, ignore_case: bool) -> None:
        """Hand over what there is, until somebody stops it or the process ends."""
        assert child.stdin is not None
        with contextlib.suppress(BrokenPipeError), child.stdin as pipe:
            asked = {"pattern": pattern, "ignore_case": ignore_case}
            pipe.write(json.dumps(asked) + "\n")
            for item in self._taken():
                self._last = item[0]
                self._room.acquire()
                if self._stopped:
                    return
                self._pending.append(item)
                pipe.write(json.dumps(item[1]) + "\n")
                pipe.flush()
            self._was_given_all = True

    def answered(self) -> tuple[K, str]:
        """Take the first text off the list."""
        self._room.release()
        return self._pending.popleft()

    @property
    def is_done(self) -> bool:
        """Say whether every text was answered."""
        return self._was_given_all and not self._pending

    def place(self) -> str:
        """Return what is being matched."""
        return str(self._pending[0][0] if self._pending else self._last)

    def stop(self) -> None:
        """Let `run` come to its end."""
        self._stopped = True
        self._room.release()

    def _taken(self) -> Iterator[tuple[K, str]]:
        try:
            yield from self._files
        except (FilesystemError, OSError, ValueError) as error:
            self.failure = error  # of use to who reads, not to this thread


class Unfinished(Exception):
    """The search ended before it had looked at every file, and has some results."""


def _unfinished(pattern: str, status: int, place: str, answered: int, seconds: float) -> Exception:
    if status != -signal.SIGKILL:
        # Half of an answer would look like a whole one.
        return PatternRefused(
            f"The regex {pattern[:100]!r} could not be matched: the process that tried ended "
            f"with status {status}. Write a simpler one."
        )
    if answered:
        return Unfinished(
            f"The search stopped after {seconds:.0f} s, at {place}; search a smaller directory, "
            "or write the regex without nested repetitions."
        )
    return PatternRefused(
        f"The regex {pattern[:100]!r} took more than {seconds:.0f} s (at {place}). "
        "Write it without nested repetitions, or search a smaller directory."
    )


def may_backtrack(pattern: str) -> bool:
    """Say whether a pattern can try a line in more than a few ways.

    That takes a repetition, a reference back, or alternatives in more than one place: fifty times
    `(a|aa)` in a row try a line in as many ways as `(a+)+` does.
    """
    risky = {
        opcodes.MAX_REPEAT,
        opcodes.MIN_REPEAT,
        opcodes.POSSESSIVE_REPEAT,
        opcodes.GROUPREF,
        opcodes.GROUPREF_EXISTS,
    }

    def ways(node: Any) -> int:
        if isinstance(node, parser.SubPattern):
            own = sum(2 * (op in risky) + (op is opcodes.BRANCH) for op, _ in node.data)
            return own + sum(ways(args) for _, args in node.data)
        return sum(map(ways, node)) if isinstance(node, list | tuple) else 0

    return ways(parser.parse(pattern)) > 1
