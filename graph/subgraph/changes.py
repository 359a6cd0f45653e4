"""What became of values since a graph was given them: updates that do the same to another copy."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AnyMessage, RemoveMessage

from langgraph_filesystem.state.files import (
    CONFLICTS,
    FileData,
    FileEdit,
    Files,
    FilesUpdate,
    apply_write,
    checked_update,
    merge_updates,
)
from langgraph_filesystem.state.paths import is_within

__all__ = (
    "SEEN",
    "ChangedFiles",
    "changed_files",
    "changed_messages",
    "changed_seen",
    "differences",
    "merge_changed",
    "whole_files",
)

SEEN = "filesystem_seen"
"""Where a parent that has no `seen` like ours keeps what its subgraphs know about files."""

Changes = dict[str, FileData | FileEdit | None]


class ChangedFiles(dict[str, FileData]):
    """Files that know how they came from those that were given.

    An edit is kept as the edit: two graphs that were given the same file and edited different parts
    of it don't undo each other's work.
    """

    __slots__ = ("_changes", "given")

    def __init__(
        self, files: Mapping[str, FileData], given: Files, changes: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(files)
        self.given = given
        self._changes: Changes = dict(changes or {})

    @property
    def changes(self) -> Changes:
        """Return the update that makes these files of those that were given."""
        # What came and went in between is nobody else's business: another graph may have made a
        # file of that name.
        changes: Changes = {
            path: write
            for path, write in self._changes.items()
            if write is not None or path in self.given
        }
        # An edit that did not fit may have given way to a later write of its file.
        for path, file in self.items():
            if path not in self.given and is_within(path, CONFLICTS):
                changes[path] = file
        return changes

    def written(self, updates: Iterable[Changes]) -> "ChangedFiles":
        """Return the files after these updates."""
        files = ChangedFiles(self, self.given, self._changes)
        for update in updates:
            for path, write in update.items():
                apply_write(files, path, write)
            files._changes = merge_updates(files._changes, update)
        return files


def merge_changed(left: ChangedFiles, writes: Sequence[FilesUpdate]) -> ChangedFiles:
    """Do as `merge_files`, and remember what was done; the same law."""
    return left.written([checked_update(write) for write in writes])


def changed_files(given: Files, files: Mapping[str, FileData]) -> ChangedFiles:
    """Return files whose way from those that were given is not known, only where they differ."""
    return ChangedFiles(files, given, differences(given, files))


def differences(given: Mapping[str, FileData], files: Mapping[str, FileData]) -> Changes:
    """Return whole files for what is other or new, and `None` for what is gone."""
    changes: Changes = {
        path: file
        for path, file in files.items()
        # Files that nobody touched are the same objects: to compare contents is seldom needed.
        if given.get(path) is not file and given.get(path) != file
    }
    changes.update(dict.fromkeys(path for path in given if path not in files))
    return changes


def whole_files(changes: Changes, files: Mapping[str, FileData]) -> Changes:
    """Return the changes without edits, for a reducer that knows none."""
    return {path: write and files.get(path) for path, write in changes.items()}


def changed_messages(
    given: Sequence[AnyMessage], messages: Sequence[AnyMessage]
) -> tuple[list[RemoveMessage], list[AnyMessage]]:
    """Return what to remove first, and then what to replace by id or to append."""
    pairs = list(zip(given, messages, strict=False))
    same = next((n for n, (one, other) in enumerate(pairs) if one.id != other.id), len(pairs))
    replaced = [new for old, new in pairs[:same] if new is not old and new != old]
    removed = [RemoveMessage(id=message.id or "") for message in given[same:]]
    return removed, [*replaced, *messages[same:]]


def changed_seen(given: Mapping[str, str], seen: Mapping[str, str]) -> dict[str, str | None]:
    """Return the digests that are other or new, and `None` for what was forgotten."""
    changes: dict[str, str | None] = {
        path: digest for path, digest in seen.items() if given.get(path) != digest
    }
    changes.update(dict.fromkeys(path for path in given if path not in seen))
    return changes
