"""Many files of a remote store: surveyed with few requests, and written one by one."""

from typing import Any

import pytest
from obstore.store import MemoryStore

from langgraph_filesystem.state.backends.objects import Entry, Listing, Survey
from langgraph_filesystem.state.backends.obstore_objects import ObstoreObjects
from langgraph_filesystem.state.backends.obstore_requests import ObstoreClient
from langgraph_filesystem.state.backends.remote_surveys import survey_each, write_each
from langgraph_filesystem.state.errors import BackendFailed, FilesystemError
from langgraph_filesystem.state.io import Awaiting


class Asked(ObstoreObjects):
    """Remembers what it was asked for."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.infos: list[str] = []
        self.lists: list[str] = []

    async def info(self, path: str) -> Entry | None:
        self.infos.append(path)
        return await super().info(path)

    async def children(self, directory: str) -> Listing:
        self.lists.append(directory)
        return await super().children(directory)


@pytest.fixture
async def objects() -> Asked:
    objects = Asked(ObstoreClient(MemoryStore()), "", Awaiting())
    await objects.replace({"/a": b"", "/d/e/f": b"", **{f"/m/{n}": b"" for n in range(5)}})
    return objects


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", Survey()),
        ("/new", Survey()),
        ("/a", Survey(is_file=True)),
        ("/a/b/c", Survey(above="/a")),
        ("/d", Survey(is_directory=True)),
        ("/d/e", Survey(is_directory=True)),
        ("/d/e/f", Survey(is_file=True)),
        ("/m/new", Survey()),
    ],
)
async def test_a_survey_says_what_is_at_a_path(objects: Asked, path: str, expected: Survey) -> None:
    assert await survey_each(Awaiting(), objects, [path]) == [expected]
    # The same when there are so many of one directory that it is listed.
    beside = [f"{path.rpartition('/')[0]}/beside{number}" for number in range(9)]
    [found, *others] = await survey_each(Awaiting(), objects, [path, *beside])
    assert found == expected
    assert others == [Survey(above=expected.above)] * 9


async def test_many_paths_of_one_directory_are_asked_for_by_one_list(objects: Asked) -> None:
    paths = [f"/m/{number}" for number in range(100)]
    surveys = await survey_each(Awaiting(), objects, paths)
    assert [survey.is_file for survey in surveys] == [True] * 5 + [False] * 95
    assert objects.lists == ["/m"]
    assert objects.infos == ["/m"]


async def test_for_few_paths_a_directory_is_not_listed(objects: Asked) -> None:
    surveys = await survey_each(Awaiting(), objects, ["/m/1", "/m/9"])
    assert surveys == [Survey(is_file=True), Survey()]
    assert objects.lists == []


async def test_a_file_that_can_not_be_written_does_not_stop_the_others() -> None:
    written: dict[str, bytes] = {}

    async def write(path: str, content: bytes) -> None:
        if path == "/bad":
            raise BackendFailed("/bad: no.")
        written[path] = content

    failed = await write_each(Awaiting(), write, {"/a": b"1", "/bad": b"2", "/c": b"3"})
    assert written == {"/a": b"1", "/c": b"3"}
    assert {path: str(error) for path, error in failed.items()} == {"/bad": "/bad: no."}
    assert isinstance(failed["/bad"], FilesystemError)


async def test_a_fault_in_the_program_is_raised() -> None:
    async def write(path: str, content: bytes) -> None:
        raise KeyError(path)

    with pytest.raises(KeyError):
        await write_each(Awaiting(), write, {"/a": b"1", "/b": b"2"})
