"""Changing objects: nothing is lost to somebody who is faster, and nothing covered unasked."""

import asyncio
from typing import Any

import pytest
from obstore.store import MemoryStore

from langgraph_filesystem.state.backends.object_pages import Bookmarks
from langgraph_filesystem.state.backends.object_writing import Writing
from langgraph_filesystem.state.backends.objects import Blob
from langgraph_filesystem.state.backends.obstore_objects import ObstoreObjects
from langgraph_filesystem.state.backends.obstore_requests import ObstoreClient
from langgraph_filesystem.state.backends.protocol import Outcome
from langgraph_filesystem.state.io import Awaiting

IO = Awaiting()


class Contested(ObstoreObjects):
    """Somebody else is faster, so many times."""

    faster = 0

    async def update(self, path: str, content: bytes, old: Blob) -> None:
        await self._be_faster(path)
        await super().update(path, content, old)

    async def create(self, path: str, content: bytes) -> None:
        await self._be_faster(path)
        await super().create(path, content)

    async def _be_faster(self, path: str) -> None:
        if self.faster:
            self.faster -= 1
            old = await self.get(path)
            await self.replace({path: b"+" + (old.content if old else b"")})


@pytest.fixture
def objects() -> Contested:
    return Contested(ObstoreClient(MemoryStore()), "", IO)


@pytest.fixture
def writing(objects: Contested) -> Writing:
    return Writing(lambda: objects, IO, 100, Bookmarks())


async def content(objects: Contested, path: str) -> bytes | None:
    blob = await objects.get(path)
    return None if blob is None else blob.content


async def test_an_edit_is_made_in_what_others_wrote_meanwhile(
    objects: Contested, writing: Writing
) -> None:
    await objects.replace({"/a": b"one"})
    objects.faster = 3
    result = await writing.edit("/a", "one", "two")
    assert (result.error, result.occurrences) == (None, 1)
    assert await content(objects, "/a") == b"+++two"


@pytest.mark.parametrize(
    ("overwrite", "expected", "words"), [(False, b"+", "exists already"), (True, b"mine", None)]
)
async def test_a_file_that_came_meanwhile_is_covered_only_if_that_is_wanted(
    objects: Contested, writing: Writing, overwrite: bool, expected: bytes, words: str | None
) -> None:
    objects.faster = 1
    error = (await writing.write("/a", "mine", overwrite=overwrite)).error
    assert (error is None) if words is None else words in (error or "")
    assert await content(objects, "/a") == expected


async def test_edits_of_one_process_wait_for_each_other(
    objects: Contested, writing: Writing
) -> None:
    await objects.replace({"/a": b"".join(b"<%d>" % number for number in range(20))})
    results = await asyncio.gather(
        *(writing.edit("/a", f"<{number}>", ".") for number in range(20))
    )
    assert [result.error for result in results] == [None] * 20
    assert await content(objects, "/a") == b"." * 20


@pytest.mark.parametrize(
    ("method", "args", "words"),
    [
        ("write", ("/a", "x"), "exists already"),
        ("write", ("/d", "x"), "is a directory"),
        ("write", ("/a/b", "x"), "/a is a file"),
        ("write", ("/", "x"), "is a directory"),
        ("write", ("/s", "\ud800"), "lone surrogate at character 0"),
        ("edit", ("/d", "x", "y"), "is a directory"),
        ("edit", ("/nothing", "x", "y"), "no such file"),
        ("edit", ("/large", "x", "y"), "101 bytes"),
        ("edit", ("/binary", "x", "y"), "binary content"),
        ("edit", ("/a", "1", "\ud800"), "lone surrogate"),
        ("delete", ("/nothing",), "no such file"),
        ("move", ("/nothing", "/b"), "no such file"),
        ("move", ("/a", "/d/b"), "exists already"),
        ("move", ("/a", "/d"), "is a directory"),
        ("move", ("/d", "/d/e"), "itself or in it"),
        ("move", ("/d", "/a/d"), "/a is a file"),
    ],
)
async def test_what_can_not_be_done_is_told_and_changes_nothing(
    objects: Contested, writing: Writing, method: str, args: Any, words: str
) -> None:
    files = {"/a": b"1", "/d/b": b"2", "/large": b"x" * 101, "/binary": b"\0"}
    await objects.replace(files)
    result = await getattr(writing, method)(*args)
    assert words in (result.error or "")
    assert {entry.path: entry.size for entry in (await objects.below("/")).files} == {
        path: len(data) for path, data in files.items()
    }


async def test_one_bad_file_of_an_upload_does_not_stop_the_others(
    objects: Contested, writing: Writing
) -> None:
    await objects.replace({"/a": b"old", "/d/b": b""})
    paths = ["/a", "/d", "/a/b", "bad/../..", "/new/c"]
    answers = await writing.upload_files([(path, b"new") for path in paths])
    assert [answer.path for answer in answers] == paths
    assert [answer.error for answer in answers[:3]] == [None, "is_directory", "invalid_path"]
    assert [answer.error for answer in answers[3:]] == ["invalid_path", None]
    assert [await content(objects, path) for path in ("/a", "/new/c")] == [b"new"] * 2


@pytest.mark.parametrize(
    ("method", "args"),
    [
        ("write", ("/new", "x")),
        ("edit", ("/a", "1", "2")),
        ("delete", ("/a",)),
        ("delete", ("/d",)),
        ("move", ("/a", "/new")),
        ("move", ("/d", "/new")),
        ("upload_files", ([("/a", b"2"), ("/new", b"3")],)),
    ],
)
async def test_what_was_done_is_known_afterwards(
    objects: Contested, writing: Writing, method: str, args: Any
) -> None:
    await objects.replace({"/a": b"1", "/d/b": b"2", "/d/c/d": b"3"})
    assert await writing.recall("scope.1.0") is None
    await getattr(writing, method)(*args, once="scope.1.0")
    outcome = await writing.recall("scope.1.0")
    assert outcome == Outcome(finished=True, occurrences=1 if method == "edit" else None)


async def test_files_are_uploaded_only_where_none_are(objects: Contested, writing: Writing) -> None:
    await objects.replace({"/a": b"theirs"})
    objects.faster = 1
    given = [("/a", b"ours"), ("/b", b"ours")]
    found = await writing.upload_files(given, once="scope.1.0", overwrite=False)
    assert [answer.error for answer in found] == ["file_exists", "file_exists"]
    assert [await content(objects, path) for path, _ in given] == [b"theirs", b"+"]
    [answer] = await writing.upload_files([("/c", b"ours")], once="scope.1.1", overwrite=False)
    assert answer.error is None
    assert await writing.recall("scope.1.1") == Outcome(finished=True)


async def test_a_directory_whose_move_was_cut_short_is_moved_to_the_end(
    objects: Contested, writing: Writing
) -> None:
    await objects.replace({f"/d/{number}": b"x" for number in range(4)})
    await writing._begin_moving("scope.1.0", "/d", "/e", [f"/d/{number}" for number in range(4)])
    await objects.rename([("/d/0", "/e/0")])
    await objects.replace({"/e/1": b"x"})
    assert await writing.recall("scope.1.0") is None
    result = await writing.move("/d", "/e", once="scope.1.0")
    assert (result.error, result.files) == (None, 4)
    assert [e.path for e in (await objects.below("/")).files] == ["/e/0", "/e/1", "/e/2", "/e/3"]
    assert await writing.recall("scope.1.0") == Outcome(finished=True)
