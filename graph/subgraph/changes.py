"""What a graph changed in the values that it was given, as updates for the graph that gave them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AnyMessage, RemoveMessage

from langgraph_filesystem.nodes.content import SUMMARY
from langgraph_filesystem.state.files import (
    FileData,
    FileReplacement,
    Files,
    FilesUpdate,
    FileWrite,
    PlainWrite,
    apply_write,
    checked_update,
    is_edit,
    merge_updates,
    separate_conflicts,
    version_of,
)

__all__ = (
    "SEEN",
    "ChangedFiles",
    "changed_files",
    "changed_messages",
    "changed_seen",
    "differences",
    "merge_changed",
    "replacements",
    "whole_files",
    "with_given",
)

SEEN = "filesystem_seen"
"""The channel for the `seen` of subgraphs, in a parent that has no `seen` itself."""

Changes = dict[str, PlainWrite]


class ChangedFiles(dict[str, FileData]):
    """Files that know how they differ from the files that were given.

    An edit stays an edit, so two graphs that edit different parts of the same file don't undo each
    other's work.
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
        """Return the update that turns the given files into these."""
        # A file that was created and deleted again is left out: another graph may have created a
        # file with the same path.
        return {
            path: write
            for path, write in self._changes.items()
            if write is not None or path in self.given
        }

    def written(self, updates: Iterable[Mapping[str, Any]]) -> "ChangedFiles":
        """Return the files after these updates."""
        files = ChangedFiles(self, self.given, self._changes)
        for update in updates:
            for path, write in update.items():
                # A conflict of this graph is handed on as the file that it has become: it may be
                # resolved by now, or its edit replaced.
                done = separate_conflicts(path, files.get(path), write)
                for one, change in done.items():
                    apply_write(files, one, change)
                files._changes = merge_updates(files._changes, done)
        return files


def merge_changed(left: ChangedFiles, writes: Sequence[FilesUpdate]) -> ChangedFiles:
    """Do the same as `merge_files`, and remember the changes; the same law holds."""
    return left.written([checked_update(write) for write in writes])


def changed_files(given: Files, files: Mapping[str, FileData]) -> ChangedFiles:
    """Return files with their differences from the given ones, as whole files."""
    return ChangedFiles(files, given, differences(given, files))


def differences(given: Mapping[str, FileData], files: Mapping[str, FileData]) -> Changes:
    """Return changed and new files whole, and `None` for deleted files."""
    changes: Changes = {
        path: file
        for path, file in files.items()
        # Unchanged files are the same objects, so contents are seldom compared.
        if given.get(path) is not file and given.get(path) != file
    }
    changes.update(dict.fromkeys(path for path in given if path not in files))
    return changes


def whole_files(changes: Changes, files: Mapping[str, FileData]) -> Changes:
    """Return the changes with whole files instead of edits, for other reducers."""
    return {path: write and files.get(path) for path, write in changes.items()}


def replacements(changes: Changes, given: Files, call: str) -> dict[str, FileWrite]:
    """Return changes that apply only to the files that were given.

    An edit applies wherever it fits. What can't be applied is kept with the id of the call.
    """
    return {
        path: {**write, "edits": [{**edit, "call": call} for edit in write["edits"]]}
        if is_edit(write)
        else FileReplacement(file=write, replaces=version_of(given.get(path)), call=call)
        for path, write in changes.items()
    }


def changed_messages(
    given: Sequence[AnyMessage], messages: Sequence[AnyMessage]
) -> tuple[list[RemoveMessage], list[AnyMessage]]:
    """Return the messages to remove, and then those to replace by id or to append."""
    places = {message.id: place for place, message in enumerate(given)}
    kept = [places[message.id] for message in messages if message.id in places]
    known, new = messages[: len(kept)], messages[len(kept) :]
    if kept == sorted(kept) and not any(message.id in places for message in new):
        stays = set(kept)
        gone = [RemoveMessage(id=m.id or "") for n, m in enumerate(given) if n not in stays]
        pairs = zip((given[place] for place in kept), known, strict=True)
        return gone, [*(now for was, now in pairs if now is not was and now != was), *new]
    return _replaced_tail(given, messages)


def _replaced_tail(
    given: Sequence[AnyMessage], messages: Sequence[AnyMessage]
) -> tuple[list[RemoveMessage], list[AnyMessage]]:
    """Return changes of messages that have another order: new ones can only go to the end."""
    pairs = list(zip(given, messages, strict=False))
    same = next((n for n, (one, other) in enumerate(pairs) if one.id != other.id), len(pairs))
    replaced = [new for old, new in pairs[:same] if new is not old and new != old]
    removed = [RemoveMessage(id=message.id or "") for message in given[same:]]
    return removed, [*replaced, *messages[same:]]


def with_given(given: Sequence[AnyMessage], messages: Sequence[AnyMessage]) -> Sequence[AnyMessage]:
    """Return the messages with those given back that a summary has taken the place of.

    For a parent with the reducer `add_messages`, which raises when parallel branches remove the
    same message.
    """
    ids = {message.id for message in given}
    now = {m.id: m for m in messages if SUMMARY not in m.additional_kwargs}
    if len(now) == len(messages):
        return messages
    return [*(now.get(m.id, m) for m in given), *(m for m in messages if m.id not in ids)]


def changed_seen(given: Mapping[str, str], seen: Mapping[str, str]) -> dict[str, str | None]:
    """Return changed and new digests, and `None` for forgotten paths."""
    changes: dict[str, str | None] = {
        path: digest for path, digest in seen.items() if given.get(path) != digest
    }
    changes.update(dict.fromkeys(path for path in given if path not in seen))
    return changes
