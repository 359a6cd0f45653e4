"""`ObjectStore`: pages, searches, batches, and changes while somebody else changes the same."""

import asyncio
import base64
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from obstore.store import MemoryStore

from langgraph_filesystem.state.backends.file_store import Query
from langgraph_filesystem.state.backends.objects.backend import ObjectStore
from langgraph_filesystem.state.backends.objects.objects import Blob, Listing
from langgraph_filesystem.state.backends.objects.obstore import ObstoreObjects
from langgraph_filesystem.state.backends.objects.read import CHUNK
from langgraph_filesystem.state.backends.protocol import ReadResult
from langgraph_filesystem.state.errors import (
    BackendFailed,
    FileExists,
    FileNotFound,
    FilesystemError,
    FileTooLarge,
    IsDirectory,
    NotDirectory,
    NotText,
    PathRefused,
)
from langgraph_filesystem.state.files import digest_of
from langgraph_filesystem.state.io import run_sync

LIMIT = 2 * CHUNK
LARGE = b"".join(b"line %07d\n" % number for number in range(300_000))


class Watched(ObstoreObjects):
    """Remembers what was fetched, and lets another writer be faster if it is told to."""

    def __init__(self) -> None:
        super().__init__(MemoryStore(), "")
        self.starts: list[int] = []
        self.batches: list[Sequence[str]] = []
        self.faster = 0
        """How many times another writer is faster than a change of ours."""
        self.after_get: dict[str, bytes] = {}
        """What another writer writes after each time that we have read."""

    async def get(self, path: str, start: int = 0, *args: Any, **options: Any) -> Blob | None:
        self.starts.append(start)
        blob = await super().get(path, start, *args, **options)
        if self.after_get:
            await self.put_many(self.after_get, overwrite=True)
        return blob

    async def get_many(self, paths: Sequence[str]) -> list[Blob | FilesystemError | None]:
        self.batches.append(paths)
        return await super().get_many(paths)

    async def update(self, path: str, content: bytes, old: Blob) -> None:
        await self._be_faster(path)
        await super().update(path, content, old)

    async def _create(self, path: str, content: bytes, **options: Any) -> None:
        await self._be_faster(path)
        await super()._create(path, content, **options)

    async def _be_faster(self, path: str) -> None:
        if self.faster:
            self.faster -= 1
            old = await super().get(path)
            await self._put(path, b"+" + (old.content if old else b""))


@pytest.fixture
def objects() -> Watched:
    return Watched()


@pytest.fixture
def store(objects: Watched) -> ObjectStore:
    return ObjectStore(lambda: objects, LIMIT)


def content(result: ReadResult) -> str:
    assert result.file_data is not None
    return result.file_data["content"]


async def held(store: ObjectStore) -> dict[str, bytes | FilesystemError]:
    paths = [info["path"] for info in (await store.inventory("/")).files]
    return dict(zip(paths, await store.fetch(paths), strict=True))


# Pages

TEXTS = st.text(st.sampled_from("ab\n\ré😀"), max_size=60)


class Chunks(ObstoreObjects):
    """Gives a few bytes at a time, whatever it is asked for."""

    def __init__(self, content: bytes, size: int) -> None:
        super().__init__(MemoryStore(), "")
        self._size = size
        run_sync(self._put("/a", content))

    async def get(
        self, path: str, start: int = 0, length: int | None = None, same: Blob | None = None
    ) -> Blob | None:
        return await super().get(path, start, length and self._size, same)


@given(TEXTS, st.integers(0, 12), st.integers(1, 8), st.integers(1, 7), st.integers(4, 9))
def test_pages_one_after_the_other_are_the_whole_text(
    text: str, offset: int, limit: int, most: int, size: int
) -> None:
    chunks, shown = Chunks(text.encode(), size), list[str]()
    store, column = ObjectStore(lambda: chunks, LIMIT), 0
    while True:
        page = run_sync(store.read("/a", offset, limit, column=column, max_characters=most))
        assert len(content(page)) <= most
        shown.append(content(page))
        if page.next_offset is None:
            break
        assert (page.next_offset, page.next_column or 0) > (offset, column)
        offset, column = page.next_offset, page.next_column or 0
    assert text.endswith("".join(shown))
    assert page.total_lines == text.count("\n") + (text[-1:] not in ("", "\n"))


async def test_a_small_file_is_fetched_once(objects: Watched, store: ObjectStore) -> None:
    await store.put({"/a": b"1\n2\n3"})
    objects.starts.clear()
    result = await store.read("/a", 1, 1)
    assert (content(result), result.start_line, result.total_lines) == ("2\n", 2, 3)
    assert (result.next_offset, objects.starts) == (2, [0])
    assert result.file_data is not None
    assert "modified_at" in result.file_data


async def test_pages_of_a_large_file_go_on_where_the_last_one_ended(
    objects: Watched, store: ObjectStore
) -> None:
    await store.put({"/a": LARGE})
    first = await store.read("/a", 200_000, 2)
    assert content(first) == "line 0200000\nline 0200001\n"
    assert (first.total_lines, first.next_offset) == (None, 200_002)
    objects.starts.clear()
    assert content(await store.read("/a", 200_002, 1)) == "line 0200002\n"
    assert objects.starts == [200_002 * 13]
    # A bookmark in another version of the file is not used.
    await store.put({"/a": b"x\n" + LARGE})
    assert content(await store.read("/a", 200_004, 1)) == "line 0200003\n"


async def test_a_file_that_changes_during_a_page_is_no_mixture(
    objects: Watched, store: ObjectStore
) -> None:
    await store.put({"/a": LARGE})
    objects.after_get = {"/a": LARGE.upper()}
    with pytest.raises(BackendFailed, match="/a: another writer changed it"):
        await store.read("/a", 200_000, 2)


@pytest.mark.parametrize(
    ("data", "reason"), [(b"a\0b", "binary content"), (b"text \xc3", "not UTF-8")]
)
async def test_what_is_not_text_comes_as_base64_if_it_is_not_too_large(
    store: ObjectStore, data: bytes, reason: str
) -> None:
    await store.put({"/a": data, "/large": data * (LIMIT // len(data) + 1)})
    assert base64.b64decode(content(await store.read("/a"))) == data
    with pytest.raises(NotText, match=reason):
        await store.read("/large")


# Searches


async def test_matches_come_in_the_order_of_the_paths(store: ObjectStore) -> None:
    await store.put({"/b": b"foo", "/a": b"x\nfoo\nfoo\n", "/nul": b"foo\0", "/latin": b"foo\xff"})
    result = await store.grep(Query("foo"))
    matches = [(match["path"], match["line"]) for match in result.matches or ()]
    assert matches == [("/a", 2), ("/a", 3), ("/b", 1)]
    assert (result.counts, result.truncated, result.note) == ({"/a": 2, "/b": 1}, False, None)


async def test_files_that_are_too_large_or_unreadable_are_noted(objects: Watched) -> None:
    class Broken(Watched):
        async def get_many(self, paths: Sequence[str]) -> list[Blob | FilesystemError | None]:
            found = await super().get_many(paths)
            pairs = zip(paths, found, strict=True)
            return [BackendFailed("down") if path == "/broken" else it for path, it in pairs]

        async def below(self, directory: str, seconds: float | None = None) -> Listing:
            found = await super().below(directory, seconds)
            found.complete, found.note = False, "The list stopped."
            return found

    store = ObjectStore(Broken, 8)
    await store.put({"/a": b"foo", "/big": b"foo" * 9, "/bigger": b"foo" * 10, "/broken": b"foo"})
    result = await store.grep(Query("foo"))
    assert (result.counts, result.truncated) == ({"/a": 1}, True)
    assert result.note == (
        "The list stopped. Not searched: /big and 1 more (larger than 8 bytes). "
        "Not searched: /broken (it could not be read)."
    )


async def test_no_more_is_fetched_than_a_limit_needs(objects: Watched, store: ObjectStore) -> None:
    await store.put({f"/{number:03}": b"foo\n" for number in range(200)})
    result = await store.grep(Query("foo", max_count=70))
    assert (sum((result.counts or {}).values()), result.truncated) == (70, True)
    assert sum(map(len, objects.batches)) < 200
    result = await store.grep(Query("foo", max_count=200))
    assert (len(result.counts or ()), result.truncated) == (200, False)


async def test_a_glob_is_relative_to_where_the_search_is(store: ObjectStore) -> None:
    await store.put({"/d/e/a.py": b"foo", "/d/b.py": b"foo", "/d/b.md": b"foo"})
    for glob, path, expected in (
        ("*.py", "/d", {"/d/b.py": 1, "/d/e/a.py": 1}),
        ("e/*", "/d", {"/d/e/a.py": 1}),
        ("*.py", "/d/b.py", {"/d/b.py": 1}),
        ("*.md", "/d/b.py", {}),
    ):
        assert (await store.grep(Query("foo"), path, glob)).counts == expected


# What is there


async def test_what_is_at_a_path(store: ObjectStore) -> None:
    await store.put({"/a": b"12", "/d/b": b"345", "/d/e/c": b""})
    paths = ("/", "/a", "/d", "/d/e", "/x", "/a/b")
    kinds = [await store.kind(path) for path in paths]
    assert kinds == ["directory", "file", "directory", "directory", None, None]
    for path, expected in (("/a", {"/a": 2}), ("/d", {"/d/b": 3, "/d/e/c": 0})):
        found = (await store.inventory(path)).files
        assert {info["path"]: info["size"] for info in found} == expected
    with pytest.raises(FileNotFound):
        await store.inventory("/x")
    with pytest.raises(PathRefused, match="reserved"):
        await store.kind("/.langgraph-filesystem/x")


async def test_each_file_is_fetched_or_has_its_error(store: ObjectStore) -> None:
    await store.put({"/a": b"1", "/d/b": b"2"})
    found = await store.fetch(["/a", "/", "/d", "/x", "/.langgraph-filesystem", "/d/b", "/a"])
    assert [one if isinstance(one, bytes) else type(one) for one in found] == [
        *(b"1", IsDirectory, IsDirectory, FileNotFound, PathRefused, b"2", b"1")
    ]


async def test_a_digest_is_of_the_content_or_of_the_version_of_a_large_file(
    store: ObjectStore,
) -> None:
    for size in (0, 1, CHUNK, CHUNK + 1, LIMIT):
        await store.put({"/a": b"x" * size})
        assert await store.digest("/a") == digest_of(b"x" * size)
    digests = []
    for _ in range(2):
        await store.put({"/a": b"x" * (LIMIT + 1)})
        digests += [await store.digest("/a"), await store.digest("/a")]
    assert digests[0] == digests[1] != digests[2] == digests[3]
    assert [await store.digest(path) for path in ("/", "/x", "/a/b")] == [None] * 3


# Changes


async def test_an_edit_is_made_in_what_another_writer_wrote(
    objects: Watched, store: ObjectStore
) -> None:
    await store.put({"/a": b"one"})
    objects.faster = 3
    assert (await store.edit("/a", "one", "two")).occurrences == 1
    assert await store.fetch(["/a"]) == [b"+++two"]


async def test_a_file_that_another_writer_created_is_replaced_only_with_overwrite(
    objects: Watched, store: ObjectStore
) -> None:
    objects.faster = 1
    with pytest.raises(FileExists, match="set `overwrite`"):
        await store.write("/a", "mine")
    assert await store.fetch(["/a"]) == [b"+"]
    await store.write("/a", "mine", overwrite=True)
    assert await store.fetch(["/a"]) == [b"mine"]


async def test_edits_of_one_process_wait_for_each_other(store: ObjectStore) -> None:
    await store.put({"/a": b"".join(b"<%d>" % number for number in range(20))})
    await asyncio.gather(*(store.edit("/a", f"<{number}>", ".") for number in range(20)))
    assert await store.fetch(["/a"]) == [b"." * 20]


@pytest.mark.parametrize(
    ("method", "args", "error", "words"),
    [
        ("write", ("/a", "x"), FileExists, "/a: the file exists"),
        ("write", ("/d", "x"), IsDirectory, "/d"),
        ("write", ("/a/b", "x"), NotDirectory, "/a is a file"),
        ("write", ("/", "x"), IsDirectory, "/"),
        ("write", ("/s", "\ud800"), FilesystemError, "lone surrogate at character 0"),
        ("edit", ("/d", "x", "y"), IsDirectory, "/d"),
        ("edit", ("/", "x", "y"), IsDirectory, "/"),
        ("edit", ("/nothing", "x", "y"), FileNotFound, "/nothing"),
        ("edit", ("/large", "x", "y"), FileTooLarge, "101 bytes"),
        ("edit", ("/binary", "x", "y"), NotText, "binary content"),
        ("edit", ("/a", "1", "\ud800"), FilesystemError, "lone surrogate"),
        ("delete", ("/nothing",), FileNotFound, "/nothing"),
        ("move", ("/nothing", "/b"), FileNotFound, "/nothing"),
        ("move", ("/a", "/d/b"), FileExists, "/d/b"),
        ("move", ("/a", "/d"), IsDirectory, "/d"),
        ("move", ("/d", "/d/e"), FilesystemError, "inside it"),
        ("move", ("/d", "/a/d"), NotDirectory, "/a is a file"),
        ("move", ("/d", "/" + "/".join(["n" * 250] * 16) + "/" + "n" * 78), PathRefused, "longer"),
    ],
)
async def test_what_can_not_be_done_is_an_error_and_changes_nothing(
    objects: Watched, method: str, args: Any, error: type[FilesystemError], words: str
) -> None:
    store = ObjectStore(lambda: objects, 100)
    files = {"/a": b"1", "/d/b": b"2", "/large": b"x" * 101, "/binary": b"\0"}
    await store.put(files)
    with pytest.raises(error) as raised:
        await getattr(store, method)(*args)
    assert words in str(raised.value)
    assert words in str(raised.value.renamed(lambda path: path))
    assert await held(store) == files


async def test_errors_name_paths_that_can_be_renamed(store: ObjectStore) -> None:
    await store.put({"/a": b"1"})
    with pytest.raises(FilesystemError) as raised:
        await store.move("/a", "/a/b")
    shown = str(raised.value.renamed(lambda path: f"/mnt{path}"))
    assert shown.startswith("/mnt/a: can't be moved to /mnt/a/b, which")


async def test_one_bad_file_does_not_keep_the_others_from_being_put(store: ObjectStore) -> None:
    await store.put({"/a": b"old", "/d/b": b""})
    files = ["/a", "/d", "/a/b", "/.langgraph-filesystem/x", "/new\n", "/new/c", "/new/c/d", "/new"]
    failed = await store.put(dict.fromkeys(files, b"new"))
    assert {path: type(error) for path, error in failed.items()} == {
        "/d": IsDirectory,
        "/a/b": NotDirectory,
        "/.langgraph-filesystem/x": PathRefused,
        "/new\n": PathRefused,
        "/new/c/d": NotDirectory,  # a file and a file below it, in one call
        "/new": IsDirectory,
    }
    assert await held(store) == {"/a": b"new", "/d/b": b"", "/new/c": b"new"}


async def test_files_are_put_only_where_none_are(objects: Watched, store: ObjectStore) -> None:
    await store.put({"/a": b"theirs"})
    objects.faster = 1
    failed = await store.put({"/a": b"ours", "/b": b"ours"}, overwrite=False)
    assert {path: type(error) for path, error in failed.items()} == {
        "/a": FileExists,
        "/b": FileExists,
    }
    assert await held(store) == {"/a": b"theirs", "/b": b"+"}
    many = {f"/many/{number}": b"" for number in range(100)}
    assert await store.put(many, overwrite=False) == {}
    assert len(await store.put(many, overwrite=False)) == 100


async def test_what_was_copied_is_deleted_unless_it_has_changed(store: ObjectStore) -> None:
    files = {f"/d/{name}": name.encode() for name in "abc"}
    digests = {path: digest_of(data) for path, data in files.items()}
    await store.put({**files, "/d/b": b"changed", "/d/new": b""})
    assert sorted(await store.delete_copied("/d", digests)) == ["/d/b", "/d/new"]
    assert sorted(await held(store)) == ["/d/b", "/d/new"]
    await store.put(files)
    assert await store.delete_copied("/d", {**digests, "/d/new": digest_of(b"")}) == []
    assert await store.kind("/d") is None


async def test_a_move_does_not_replace_a_file_that_came_meanwhile() -> None:
    class Late(ObstoreObjects):
        async def _copy(self, source: str, destination: str) -> None:
            await self._put(destination, b"theirs")
            await super()._copy(source, destination)

    objects = Late(MemoryStore(), "")
    store = ObjectStore(lambda: objects, LIMIT)
    await store.put({"/a": b"ours"})
    with pytest.raises(BackendFailed, match="/a: another writer"):
        await store.move("/a", "/b")
    assert await held(store) == {"/a": b"ours", "/b": b"theirs"}
