"""An `fsspec` filesystem as objects: links, directories, and who was faster."""

import os
import uuid
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem.state.backends.fsspec_client import FsspecClient
from langgraph_filesystem.state.backends.fsspec_objects import FsspecObjects
from langgraph_filesystem.state.backends.objects import Changed
from langgraph_filesystem.state.errors import PathRefused, PermissionDenied
from langgraph_filesystem.state.io import Awaiting
from tests.state.backends import buckets
from tests.state.backends.disk.places import Place

IO = Awaiting()


@pytest.fixture(params=["disk", "memory", "awaited memory"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> FsspecObjects:
    match request.param:
        case "disk":
            return FsspecObjects(FsspecClient(buckets.disk()), str(tmp_path), IO)
        case "memory":
            filesystem = buckets.memory()
        case _:
            filesystem = buckets.awaited_memory(asynchronous=True)
    return FsspecObjects(FsspecClient(filesystem), f"/{uuid.uuid4()}", IO)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def on_disk(place: Place) -> FsspecObjects:
    return FsspecObjects(FsspecClient(buckets.disk()), str(place.root), IO)


async def contents(objects: FsspecObjects) -> dict[str, bytes]:
    paths = sorted(entry.path for entry in (await objects.below("/")).files)
    blobs = await objects.get_many(paths)
    return {path: blob.content for path, blob in zip(paths, blobs, strict=True) if blob}


async def test_bytes_are_fetched_by_their_range(objects: FsspecObjects) -> None:
    await objects.create("/d/a", b"12345")
    for start, length, expected in ((0, None, b"12345"), (1, 2, b"23"), (3, 9, b"45"), (5, 9, b"")):
        blob = await objects.get("/d/a", start, length)
        assert blob is not None
        assert (blob.content, blob.size) == (expected, 5)
    assert [await objects.get(path) for path in ("/d", "/d/a/b", "/x")] == [None] * 3


async def test_who_is_slower_notices(objects: FsspecObjects) -> None:
    await objects.create("/a", b"1")
    with pytest.raises(Changed):
        await objects.create("/a", b"2")
    old = await objects.get("/a")
    assert old is not None
    await objects.update("/a", b"22", old)
    with pytest.raises(Changed):
        await objects.update("/a", b"333", old)
    with pytest.raises(Changed):
        await objects.get("/a", 1, 1, old)
    assert await contents(objects) == {"/a": b"22"}


async def test_a_move_covers_nothing_and_is_whole_or_not_at_all(objects: FsspecObjects) -> None:
    files = {"/d/a": b"1", "/d/b": b"2", "/e/b": b"3"}
    await objects.replace(files)
    with pytest.raises(Changed):
        await objects.rename([("/d/a", "/e/a"), ("/d/b", "/e/b")])
    assert await contents(objects) == files
    await objects.rename([("/d/a", "/f/a"), ("/d/b", "/f/b")])
    assert await contents(objects) == {"/e/b": b"3", "/f/a": b"1", "/f/b": b"2"}


async def test_notes_are_kept_and_in_no_list(objects: FsspecObjects) -> None:
    assert await objects.note_names("scope") == []
    assert await objects.note("scope", "1.0") is None
    await objects.put_note("scope", "1.0", b"{}")
    await objects.put_note("scope", "1.1", b"{}")
    await objects.remove_notes("scope", ["1.1", "1.2"])
    assert await objects.note_names("scope") == ["1.0"]
    assert await objects.note("scope", "1.0") == b"{}"
    found = await objects.children("/")
    assert (found.files, found.directories, await contents(objects)) == ([], set(), {})


async def test_directories_that_are_empty_then_go_with_the_last_file(
    on_disk: FsspecObjects, place: Place
) -> None:
    await on_disk.replace({"/d/e/f": b"", "/d/g": b""})
    (place.root / "kept").mkdir()
    await on_disk.remove(["/d/e/f", "/d/nothing"])
    assert sorted(os.listdir(place.root / "d")) == ["g"]
    await on_disk.remove(["/d/g"])
    assert not (place.root / "d").exists()
    assert await on_disk.is_directory("/kept")
    assert await on_disk.remove_directory("/kept")
    assert place.root.exists()


@pytest.mark.parametrize("path", ["/link", "/links/secret.txt", "/links/new"])
async def test_no_link_of_a_disk_is_followed(
    on_disk: FsspecObjects, place: Place, path: str
) -> None:
    (place.root / "link").symlink_to(place.outside / "secret.txt")
    (place.root / "links").symlink_to(place.outside)
    calls: list[Any] = [on_disk.create(path, b"x"), on_disk.remove([path])]
    if not path.endswith("new"):
        calls += [on_disk.get(path), on_disk.info(path)]
    for call in calls:
        with pytest.raises(PathRefused, match="symbolic link"):
            await call
    assert path in str((await on_disk.replace({path: b"x"}))[path])
    with pytest.raises(PathRefused):
        await on_disk.children("/links")
    assert place.is_untouched_outside()


async def test_what_the_host_refuses_is_told_without_its_path(
    on_disk: FsspecObjects, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied", str(place.root))

    await on_disk.create("/a", b"1")
    monkeypatch.setattr(on_disk._client.filesystem, "cat_file", refused)
    with pytest.raises(PermissionDenied) as told:
        await on_disk.get("/a")
    assert str(told.value).startswith("/a: permission denied")
    assert str(place.root) not in str(told.value)
