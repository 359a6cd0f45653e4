"""What was begun, and what it would leave: how a call that is run again knows its finished work.

A backend notes its intent under the key of a call before the effect. If the process dies and the
call is run again, the file on the disk says which of the two it is: as it was before, or as it
would be after.

Keys are `<scope>.<group>.<n>`: a thread, a message in it, a call of that message. Once a thread has
come to another message, the calls of the ones before it are answered and stored, so their notes go.
"""

import json
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, Protocol

__all__ = ("Change", "Journal", "Record", "Shelf", "verdict")

Record = dict[str, Any]
"""What is noted of a call: plain values."""


class Change(NamedTuple):
    """A path, and the digests of what is there before and after; `None` for nothing."""

    path: str
    before: str | None
    after: str | None


class Shelf(Protocol):
    """Where notes are kept: small values under names of letters, digits, `.` and `-`."""

    def get(self, directory: str, name: str) -> bytes | None: ...

    def put(self, directory: str, name: str, value: bytes) -> None:
        """Store a value whole or not at all."""

    def names(self, directory: str) -> list[str]: ...

    def remove(self, directory: str, name: str) -> None: ...


class Journal:
    """The notes of one backend."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._tidied = ""

    def begin(self, once: str, record: Record) -> None:
        """Note what is about to happen, and drop the notes that can't be asked for any more."""
        scope, name = _parts(once)
        group = name.partition(".")[0] + "."
        if self._tidied != scope + group:  # once a message: one may move thousands of files
            for other in self._shelf.names(scope):
                if not other.startswith(group):
                    self._shelf.remove(scope, other)
            self._tidied = scope + group
        self._shelf.put(scope, name, json.dumps(record).encode())

    def end(self, once: str, record: Record) -> None:
        """Note how it ended."""
        scope, name = _parts(once)
        self._shelf.put(scope, name, json.dumps(record).encode())

    def find(self, once: str) -> Record | None:
        """Return what was noted of a call, if anything."""
        scope, name = _parts(once)
        value = self._shelf.get(scope, name)
        return None if value is None else _read(value)


def verdict(
    changes: Sequence[Change], now: Sequence[str | None], later: Collection[Change] = ()
) -> bool | None:
    """Say whether what was begun is there: wholly, not at all (`None`), or nobody knows.

    What is there in part is done again, which leads to the same. `later` is what was begun after it
    in the same thread. The calls of a message come one after the other: one that found what this
    one was to leave proves that it was done, whatever is there now.
    """
    found = {(change.path, change.before) for change in later}
    pairs = [
        (change, digest)
        for change, digest in zip(changes, now, strict=True)
        if (change.path, change.after) not in found
    ]
    if all(digest == change.after for change, digest in pairs):
        return True
    if all(digest in (change.before, change.after) for change, digest in pairs):
        return None
    return False


def _parts(once: str) -> tuple[str, str]:
    scope, _, name = once.partition(".")
    return scope, name


def _read(value: bytes) -> Record | None:
    try:
        record = json.loads(value)
    except ValueError:  # half a record is none
        return None
    return record if isinstance(record, dict) else None
