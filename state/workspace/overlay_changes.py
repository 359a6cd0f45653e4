"""What a thread changed in one overlay mount: the upper layer of the overlay, in the state."""

import base64
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Literal

from langgraph_filesystem.state.backends.file_store import Entry
from langgraph_filesystem.state.backends.protocol import FileInfo
from langgraph_filesystem.state.backends.text_files import is_binary, is_text, size_of
from langgraph_filesystem.state.entries import Entries, OverlayEntry
from langgraph_filesystem.state.errors import Unsupported
from langgraph_filesystem.state.files import (
    FileData,
    FileEdit,
    ThreadFiles,
    current_time,
    file_bytes,
)
from langgraph_filesystem.state.paths import ancestors, is_within

__all__ = ("LOWER", "OverlayChanges", "binary_or_text")

LOWER = "/.lower"
"""Prefix for the files of a lower backend that keeps them in the state as well."""


class OverlayChanges:
    """The files and the entries of a thread under one prefix."""

    def __init__(self, thread: ThreadFiles | None, prefix: str) -> None:
        self._given = thread
        self._prefix = prefix.rstrip("/")

    def file(self, path: str) -> FileData | None:
        """Return a file of the thread."""
        return self._thread.files.get(self._prefix + path)

    def entry(self, path: str) -> OverlayEntry | None:
        """Return the entry of a path itself, if it has one."""
        return self._entries.get(self._prefix + path)

    def kind(self, path: str) -> Literal["file", "directory", "link"] | None:
        """Return what the thread itself has at a path."""
        if self.file(path) is not None:
            return "file"
        entry = self.entry(path)
        if entry is not None and entry["kind"] in ("link", "directory"):
            return "link" if entry["kind"] == "link" else "directory"
        return "directory" if next(self.below(path), None) is not None else None

    def below(self, path: str) -> Iterator[str]:
        """Yield the paths of files, links and directories of the thread inside a directory."""
        start, skip = (self._prefix + path).rstrip("/") + "/", len(self._prefix)
        listed = (k for k, entry in self._entries.items() if entry["kind"] in ("link", "directory"))
        for key in chain(self._thread.files, listed):
            if key.startswith(start) and not self.is_reserved(key[skip:]):
                yield key[skip:]

    def changed(self) -> list[str]:
        """Return the paths of all changes, including deletions, parents first."""
        keys = {*self._thread.files, *self._entries}
        start, skip = f"{self._prefix}/", len(self._prefix)
        paths = (k[skip:] for k in keys if k.startswith(start))
        return sorted((path for path in paths if not self.is_reserved(path)), key=_parts)

    def is_reserved(self, path: str) -> bool:
        """Say whether the key of a path is reserved for the files of a lower backend."""
        return not self._prefix and is_within(path, LOWER)

    def hides(self, path: str) -> bool:
        """Say whether a change of the thread hides the lower entry at a path."""
        return self.top_hidden(path) is not None

    def top_hidden(self, path: str) -> str | None:
        """Return the topmost part of a path that the thread has changed: itself or a parent."""
        found = None
        for place in (path, *ancestors(path)):
            key = self._prefix + place
            if place != "/" and (key in self._entries or key in self._thread.files):
                found = place
        return found

    def keeps_mode(self, path: str) -> bool:
        """Say whether a file without a mode has that of the lower file: no parent of it is new."""
        return self.top_hidden(path) in (None, path)

    def first_link(self, path: str) -> tuple[str, str] | None:
        """Return the first link of the thread on a path, and its target."""
        for place in [path, *ancestors(path)][::-1]:
            entry = self.entry(place)
            if entry is not None and entry["kind"] == "link" and self.file(place) is None:
                return place, entry["target"]
        return None

    def hides_inside(self, path: str) -> bool:
        """Say whether something is changed at a path or inside it."""
        place = self._prefix + path
        keys = chain(self._entries, self._thread.files)
        return any(is_within(key, place.rstrip("/") or "/") for key in keys)

    def change(
        self,
        files: Mapping[str, FileData | FileEdit | None],
        entries: Mapping[str, OverlayEntry | None],
    ) -> None:
        """Write files and entries."""
        self._thread.change({self._prefix + path: write for path, write in files.items()})
        self._thread.change_overlay({self._prefix + path: one for path, one in entries.items()})

    def remove(self, path: str, entry: OverlayEntry | None) -> None:
        """Remove all that the thread has at a path or inside it, and put an entry in its place."""
        place = self._prefix + path
        gone = {key: None for key in self._entries if is_within(key, place)}
        self._thread.change({key: None for key in self._thread.files if is_within(key, place)})
        self._thread.change_overlay({**gone, place: entry} if entry or place in gone else gone)

    def info(self, path: str, *, is_dir: bool = False) -> FileInfo:
        """Return a file, a directory or a link as lists show it."""
        file, entry = self.file(path), self.entry(path)
        if file is None or is_dir:
            is_link = entry is not None and entry["kind"] == "link"
            more: FileInfo = {"path": path, "is_dir": is_dir}
            return {**more, "is_link": True} if is_link else more
        info = FileInfo(path=path, is_dir=False, size=size_of(file))
        return {**info, "modified_at": file["modified_at"]} if "modified_at" in file else info

    def as_entry(self, path: str, mode: int | None) -> Entry:
        """Return what the thread has at a path; `mode` is that of the lower file."""
        entry = self.entry(path)
        kind, file = self.kind(path), self.file(path)
        if entry is not None and kind == "link":
            return Entry(path, "link", target=entry["target"])
        own = None if entry is None else entry.get("mode")
        if file is None:
            return Entry(path, "directory", mode=own)
        own = mode if own is None else own
        return Entry(path, "file", size_of(file), file.get("modified_at", ""), own)

    def entry_like(self, one: Entry, path: str) -> OverlayEntry:
        """Return the entry for a path that becomes like another one."""
        known = self.entry(path)
        entry = OverlayEntry(kind=one.kind)
        if known is not None and "base" in known:
            entry["base"] = known["base"]
        if one.mode is not None:
            entry["mode"] = one.mode
        if one.target is not None:
            entry["target"] = one.target
        return entry

    def dated(self, path: str, file: FileData) -> FileData:
        """Return a file with its times; `created_at` is kept."""
        old, now = self.file(path), current_time()
        created = now if old is None else old.get("created_at", now)
        return {**file, "created_at": created, "modified_at": now}

    def searched_text(self, path: str) -> str | None:
        """Return the text of a file as a search sees it, or `None` for a binary file."""
        file = self.file(path)
        if file is None or file.get("encoding", "utf-8") == "utf-8":
            return None if file is None else file["content"]
        raw = file_bytes(file)
        return None if is_binary(raw) else raw.decode(errors="surrogateescape")

    @property
    def _thread(self) -> ThreadFiles:
        if self._given is None or self._given.overlay is None:
            raise Unsupported(
                "`OverlayBackend` works only in a graph that has it in `mounts`, where its changes "
                "are in the state of the thread. If it is made by a factory, give the factory to "
                "it instead: `OverlayBackend(factory)`."
            )
        return self._given

    @property
    def _entries(self) -> Entries:
        return self._thread.overlay or {}


def _parts(path: str) -> list[str]:
    return path.split("/")


def binary_or_text(content: bytes) -> FileData:
    """Return bytes as a file of the state: as text where a disk would read them as text."""
    if is_text(content):
        return FileData(content=content.decode(), encoding="utf-8")
    return FileData(content=base64.b64encode(content).decode(), encoding="base64")
