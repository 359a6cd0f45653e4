"""Reading objects: whole files, their digests, and searches."""

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from langgraph_filesystem.state.backends.file_store import Query
from langgraph_filesystem.state.backends.objects.errors import ChangedMeanwhile
from langgraph_filesystem.state.backends.objects.objects import (
    Blob,
    Changed,
    Entry,
    Listing,
    Objects,
)
from langgraph_filesystem.state.backends.protocol import GrepResult
from langgraph_filesystem.state.backends.search import search
from langgraph_filesystem.state.backends.text_files import decoded
from langgraph_filesystem.state.errors import (
    FileNotFound,
    FilesystemError,
    FileTooLarge,
    IsDirectory,
    NotText,
)
from langgraph_filesystem.state.files import digest_of
from langgraph_filesystem.state.io import in_thread
from langgraph_filesystem.state.text import Note, PathPart, join_notes

__all__ = (
    "CHUNK",
    "SECONDS",
    "digest_at",
    "missing",
    "read_whole",
    "search_objects",
)

CHUNK = 1 << 20
"""Bytes that are fetched at once. A smaller file is fetched whole by one request."""
SECONDS = 5.0
"""How long listing files, and then searching them, may take before there is an answer."""
_BATCH_BYTES, _BATCH_FILES = 8 << 20, 64
"""What a search fetches at once, as a compromise between speed and memory."""


async def missing(objects: Objects, path: str) -> FilesystemError:
    """Return the error that says why there is no file at a path."""
    if path == "/" or await objects.is_directory(path):
        return IsDirectory(path)
    return FileNotFound(path)


async def read_whole(objects: Objects, path: str, max_size: int) -> Blob:
    """Return a file whole, if it is not too large."""
    blob = None if path == "/" else await objects.get(path, 0, CHUNK)
    if blob is None:
        raise await missing(objects, path)
    if blob.size > max_size:
        raise FileTooLarge(path, blob.size, max_size)
    return await _completed(objects, path, blob)


async def digest_at(objects: Objects, path: str, max_size: int) -> str | None:
    """Return a digest of a file: of its content, or of its version if it is too large to read."""
    blob = None if path == "/" else await objects.get(path, 0, CHUNK)
    if blob is None:
        return None
    if len(blob.content) < blob.size > max_size:
        return digest_of(f"{blob.size} {blob.version}".encode())
    return digest_of((await _completed(objects, path, blob)).content)


async def _completed(objects: Objects, path: str, blob: Blob) -> Blob:
    """Fetch the rest of a file whose first bytes are known."""
    if len(blob.content) == blob.size:
        return blob
    try:
        rest = await objects.get(path, len(blob.content), None, blob)
    except Changed:
        rest = None
    if rest is None:
        raise ChangedMeanwhile(path)
    return replace(blob, content=blob.content + rest.content)


async def search_objects(
    objects: Objects, found: Listing, query: Query, max_size: int
) -> GrepResult:
    """Search files in the order of their paths; files that are too large are named, not read."""
    total = GrepResult(matches=[], counts={}, note=found.note)
    files = sorted(found.files, key=lambda entry: entry.path)
    if large := [entry.path for entry in files if entry.size > max_size]:
        _add_note(total, _left_out(large, f"larger than {max_size:,} bytes"))
    deadline = time.monotonic() + SECONDS
    # A search without files checks the pattern.
    for batch in [*_batches([entry for entry in files if entry.size <= max_size])] or [[]]:
        if time.monotonic() > deadline:
            total.truncated = True
            _add_note(
                total, f"The search stopped after {SECONDS:.0f} s. Search a smaller directory."
            )
        if total.truncated:
            break
        blobs = await objects.get_many([entry.path for entry in batch])
        pairs = [*zip((entry.path for entry in batch), blobs, strict=True)]
        if failed := [path for path, blob in pairs if isinstance(blob, FilesystemError)]:
            _add_note(total, _left_out(failed, "it could not be read"))
        texts = [*_texts(pairs)]
        _add_result(total, await in_thread(search, texts, _remaining(query, total)))
    total.truncated = total.truncated or not found.complete
    return total


def _batches(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    batch: list[Entry] = []
    size = 0
    for entry in entries:
        if batch and (size + entry.size > _BATCH_BYTES or len(batch) >= _BATCH_FILES):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += entry.size
    if batch:
        yield batch


def _texts(
    pairs: Sequence[tuple[str, Blob | FilesystemError | None]],
) -> Iterator[tuple[str, str]]:
    for path, blob in pairs:
        with contextlib.suppress(NotText):
            if isinstance(blob, Blob):
                yield path, decoded(path, blob.content)


def _remaining(query: Query, total: GrepResult) -> Query:
    """Return the query for the next files, with what is left of its limit."""
    if query.max_count is None:
        return query
    return replace(query, max_count=query.max_count - sum((total.counts or {}).values()))


def _add_result(total: GrepResult, part: GrepResult) -> None:
    assert total.matches is not None
    assert total.counts is not None
    total.matches += part.matches or ()
    total.counts.update(part.counts or {})
    total.truncated = part.truncated
    _add_note(total, part.note)


def _add_note(total: GrepResult, note: str | None) -> None:
    total.note = join_notes(" ", [total.note, note])


def _left_out(paths: Sequence[str], why: str) -> Note:
    more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
    return Note("Not searched: ", PathPart(paths[0]), f"{more} ({why}).")
