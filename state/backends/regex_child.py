"""Regexes that might take for ever, matched in a child process with a time limit.

Python's `re` backtracks: a pattern such as `(a+)+$` can try one line in more ways than there is
time, holds the interpreter lock meanwhile and can't be interrupted. Such a pattern is matched in a
child process, which the kernel ends when its time is up, even if this process is gone by then.
"""

import contextlib
import json
import re
import signal
import subprocess
import sys
from typing import TypeAlias

__all__ = ("Hit", "RegexChild", "RegexFailed", "RegexTimeout", "might_backtrack", "rows_matching")

Hit: TypeAlias = tuple[int, int]
"""A row that matches, counted from 0, and the column at which the match begins."""

_PLAIN = re.compile(r"(?:[^\\*+?{(]|\\[^0-9])*", re.DOTALL)

_ROWS_AT_ONCE = 10_000
"""Reading the answer for a million rows would hold the interpreter lock for a second."""

_CHILD = """
import json, re, signal, sys
pattern, flags, seconds = json.loads(sys.stdin.readline())
signal.signal(signal.SIGALRM, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
signal.setitimer(signal.ITIMER_REAL, seconds)
search = re.compile(pattern, flags).search
for line in sys.stdin:
    found = ((row, search(text)) for row, text in enumerate(json.loads(line)))
    print(json.dumps([(row, match.start()) for row, match in found if match]), flush=True)
"""


class RegexTimeout(Exception):
    """The time of the child process was up."""


class RegexFailed(Exception):
    """The child process ended for another reason, such as a lack of memory."""


def might_backtrack(pattern: str) -> bool:
    """Say whether a pattern might take more than a moment for a line.

    The rule is simple and errs on the safe side: with no quantifier, no group and no backreference,
    a pattern looks at each character of a line about as often as it is long.
    """
    return _PLAIN.fullmatch(pattern) is None


def rows_matching(pattern: re.Pattern[str], rows: list[str]) -> list[Hit]:
    """Return the rows in which a pattern is found. Only for one that can't backtrack."""
    found = ((row, pattern.search(text)) for row, text in enumerate(rows))
    return [(row, match.start()) for row, match in found if match]


class RegexChild:
    """A child process that matches one pattern, until it is closed or its time is up."""

    def __init__(self, pattern: str, flags: int, seconds: float) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        # A timer of 0 seconds would never fire.
        self._send([pattern, flags, max(seconds, 0.001)])

    def rows_matching(self, rows: list[str]) -> list[Hit]:
        """Return the rows in which the pattern is found."""
        hits: list[Hit] = []
        for first in range(0, len(rows), _ROWS_AT_ONCE):
            found = self._matching(rows[first : first + _ROWS_AT_ONCE])
            hits.extend((first + row, column) for row, column in found)
        return hits

    def _matching(self, rows: list[str]) -> list[Hit]:
        self._send(rows)
        assert self._child.stdout is not None
        answer = self._child.stdout.readline()
        if answer.endswith("\n"):
            return [(row, column) for row, column in json.loads(answer)]
        status = self._child.wait()
        if status == -signal.SIGALRM:
            raise RegexTimeout
        raise RegexFailed(f"the process that matched it ended with status {status}")

    def close(self) -> None:
        """End the process."""
        self._child.kill()
        for pipe in (self._child.stdin, self._child.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        self._child.wait()

    def _send(self, value: object) -> None:
        assert self._child.stdin is not None
        # When it has ended, reading its answer tells how.
        with contextlib.suppress(BrokenPipeError):
            self._child.stdin.write(json.dumps(value) + "\n")
            self._child.stdin.flush()
