"""Directories in which no file was too large to be searched, a short while ago.

To ask for the size of every file is a good part of the work of a search. Where a whole search has
just seen that none is over the limit, the next ones don't ask: they are held to little memory and
to not much more than the time of that search instead, and what they find is looked at closely
(`candidates.py`).
"""

import threading
import time
from collections import OrderedDict
from typing import NamedTuple

__all__ = ("Sizes",)

_SECONDS = 300.0
"""How long what was seen counts."""
_MOST = 64
"""Directories that are remembered: the last ones."""


class _Seen(NamedTuple):
    seconds: float
    until: float


class Sizes:
    """What searches have seen, by directory: its path, with a `/` at the end.

    For any number of threads.
    """

    def __init__(self, lasting: float = _SECONDS) -> None:
        self._lasting = lasting
        self._seen: OrderedDict[str, _Seen] = OrderedDict()
        self._lock = threading.Lock()

    def seconds(self, directory: str) -> float | None:
        """Return how long the search took that saw no large file in it, or `None` if none has."""
        now = time.monotonic()
        with self._lock:
            above = [path for path in self._seen if directory.startswith(path)]
            known = [self._seen[path] for path in sorted(above, key=len, reverse=True)]
        return next((seen.seconds for seen in known if now < seen.until), None)

    def note(self, directory: str, seconds: float) -> None:
        """Remember that a search of so many seconds has just seen no large file in it."""
        with self._lock:
            self._seen[directory] = _Seen(seconds, time.monotonic() + self._lasting)
            self._seen.move_to_end(directory)
            if len(self._seen) > _MOST:
                self._seen.popitem(last=False)

    def forget(self, path: str) -> None:
        """Count on nothing any more that was seen of the directories above a path."""
        with self._lock:
            for directory in [known for known in self._seen if path.startswith(known)]:
                del self._seen[directory]
