"""The journal: how a call that is made again after a crash recognises its own finished work.

A backend notes its intent under the key of a call before the effect. If the process dies and the
call is made again, the file itself tells what happened: it is as it was before, or as it would be
after.

Keys are `<scope>.<group>.<n>`: a thread, a message in it, a call of that message. When a thread
has come to another message, the calls of earlier ones are answered and stored in a checkpoint, so
their records are removed.
"""

import json
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, Protocol

__all__ = (
    "Change",
    "Journal",
    "Record",
    "Shelf",
    "changes_of",
    "parse_record",
    "split_key",
    "verdict",
)

Record = dict[str, Any]
"""What is noted of a call: plain values."""


class Change(NamedTuple):
    """A path, and the digests of its content before and after; `None` for no file."""

    path: str
    before: str | None
    after: str | None


class Shelf(Protocol):
    """Where records are kept: small values under names of letters, digits, `.` and `-`."""

    def get(self, directory: str, name: str) -> bytes | None: ...

    def put(self, directory: str, name: str, value: bytes) -> None:
        """Store a value whole or not at all."""

    def names(self, directory: str) -> list[str]: ...

    def remove(self, directory: str, name: str) -> None: ...


class Journal:
    """The records of one backend."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._tidied = ""

    def begin(self, once: str, record: Record) -> None:
        """Note what is about to happen, and remove records that nobody will ask for any more."""
        scope, name = split_key(once)
        group = name.partition(".")[0] + "."
        if self._tidied != scope + group:  # once a message, which may move thousands of files
            for other in self._shelf.names(scope):
                if not other.startswith(group):
                    self._shelf.remove(scope, other)
            self._tidied = scope + group
        self._shelf.put(scope, name, json.dumps(record).encode())

    def end(self, once: str, record: Record) -> None:
        """Note how it ended."""
        scope, name = split_key(once)
        self._shelf.put(scope, name, json.dumps(record).encode())

    def find(self, once: str) -> Record | None:
        """Return the record of a call, if there is one."""
        value = self._shelf.get(*split_key(once))
        return None if value is None else parse_record(value)


def verdict(
    changes: Sequence[Change], now: Sequence[str | None], later: Collection[Change] = ()
) -> bool | None:
    """Say whether changes were made: `True`, `False` if nobody knows, `None` if not or in part.

    Changes that were made in part are made again, which leads to the same result. `later` has the
    changes that were begun after them in the same thread. The calls of a message are made one
    after the other: one that found what these were to leave proves that they were made, whatever
    is there now.
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


def split_key(once: str) -> tuple[str, str]:
    """Return the scope of a key, and the rest."""
    scope, _, name = once.partition(".")
    return scope, name


def parse_record(value: bytes) -> Record | None:
    """Return a stored record; an incomplete one counts as missing."""
    try:
        record = json.loads(value)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def changes_of(record: Record) -> list[Change]:
    """Return the changes that a record is about."""
    return [Change(*change) for change in record.get("changes", ())]
