"""Changing files that are objects under keys.

Whoever changes a file holds a lock of this process on its path. Where the store can compare before
it writes, other processes lose nothing either: what is changed meanwhile is read and edited again.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any

from langgraph_filesystem.state import edits
from langgraph_filesystem.state.backends.contents import FileTooLarge, decoded
from langgraph_filesystem.state.backends.key_locks import hold
from langgraph_filesystem.state.backends.many import aside
from langgraph_filesystem.state.backends.object_access import CHUNK, ChangedMeanwhile, digest_of
from langgraph_filesystem.state.backends.object_notes import Journaled
from langgraph_filesystem.state.backends.objects import Blob, Changed, Survey
from langgraph_filesystem.state.backends.protocol import (
    DeleteResult,
    EditResult,
    FileUploadResponse,
    MoveResult,
    WriteResult,
)
from langgraph_filesystem.state.backends.reports import error_code, reports
from langgraph_filesystem.state.errors import (
    FileExists,
    FileNotFound,
    FilesystemError,
    IsDirectory,
    NotDirectory,
)
from langgraph_filesystem.state.paths import is_within, normalize_path

__all__ = ("Writing",)

_TRIES = 100
"""How often an edit is tried again because somebody else was faster: each time one is done."""


class Writing(Journaled):
    """The operations that change something."""

    @reports(WriteResult)
    async def write(
        self, file_path: str, content: str, *, overwrite: bool = False, once: str | None = None
    ) -> WriteResult:
        """Create a file, or with `overwrite` put it in the place of another."""
        path = self._path(file_path)
        data = _encoded(path, content)
        async with self._held(path):
            if not await self._check_writable(path):
                await self._begin(once, [(path, None, digest_of(data))])
                await self._create(path, data, overwrite)
            elif not overwrite:
                raise FileExists(path, _EDIT_INSTEAD)
            else:
                await self._begin_replacing(once, {path: data})
                await self._replace(path, data)
        return WriteResult(path=file_path)

    @reports(EditResult)
    async def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
        *,
        once: str | None = None,
    ) -> EditResult:
        """Replace exact text in a file."""
        path = self._path(file_path)
        _encoded(path, new_string)
        async with self._held(path):
            for attempt in range(_TRIES):
                old = await self._editable(path)
                asked = path, decoded(path, old.content), old_string, new_string, replace_all
                data, count = await self._io.call(_Planner(), "plan", *asked)
                state = path, digest_of(old.content), digest_of(data)
                await self._begin(once, [state], occurrences=count)
                try:
                    await self._objects.update(path, data, old)
                except Changed:
                    await self._io.call(_Pause(), "sleep", attempt)
                    continue
                return EditResult(path=file_path, occurrences=count)
        raise ChangedMeanwhile(path)

    @reports(DeleteResult)
    async def delete(self, file_path: str, *, once: str | None = None) -> DeleteResult:
        """Delete a file, or everything below a directory."""
        path = self._path(file_path)
        files = await self._files_at(path)
        async with self._held(path, *files):
            if path in files and await self._objects.info(path) is None:
                raise FileNotFound(path)  # another call of this process was faster
            if not files and not await self._objects.is_directory(path):
                raise FileNotFound(path)
            await self._begin_deleting(once, path, files)
            await self._objects.remove(files)
            if path not in files:
                await self._remove_directory(path, bool(files))
        return DeleteResult(path=file_path)

    @reports(MoveResult)
    async def move(self, source: str, destination: str, *, once: str | None = None) -> MoveResult:
        """Give a file or a directory another path."""
        start, end = self._path(source), self._path(destination)
        if is_within(end, start):
            raise FilesystemError(f"{start}: can't be moved to {end}, which is itself or in it.")
        files = await self._files_at(start)
        if not files:
            raise FileNotFound(start)
        # A directory may hold paths that get too long at another place.
        pairs = [(path, self._path(normalize_path(end + path[len(start) :]))) for path in files]
        async with self._held(*(path for pair in pairs for path in pair)):
            count = await self._finish_move(once, start, end, pairs)
            if count is None:
                if await self._check_writable(end):
                    raise FileExists(end, "Delete it first, or choose another destination.")
                await self._begin_moving(once, start, end, files)
                await self._rename(pairs)
        return MoveResult(path=destination, files=count or len(pairs))

    async def upload_files(
        self,
        files: Sequence[tuple[str, bytes]],
        *,
        once: str | None = None,
        overwrite: bool = True,
    ) -> list[FileUploadResponse]:
        """Store bytes as files, in the place of others that are there, or where none are."""
        answers = [FileUploadResponse(path) for path, _ in files]
        by_path = {answer.path: answer for answer in answers}
        try:
            await self._upload(dict(files), by_path, once, overwrite)
        except FilesystemError as error:  # of all: without a note nothing may begin
            return [replace(answer, error=answer.error or error_code(error)) for answer in answers]
        return answers

    # What is there already

    async def _check_writable(self, path: str) -> bool:
        """Say whether a file is at a path already; raise if none can be there."""
        [survey] = await self._objects.survey([path])
        return _checked(path, survey)

    async def _editable(self, path: str) -> Blob:
        blob = await self._objects.get(path, 0, CHUNK)
        if blob is None:
            raise await self._missing(path)
        if blob.size > self._limit:
            raise FileTooLarge(path, blob.size, self._limit)
        return await self._whole(path, blob)

    async def _files_at(self, path: str) -> list[str]:
        """Return a file, or all that are below a directory."""
        if path != "/" and await self._objects.info(path) is not None:
            return [path]
        return [entry.path for entry in (await self._objects.below(path)).files]

    @asynccontextmanager
    async def _held(self, *paths: str) -> AsyncIterator[None]:
        async with hold(self._io, self._objects.identity, *paths):
            yield

    # Steps

    async def _remove_directory(self, path: str, had_files: bool) -> None:
        if not await self._objects.remove_directory(path) and not had_files:
            raise FilesystemError(f"{path}: is an empty directory, which this store keeps.")

    async def _create(self, path: str, data: bytes, overwrite: bool) -> None:
        try:
            await self._objects.create(path, data)
        except Changed:
            if not overwrite:
                raise FileExists(path, _EDIT_INSTEAD) from None
            await self._replace(path, data)

    async def _replace(self, path: str, data: bytes) -> None:
        for error in (await self._objects.replace({path: data})).values():
            raise error

    async def _rename(self, pairs: Sequence[tuple[str, str]]) -> None:
        try:
            await self._objects.rename(pairs)
        except Changed:
            raise ChangedMeanwhile(pairs[0][0]) from None

    async def _upload(
        self,
        contents: Mapping[str, bytes],
        answers: Mapping[str, FileUploadResponse],
        once: str | None,
        overwrite: bool,
    ) -> None:
        paths: dict[str, str] = {}
        for given, answer in answers.items():
            with _reported(answer):
                paths[self._path(given)] = given
        message = None if once is None else ".".join(once.split(".", 2)[:2])
        surveys = await self._objects.survey(list(paths), message)
        good: dict[str, bytes] = {}
        for (path, given), survey in zip(paths.items(), surveys, strict=True):
            with _reported(answers[given]):
                if _checked(path, survey) and not overwrite:
                    raise FileExists(path, "Choose another path.")
                good[path] = contents[given]
        async with self._held(*good):
            work = self._replace_all if overwrite else self._create_all
            for path, error in (await work(once, good)).items():
                answers[paths[path]].error = error_code(error)

    async def _replace_all(
        self, once: str | None, contents: dict[str, bytes]
    ) -> dict[str, FilesystemError]:
        await self._begin_replacing(once, contents)
        return await self._objects.replace(contents)

    async def _create_all(
        self, once: str | None, contents: dict[str, bytes]
    ) -> dict[str, FilesystemError]:
        if contents:  # of a part that is there already the note stays as it is
            await self._begin(once, [(path, None, digest_of(it)) for path, it in contents.items()])
        return await self._objects.create_each(contents)


_EDIT_INSTEAD = "Change it with `edit_file`, or set `overwrite`."


class _Planner:
    """An edit of a large file takes a while: it is called as something slow."""

    def plan(
        self, path: str, content: str, old: str, new: str, replace_all: bool
    ) -> tuple[bytes, int]:
        edit, count = edits.plan_edit(path, content, old, new, replace_all)
        return edits.apply_edits(content, [edit]).encode(), count

    async def aplan(self, *asked: Any) -> tuple[bytes, int]:
        return await aside(self.plan, *asked)


class _Pause:
    """A moment of waiting, longer the more often it was in vain, and not the same for everybody."""

    def sleep(self, attempt: int) -> None:
        time.sleep(self._seconds(attempt))

    async def asleep(self, attempt: int) -> None:
        await asyncio.sleep(self._seconds(attempt))

    def _seconds(self, attempt: int) -> float:
        return random.uniform(0, 0.01 * 2 ** min(attempt, 5))


def _checked(path: str, survey: Survey) -> bool:
    """Say whether a file is at a path already; raise if none can be there."""
    if survey.is_file:
        return True
    if survey.is_directory or path == "/":
        raise IsDirectory(path)
    if survey.above is not None:
        raise NotDirectory(path, survey.above)
    return False


@contextmanager
def _reported(answer: FileUploadResponse) -> Iterator[None]:
    """Put an error into the answer for one file: the others go on."""
    try:
        yield
    except FilesystemError as error:
        answer.error = error_code(error)


def _encoded(path: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise FilesystemError(
            f"{path}: the text has a lone surrogate at character {error.start:,}, which no file "
            "can hold. Write it without."
        ) from None
