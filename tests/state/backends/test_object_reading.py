"""Looking at objects: pages of them, what is binary, and what becomes of them meanwhile."""

import base64
from typing import Any

import pytest
from obstore.store import MemoryStore

from langgraph_filesystem.state.backends.object_access import CHUNK
from langgraph_filesystem.state.backends.object_pages import Bookmarks
from langgraph_filesystem.state.backends.object_reading import Reading
from langgraph_filesystem.state.backends.objects import Blob
from langgraph_filesystem.state.backends.obstore_objects import ObstoreObjects
from langgraph_filesystem.state.backends.obstore_requests import ObstoreClient
from langgraph_filesystem.state.backends.protocol import ReadResult
from langgraph_filesystem.state.io import Awaiting

IO = Awaiting()
LIMIT = 2 * CHUNK
LARGE = b"".join(b"line %07d\n" % number for number in range(300_000))


class Fetched(ObstoreObjects):
    """Remembers which bytes were fetched."""

    def __init__(self) -> None:
        super().__init__(ObstoreClient(MemoryStore()), "", IO)
        self.starts: list[int] = []
        self.before_next: dict[str, bytes] = {}

    async def get(self, path: str, start: int = 0, *args: Any, **options: Any) -> Blob | None:
        self.starts.append(start)
        blob = await super().get(path, start, *args, **options)
        if self.before_next:
            await self.replace(self.before_next)
        return blob


@pytest.fixture
def objects() -> Fetched:
    return Fetched()


@pytest.fixture
def reading(objects: Fetched) -> Reading:
    return Reading(lambda: objects, IO, LIMIT, Bookmarks())


def content(result: ReadResult) -> str:
    assert result.error is None
    assert result.file_data is not None
    return result.file_data["content"]


async def test_a_small_file_is_fetched_once_and_all_is_known_of_it(
    objects: Fetched, reading: Reading
) -> None:
    await objects.replace({"/a": b"1\n2\n3"})
    result = await reading.read("/a", 1, 1)
    assert content(result) == "2\n"
    assert (result.start_line, result.end_line, result.total_lines) == (2, 2, 3)
    assert (result.next_offset, objects.starts) == (2, [0])
    assert result.file_data is not None
    assert "modified_at" in result.file_data


async def test_pages_of_a_large_file_go_on_where_the_last_one_ended(
    objects: Fetched, reading: Reading
) -> None:
    await objects.replace({"/a": LARGE})
    first = await reading.read("/a", 200_000, 2)
    assert content(first) == "line 0200000\nline 0200001\n"
    assert (first.total_lines, first.next_offset) == (None, 200_002)
    objects.starts.clear()
    assert content(await reading.read("/a", 200_002, 1)) == "line 0200002\n"
    assert objects.starts == [200_002 * 13]


async def test_a_bookmark_of_what_a_file_was_is_not_used(
    objects: Fetched, reading: Reading
) -> None:
    await objects.replace({"/a": LARGE})
    await reading.read("/a", 200_000, 1)
    await objects.replace({"/a": b"x" + LARGE[1:]})
    objects.starts.clear()
    assert content(await reading.read("/a", 200_001, 1)) == "line 0200001\n"
    assert objects.starts[:2] == [200_001 * 13, 0]


async def test_a_file_that_changes_within_a_page_is_no_mixture(
    objects: Fetched, reading: Reading
) -> None:
    await objects.replace({"/a": LARGE})
    objects.before_next = {"/a": LARGE.upper()}
    result = await reading.read("/a", 200_000, 2)
    assert "/a: somebody else changed it" in (result.error or "")


@pytest.mark.parametrize("data", [b"a\0b", b"\xff\xfe", b"text \xc3"])
async def test_what_is_no_text_comes_as_bytes(
    objects: Fetched, reading: Reading, data: bytes
) -> None:
    await objects.replace({"/a": data})
    result = await reading.read("/a")
    assert base64.b64decode(content(result)) == data
    assert result.file_data is not None
    assert result.file_data["encoding"] == "base64"


@pytest.mark.parametrize(
    ("data", "words"), [(b"\0" * LIMIT, "binary content"), (b"\xff" * LIMIT, "not UTF-8")]
)
async def test_what_is_no_text_and_too_large_is_refused_with_its_size(
    objects: Fetched, reading: Reading, data: bytes, words: str
) -> None:
    await objects.replace({"/a": data + b"\0"})
    error = (await reading.read("/a")).error or ""
    assert words in error
    assert "2,097,153 bytes" in error


async def test_a_list_has_files_with_sizes_and_directories(
    objects: Fetched, reading: Reading
) -> None:
    await objects.replace({"/a": b"12", "/d/e/f": b""})
    found = [(i["path"], i["is_dir"], i.get("size")) for i in (await reading.ls("/")).entries or ()]
    assert found == [("/a", False, 2), ("/d", True, None)]
    assert "is a file" in ((await reading.ls("/a")).error or "")
    assert "no such" in ((await reading.ls("/x")).error or "")


async def test_a_pattern_for_files_is_relative_to_where_the_search_is(
    objects: Fetched, reading: Reading
) -> None:
    await objects.replace({"/d/e/a.py": b"foo", "/d/b.py": b"foo", "/d/b.md": b"foo"})
    for pattern, path, expected in (
        ("*.py", "/d", {"/d/b.py": 1, "/d/e/a.py": 1}),
        ("e/*", "/d", {"/d/e/a.py": 1}),
        ("*.py", "/d/b.py", {"/d/b.py": 1}),
        ("*.md", "/d/b.py", {}),
    ):
        assert (await reading.grep("foo", path, pattern)).counts == expected


async def test_an_inventory_is_a_file_or_all_that_is_below(
    objects: Fetched, reading: Reading
) -> None:
    await objects.replace({"/a": b"12", "/d/b": b"345", "/d/e/c": b""})
    found = (await reading.inventory("/a")).files
    assert [(info["path"], info["size"]) for info in found] == [("/a", 2)]
    found = (await reading.inventory("/d")).files
    assert {info["path"]: info["size"] for info in found} == {"/d/b": 3, "/d/e/c": 0}
    assert "/none: no such file" in ((await reading.inventory("/none")).error or "")
    assert objects.starts == []


async def test_an_inventory_tells_a_file_from_one_of_the_same_size_and_time(
    objects: Fetched, reading: Reading
) -> None:
    async def stamps() -> list[tuple[str, str]]:
        found = [*(await reading.inventory("/d")).files, *(await reading.inventory("/d/b")).files]
        dates = [info["modified_at"].partition(" ") for info in found]
        return [(date, version) for date, _, version in dates]

    await objects.replace({"/d/b": b"old"})
    before = await stamps()
    assert before == await stamps()
    await objects.replace({"/d/b": b"new"})
    for (_, old), (_, new) in zip(before, await stamps(), strict=True):
        assert old != new
