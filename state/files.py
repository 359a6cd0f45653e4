"""The `files` channel: what a file is, what can be written, and how writes are merged.

An edit from a parallel branch that no longer fits is kept as a file below `/conflicts/`, like the
rejects of `patch`: nothing that was acknowledged is lost silently. A write of a whole file wins
over what was there, unless it says which version it replaces.
"""

import base64
import binascii
import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict, TypeIs

from langgraph_filesystem.state.edits import Edit, apply_edits
from langgraph_filesystem.state.entries import (
    Entries,
    EntriesUpdate,
    OverlayEntry,
    combined_entries,
    merge_overlay,
)
from langgraph_filesystem.state.errors import InvalidFiles, PathRefused
from langgraph_filesystem.state.paths import ancestors, normalize_path

__all__ = (
    "CONFLICTS",
    "FileData",
    "FileEdit",
    "FileReplacement",
    "FileWrite",
    "Files",
    "FilesUpdate",
    "PlainWrite",
    "ThreadFiles",
    "apply_write",
    "checked_update",
    "conflict_call",
    "current_time",
    "digest_of",
    "file_bytes",
    "is_edit",
    "merge_files",
    "merge_updates",
    "separate_conflicts",
    "version_of",
)


CONFLICTS = "/conflicts"
"""The directory of edits that could not be applied."""


class FileData(TypedDict):
    """One file in the state of a thread."""

    content: str
    """The text, or the bytes in base64. Line ends, a BOM and a missing last newline are kept."""
    encoding: NotRequired[Literal["utf-8", "base64"]]
    """How `content` holds the bytes; text when it is left out."""
    created_at: NotRequired[str]
    """ISO 8601, UTC."""
    modified_at: NotRequired[str]
    """ISO 8601, UTC."""


class FileEdit(TypedDict):
    """A change of one file, stored as the operation instead of the whole result."""

    edits: list[Edit]
    modified_at: NotRequired[str]
    base: NotRequired[FileData]
    """The file to edit if there is none: the first change of a file that an overlay shows."""


class FileReplacement(TypedDict):
    """A new version or a deletion of a file that is meant for one version of it.

    Where the file has changed in the meantime, it is kept below `/conflicts/` instead.
    """

    file: FileData | None
    """The new version, or `None` to delete the file."""
    replaces: str
    """The digest of the version that it replaces, or an empty string for a new file."""
    call: NotRequired[str]
    """The id of the tool call that made it."""


PlainWrite: TypeAlias = FileData | FileEdit | None
"""What backends write: a file, an edit, or `None` to delete."""
FileWrite: TypeAlias = PlainWrite | FileReplacement | str | list[str]
"""What can be written for a path; text and a list of lines are files too."""
_CheckedWrite: TypeAlias = PlainWrite | FileReplacement
Files: TypeAlias = dict[str, FileData]
FilesUpdate: TypeAlias = Mapping[str, FileWrite]


def merge_files(left: Files, writes: Sequence[FilesUpdate] | FilesUpdate | None) -> Files:
    """Apply writes to the files, oldest first, and return the new files.

    A single write is accepted too, so this is also a reducer for your own graph:
    `Annotated[dict[str, FileData], merge_files]`.

    The law: `merge(merge(s, xs), ys) == merge(s, xs + ys)`, so that a checkpoint can be rebuilt
    from its writes in batches of any size. No clock is read and `left` is never changed.
    """
    listed = writes if isinstance(writes, list | tuple) else [writes]
    checked = [checked_update(write) for write in listed]
    files = dict(left)
    for update in checked:
        for path, write in update.items():
            apply_write(files, path, write)
    return files


def apply_write(files: Files, path: str, write: _CheckedWrite) -> None:
    """Apply one checked write to `files` in place."""
    if write is None:
        files.pop(path, None)
    elif is_edit(write):
        files.update(_edited(path, files.get(path), write))
    elif _is_replacement(write):
        for one, plain in separate_conflicts(path, files.get(path), write).items():
            apply_write(files, one, plain)
    else:
        files[path] = _keep_created_at(write, files.get(path))


def merge_updates(
    one: Mapping[str, PlainWrite], other: Mapping[str, _CheckedWrite]
) -> dict[str, PlainWrite]:
    """Return one update with the effect of two updates one after the other.

    A file that is written again after it was deleted needs its own `created_at`, which backends
    set: otherwise it would get that of the deleted file.
    An edit before a write of the whole file is dropped, so it can't become a conflict: its author
    has replaced its result.
    """
    merged = dict(one)
    for path, write in other.items():
        # Both updates come from one branch, so nothing is there that a replacement may not replace.
        _add_write(merged, path, _plain(write))
    return merged


class ThreadFiles:
    """The `files` channel as one run of a node sees it, and the changes of that run."""

    def __init__(
        self,
        files: Files,
        overlay: Entries | None = None,
        scratch: Mapping[str, str] | None = None,
    ) -> None:
        self.files = files
        self.update: dict[str, PlainWrite] = {}
        self.overlay = overlay
        """The `overlay` channel; `None` in a graph without an overlay mount."""
        self.overlay_update: dict[str, OverlayEntry | None] = {}
        self.scratch = dict(scratch or {})
        """Where commands over an overlay have left files for the next one, by its prefix."""
        self.scratch_update: dict[str, str | None] = {}
        self.call: str | None = None
        """The id of the call that is being answered: edits are stored with it."""
        self._is_copied = False

    def change(self, update: Mapping[str, _CheckedWrite]) -> None:
        """Apply a checked update, so that the next call of the run sees it."""
        if not self._is_copied:
            # The channel's own value must not change.
            self.files, self._is_copied = dict(self.files), True
        for path, write in update.items():
            if self.call and is_edit(write):
                for edit in write["edits"]:
                    edit["call"] = self.call
            apply_write(self.files, path, write)
        self.update = merge_updates(self.update, update)

    def change_overlay(self, update: EntriesUpdate) -> None:
        """Apply an update of the overlay's entries, so that the next call of the run sees it."""
        self.overlay = merge_overlay(self.overlay or {}, [update])
        self.overlay_update = combined_entries(self.overlay_update, update)

    def change_scratch(self, update: Mapping[str, str | None]) -> None:
        """Set, or with `None` forget, where files for the next command are."""
        for prefix, token in update.items():
            if token != self.scratch.pop(prefix, None):
                self.scratch_update[prefix] = token
            if token is not None:
                self.scratch[prefix] = token


def current_time() -> str:
    """Return the time now, in the format of `modified_at`."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def digest_of(content: bytes) -> str:
    """Return the digest of some content."""
    # SHA-256 is faster than BLAKE2 on processors that support it: 0.7 against 1.5 ms for 1 MB.
    return hashlib.sha256(content).hexdigest()[:24]


def file_bytes(file: FileData) -> bytes:
    """Return the bytes of a file."""
    if file.get("encoding", "utf-8") == "base64":
        return base64.b64decode(file["content"])
    return file["content"].encode()


def checked_update(update: object) -> dict[str, _CheckedWrite]:
    """Return the update with normalized paths and complete values, or raise `InvalidFiles`."""
    if update is None:
        # Clients without files send `{"files": null}`.
        return {}
    if not isinstance(update, Mapping):
        raise InvalidFiles(
            f"`files` must be a mapping of paths to files, not {type(update).__name__}."
        )
    checked: dict[str, _CheckedWrite] = {}
    for path, write in update.items():
        try:
            normal = normalize_path(path)
        except PathRefused as refused:
            raise InvalidFiles(f"`files`: {refused}") from None
        if normal == "/":
            raise InvalidFiles(f"`files`: {path!r} is the root, which can't be a file.")
        whole = _checked_write(normal, write)
        # Two spellings of one path are two writes, in the order in which they are given.
        _add_write(checked, normal, whole)
    _check_directories(checked)
    return checked


def _check_directories(update: Mapping[str, _CheckedWrite]) -> None:
    """Raise if an update makes one path both a file and a directory."""
    written = [path for path, write in update.items() if _plain(write) is not None]
    if len(written) < 2:
        return
    above = set(chain.from_iterable(map(ancestors, written)))
    if both := next((path for path in written if path in above), None):
        raise InvalidFiles(f"`files`: {both} is a file, so no other file can be below it.")


def _checked_write(path: str, write: object) -> _CheckedWrite:
    if write is None:
        return None
    if isinstance(write, str | list):
        return FileData(content=_checked_text(path, write), encoding="utf-8")
    if not isinstance(write, Mapping):
        raise InvalidFiles(
            f"`files`: {path} must be a file, text, a list of lines or null, "
            f"not {type(write).__name__}."
        )
    if "edits" in write:
        return _checked_edit(path, write)
    if "replaces" in write:
        return _checked_replacement(path, write)
    if "content" not in write:
        raise InvalidFiles(f"`files`: {path} has no `content`.")
    return _checked_data(path, write)


def _checked_data(path: str, write: Mapping[Any, Any]) -> FileData:
    encoding = write.get("encoding") or "utf-8"
    if encoding not in ("utf-8", "base64"):
        raise InvalidFiles(f"`files`: {path} has encoding {encoding!r}; use 'utf-8' or 'base64'.")
    text = _checked_text(path, write["content"])
    data = FileData(content=text, encoding="base64" if encoding == "base64" else "utf-8")
    if encoding == "base64":
        try:
            base64.b64decode(data["content"], validate=True)
        except (binascii.Error, ValueError):
            raise InvalidFiles(f"`files`: the content of {path} is not base64.") from None
    if created := _checked_time(path, write, "created_at"):
        data["created_at"] = created
    if modified := _checked_time(path, write, "modified_at"):
        data["modified_at"] = modified
    return data


def _checked_edit(path: str, write: Mapping[Any, Any]) -> FileEdit:
    if not isinstance(write["edits"], Sequence) or isinstance(write["edits"], str):
        raise InvalidFiles(f"`files`: the edits of {path} must be a list.")
    edits: list[Edit] = []
    for edit in write["edits"]:
        if not isinstance(edit, Mapping) or not {"old", "new"} <= edit.keys():
            raise InvalidFiles(f"`files`: an edit of {path} needs `old` and `new`.")
        old, new = _checked_text(path, edit["old"]), _checked_text(path, edit["new"])
        whole = Edit(old=old, new=new, replace_all=bool(edit.get("replace_all", False)))
        if isinstance(edit.get("call"), str):
            whole["call"] = edit["call"]
        edits.append(whole)
    checked = FileEdit(edits=edits)
    if modified := _checked_time(path, write, "modified_at"):
        checked["modified_at"] = modified
    if "base" in write:
        base = _checked_write(path, write["base"])
        if base is None or is_edit(base) or _is_replacement(base):
            raise InvalidFiles(f"`files`: the `base` of an edit of {path} must be a file.")
        checked["base"] = base
    return checked


def _checked_replacement(path: str, write: Mapping[Any, Any]) -> FileReplacement:
    file = _checked_write(path, write.get("file"))
    if is_edit(file) or _is_replacement(file) or not isinstance(write["replaces"], str):
        raise InvalidFiles(
            f"`files`: a replacement of {path} needs the new `file` or null, and in `replaces` the "
            "digest of the version that it replaces."
        )
    checked = FileReplacement(file=file, replaces=write["replaces"])
    if isinstance(write.get("call"), str):
        checked["call"] = write["call"]
    return checked


def _checked_text(path: str, text: object) -> str:
    if isinstance(text, list) and all(isinstance(line, str) for line in text):
        text = "\n".join(text)
    if not isinstance(text, str):
        raise InvalidFiles(
            f"`files`: the content of {path} must be text or a list of lines, "
            f"not {type(text).__name__}."
        )
    try:
        text.isascii() or text.encode()
    except UnicodeEncodeError:
        # A checkpoint can't hold a lone surrogate: it would come back as another character.
        raise InvalidFiles(f"`files`: the content of {path} is not valid Unicode.") from None
    return text


def _checked_time(path: str, write: Mapping[Any, Any], key: str) -> str | None:
    time = write.get(key)
    if time is not None and not isinstance(time, str):
        raise InvalidFiles(f"`files`: `{key}` of {path} must be text (ISO 8601).")
    return time


def is_edit(write: _CheckedWrite) -> TypeIs[FileEdit]:
    """Say whether a write is an edit."""
    return write is not None and "edits" in write


def _is_replacement(write: _CheckedWrite) -> TypeIs[FileReplacement]:
    return write is not None and "replaces" in write


def _plain(write: _CheckedWrite) -> PlainWrite:
    return write["file"] if _is_replacement(write) else write


def separate_conflicts(
    path: str, old: FileData | None, write: _CheckedWrite
) -> dict[str, PlainWrite]:
    """Return an update that does the same, with the files of changes that can't be applied."""
    if _is_replacement(write):
        fits = version_of(old) in (write["replaces"], version_of(write["file"]))
        return {path: write["file"]} if fits else dict([_rejected_version(path, write)])
    if not is_edit(write):
        return {path: write}
    text = _text_of(old or write.get("base"))
    rejected = write["edits"] if text is None else apply_edits(text, write["edits"])[1]
    if not rejected:
        return {path: write}
    applied = [edit for edit in write["edits"] if not any(edit is one for one in rejected)]
    return {path: {**write, "edits": applied}, **_conflicts(path, rejected)}


def _edited(path: str, old: FileData | None, write: FileEdit) -> Files:
    """Return the file after an edit, and a file below `/conflicts/` for each part that fails."""
    old = old or write.get("base")
    text = _text_of(old)
    if old is None or text is None:
        # It was text when the edit was made: another branch has deleted or replaced it.
        return _conflicts(path, write["edits"])
    content, rejected = apply_edits(text, write["edits"])
    new = old.copy()
    new["content"] = content
    if "modified_at" in write:
        new["modified_at"] = write["modified_at"]
    return {path: new, **_conflicts(path, rejected)}


def _text_of(file: FileData | None) -> str | None:
    if file is None or file.get("encoding", "utf-8") != "utf-8":
        return None
    return file["content"]


def _conflicts(path: str, rejected: Sequence[Edit]) -> Files:
    return dict(_conflict(path, edit) for edit in rejected)


def _conflict(path: str, edit: Edit) -> tuple[str, FileData]:
    """Return the path and the file for an edit that could not be applied.

    Both follow from the edit alone, so that merged updates give the same file.
    """
    return _conflict_file(
        path,
        "edit",
        edit.get("call"),
        f"Every occurrence: {'yes' if edit['replace_all'] else 'no'}\n"
        f"\n<<<<<<< old text\n{edit['old']}\n=======\n{edit['new']}\n>>>>>>> new text\n",
    )


def _rejected_version(path: str, write: FileReplacement) -> tuple[str, FileData]:
    """Return the path and the file for a new version or a deletion that was not applied."""
    file = write["file"]
    if file is None:
        return _conflict_file(path, "deletion", write.get("call"), "")
    text = f"Encoding: {file.get('encoding', 'utf-8')}\n\n{file['content']}"
    return _conflict_file(path, "version", write.get("call"), text)


def _conflict_file(path: str, what: str, call: str | None, rest: str) -> tuple[str, FileData]:
    content = (
        f"This {what} of {path} could not be applied, because the file was {_IN_PARALLEL}"
        f"{call or 'unknown'}\n{rest}"
    )
    digest = hashlib.sha256(f"{path}\0{content}".encode()).hexdigest()[:12]
    name = path.rpartition("/")[2].encode()[:100].decode(errors="ignore")
    return f"{CONFLICTS}/{name}-{digest}.txt", FileData(content=content, encoding="utf-8")


_IN_PARALLEL = "changed in parallel.\nCall: "


def conflict_call(file: FileData) -> str:
    """Return the id of the call that a file below `/conflicts/` names."""
    return file["content"].partition(_IN_PARALLEL)[2].partition("\n")[0]


def version_of(file: FileData | None) -> str:
    """Return the digest of a file, or an empty string for none."""
    return digest_of(file_bytes(file)) if file else ""


def _keep_created_at(write: FileData, old: FileData | None) -> FileData:
    """Return the file with the `created_at` of the file that it replaces."""
    if "created_at" in write or old is None or "created_at" not in old:
        return write
    return {**write, "created_at": old["created_at"]}


def _add_write(update: dict[str, Any], path: str, write: _CheckedWrite) -> None:
    """Add a write to an update that may have one for the path already."""
    if path not in update:
        update[path] = write
        return
    first, write = _plain(update[path]), _plain(write)
    if write is None:
        update[path] = None
    elif not is_edit(write):
        update[path] = write if first is None or is_edit(first) else _keep_created_at(write, first)
    elif is_edit(first):
        # The base of the second is of no use: where the first found no file, there was none.
        both: FileEdit = {**first, "edits": [*first["edits"], *write["edits"]]}
        if "modified_at" in write:
            both["modified_at"] = write["modified_at"]
        update[path] = both
    else:
        update.update(_edited(path, first, write))
