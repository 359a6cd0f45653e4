"""Searching objects under keys: some files at a time, until there is enough or time is up."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from langgraph_filesystem.state import search as searching
from langgraph_filesystem.state.backends.contents import is_binary
from langgraph_filesystem.state.backends.objects import Blob, Entry, Listing, Objects
from langgraph_filesystem.state.backends.protocol import GrepResult
from langgraph_filesystem.state.io import Io
from langgraph_filesystem.state.remarks import Named, Remark, joined
from langgraph_filesystem.state.search import Query

__all__ = ("SECONDS", "search_objects")

SECONDS = 5.0
"""How long looking for files, and then searching them, may take before there is an answer."""
_BATCH_BYTES, _BATCH_FILES = 8 << 20, 64
"""What is fetched at once: enough to be fast, little enough for the memory."""


async def search_objects(
    objects: Objects, io: Io, found: Listing, query: Query, limit: int
) -> GrepResult:
    """Search files in the order of their paths; larger ones than the limit are named, not read."""
    total = GrepResult(matches=[], counts={}, note=found.note)
    files = sorted(found.files, key=lambda entry: entry.path)
    if large := [entry.path for entry in files if entry.size > limit]:
        _add_note(total, _too_large(large, limit))
    deadline = time.monotonic() + SECONDS
    # Without files there is still a pattern to be looked at.
    for batch in [*_batches([entry for entry in files if entry.size <= limit])] or [[]]:
        if time.monotonic() > deadline:
            total.truncated = True
            _add_note(
                total, f"The search stopped after {SECONDS:.0f} s; search a smaller directory."
            )
        if total.truncated:
            break
        blobs = await objects.get_many([entry.path for entry in batch]) if batch else []
        texts = list(_texts(batch, blobs))
        _add_result(total, await io.call(searching, "search", texts, _left(query, total)))
    total.truncated = total.truncated or not found.whole
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


def _texts(batch: Sequence[Entry], blobs: Sequence[Blob | None]) -> Iterator[tuple[str, str]]:
    for entry, blob in zip(batch, blobs, strict=True):
        if blob is None or is_binary(blob.content):
            continue
        try:
            yield entry.path, blob.content.decode()
        except UnicodeDecodeError:
            continue


def _left(query: Query, total: GrepResult) -> Query:
    """Return the query for the next files: with what is left of its limit."""
    if query.max_count is None:
        return query
    return replace(query, max_count=query.max_count - sum((total.counts or {}).values()))


def _add_result(total: GrepResult, part: GrepResult) -> None:
    assert total.matches is not None
    assert total.counts is not None
    total.matches += part.matches or ()
    total.counts.update(part.counts or {})
    total.truncated = part.truncated
    if part.note:
        _add_note(total, part.note)


def _add_note(total: GrepResult, note: str) -> None:
    total.note = joined(" ", [total.note, note] if total.note else [note])


def _too_large(paths: Sequence[str], limit: int) -> str:
    more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
    why = f"Not searched, because larger than {limit:,} bytes: "
    return Remark(why, Named(paths[0]), f"{more}.")
