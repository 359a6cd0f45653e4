"""Where in a line a pattern matches: so that of a long line the part is shown that was looked for.

A regex that may backtrack is matched in a process of its own (`backtracking.py` says why). It is
started for the first line that needs it, and ended when the time is up or nobody needs it any more.
"""

import contextlib
import json
import re
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from functools import cached_property

from langgraph_filesystem.state.backtracking import may_backtrack

__all__ = ("Locator",)

_SECONDS = 2.0
"""How long a regex that may take for ever is looked for, in all lines together."""

_CHILD = """
import json, re, sys
query = json.loads(sys.stdin.readline())
compiled = re.compile(query["pattern"], re.IGNORECASE if query["ignore_case"] else 0)
for line in sys.stdin:
    found = compiled.search(json.loads(line))
    print(found.start() if found else -1, flush=True)
"""


class Locator:
    """Finds the first match in lines of which it is known that they match."""

    def __init__(
        self, pattern: str, *, regex: bool, ignore_case: bool, seconds: float = _SECONDS
    ) -> None:
        self._pattern = pattern if regex else re.escape(pattern)
        self._ignore_case = ignore_case
        self._literal = None if regex or ignore_case else pattern
        self._is_risky = regex and may_backtrack(pattern)
        self._seconds = seconds

    def locate(self, line: str) -> int:
        """Return where the match begins, or -1 if it is not found in time."""
        if self._literal is not None:
            return line.find(self._literal)
        if self._is_risky:
            return self._asked(line)
        found = self._compiled.search(line)
        return found.start() if found else -1

    def locate_all(self, lines: Sequence[str]) -> list[int]:
        """Return where the match of each line begins."""
        return [self.locate(line) for line in lines]

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._pattern, re.IGNORECASE if self._ignore_case else 0)

    @cached_property
    def _child(self) -> "subprocess.Popen[str]":
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        weakref.finalize(self, _end, child)
        query = {"pattern": self._pattern, "ignore_case": self._ignore_case}
        _send(child, query)
        return child

    def _asked(self, line: str) -> int:
        if self._seconds <= 0:
            return -1
        began = time.monotonic()
        late = threading.Timer(self._seconds, self._child.kill)
        late.start()
        try:
            _send(self._child, line)
            answer = self._child.stdout.readline() if self._child.stdout else ""
        finally:
            late.cancel()
            late.join()
        self._seconds -= time.monotonic() - began
        if not answer:  # it was ended, or ended itself: of the other lines nothing is known either
            self._seconds = 0
            return -1
        return int(answer)


def _send(child: "subprocess.Popen[str]", value: object) -> None:
    assert child.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        child.stdin.write(json.dumps(value) + "\n")
        child.stdin.flush()


def _end(child: "subprocess.Popen[str]") -> None:
    child.kill()
    closing: list[Callable[[], None]] = [p.close for p in (child.stdin, child.stdout) if p]
    for close in closing:
        with contextlib.suppress(BrokenPipeError):
            close()
    child.wait()
