"""The `overlay` channel: what a thread changed in an overlay, whose lower backend is only read.

The content of a changed file is in `files`; the entry here says which lower file it replaces.
Whatever its kind, an entry hides what the lower backend has at its path and inside it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypeAlias, get_args

from typing_extensions import TypedDict

from langgraph_filesystem.state.edits import Edit
from langgraph_filesystem.state.errors import InvalidFiles, PathRefused
from langgraph_filesystem.state.paths import normalize_path

__all__ = (
    "Entries",
    "EntriesUpdate",
    "EntryKind",
    "OverlayEntry",
    "changed_entries",
    "checked_entries",
    "combined_entries",
    "merge_overlay",
)

EntryKind: TypeAlias = Literal["file", "link", "directory", "deleted"]


class OverlayEntry(TypedDict):
    """One change of a tree."""

    kind: EntryKind
    base: NotRequired[str]
    """What was below when it was changed first, by its fingerprint; left out for nothing."""
    mode: NotRequired[int]
    """The permissions, where they differ from what is below, or from those of a new file."""
    target: NotRequired[str]
    """Of a link: where it leads."""
    edits: NotRequired[list[Edit]]
    """Of a file: what turns the base into it; left out if it was written as a whole."""
    result: NotRequired[str]
    """With `edits`: the digest of the file after them. A client may have written it since."""


Entries: TypeAlias = dict[str, OverlayEntry]
EntriesUpdate: TypeAlias = Mapping[str, OverlayEntry | None]


def merge_overlay(left: Entries, writes: Sequence[EntriesUpdate | None]) -> Entries:
    """Apply writes to the entries, oldest first, and return the new entries.

    `None` removes an entry. One with `edits` adds these to an entry that has some, as parallel
    branches edit one file; any other replaces what is there. The law is that of `merge_files`.
    """
    entries = dict(left)
    for write in writes:
        for path, entry in checked_entries(write).items():
            if entry is None:
                entries.pop(path, None)
            else:
                entries[path] = _merged(entries[path], entry) if path in entries else entry
    return entries


def combined_entries(one: EntriesUpdate, other: EntriesUpdate) -> dict[str, OverlayEntry | None]:
    """Return one update with the effect of two updates one after the other."""
    combined = dict(one)
    for path, entry in other.items():
        is_merged = entry is not None and path in combined
        combined[path] = _merged(combined[path], entry) if is_merged and entry else entry
    return combined


def changed_entries(given: Entries, entries: Entries) -> dict[str, OverlayEntry | None]:
    """Return the update that turns given entries into these, with new edits only."""
    changes: dict[str, OverlayEntry | None] = {
        path: _since(given.get(path), entry)
        for path, entry in entries.items()
        if given.get(path) != entry
    }
    changes.update(dict.fromkeys(path for path in given if path not in entries))
    return changes


def checked_entries(update: object) -> dict[str, OverlayEntry | None]:
    """Return an update with normalized paths, or raise `InvalidFiles`."""
    if update is None:
        return {}
    if not isinstance(update, Mapping):
        raise InvalidFiles(f"`overlay` must be a mapping of paths, not {type(update).__name__}.")
    checked: dict[str, OverlayEntry | None] = {}
    for path, entry in update.items():
        try:
            normal = normalize_path(path)
        except PathRefused as refused:
            raise InvalidFiles(f"`overlay`: {refused}") from None
        if normal == "/":
            raise InvalidFiles(f"`overlay`: {path!r} is the root, which can't be changed.")
        if entry is not None and not _is_entry(entry):
            raise InvalidFiles(f"`overlay`: {normal} is not an entry: {str(entry)[:200]}")
        checked[normal] = entry
    return checked


def _merged(old: OverlayEntry | None, new: OverlayEntry) -> OverlayEntry:
    """Return an entry after another one for the same path."""
    if "edits" not in new:
        return new
    if old is None or old["kind"] != "file":
        # The edits were made to another base than the one that is there now.
        return _whole(new)
    if "edits" not in old:
        return old
    return {**new, **_whole(old), "edits": [*old["edits"], *new["edits"]]}


def _since(old: OverlayEntry | None, new: OverlayEntry) -> OverlayEntry:
    """Return what adds to an old entry what a new one has more."""
    if "edits" not in new:
        return new
    # Other branches may edit the file too.
    new = {**_whole(new), "edits": new["edits"]}
    if old is None:
        return new
    before = old.get("edits", [])
    is_continued = "edits" in old and new["edits"][: len(before)] == before
    return {**new, "edits": new["edits"][len(before) :]} if is_continued else _whole(new)


def _whole(entry: OverlayEntry) -> OverlayEntry:
    whole = entry.copy()
    whole.pop("edits", None)
    whole.pop("result", None)
    return whole


_TEXTS = ("base", "target", "result")


def _is_entry(entry: Any) -> bool:
    if not isinstance(entry, Mapping) or entry.get("kind") not in get_args(EntryKind):
        return False
    has_texts = all(isinstance(entry.get(key, ""), str) for key in _TEXTS)
    is_link = (entry["kind"] == "link") == ("target" in entry)
    edits = entry.get("edits", [])
    return has_texts and is_link and isinstance(entry.get("mode", 0), int) and _are_edits(edits)


def _are_edits(edits: Any) -> bool:
    return isinstance(edits, list) and all(
        isinstance(edit, Mapping) and all(isinstance(edit.get(k), str) for k in ("old", "new"))
        for edit in edits
    )
