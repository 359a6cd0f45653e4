"""What is at a path, by one question or by many lists, and without looking into files."""

import os
from pathlib import Path
from typing import Any

import pytest
from langgraph.runtime import Runtime
from langgraph.store.memory import InMemoryStore

from langgraph_filesystem.state.backends.filesystem import FilesystemBackend
from langgraph_filesystem.state.backends.objects.store import StoreBackend
from langgraph_filesystem.state.backends.state import StateBackend
from langgraph_filesystem.state.errors import FilesystemError
from langgraph_filesystem.state.inventories import Found, Item, find_all, is_anything, is_taken
from langgraph_filesystem.state.io import Blocking
from langgraph_filesystem.state.mounts import Mounts
from langgraph_filesystem.state.view import View
from tests.nodes.backends import Shelf

FILES = {"/d/a": b"12", "/d/sub/b": b"345", "/c": b""}


class Unread(Shelf):
    """A shelf that gives nothing away, and says how large it is."""

    def ls(self, path: str) -> Any:
        found = super().ls(path)
        for info in found.entries or ():
            if not info.get("is_dir"):
                info["size"] = len(self.files[info["path"]])
        return found

    def download_files(self, paths: list[str]) -> Any:
        assert not self.files.keys() & paths
        return super().download_files(paths)


def view_of(kind: str, directory: Path) -> View:
    made: dict[str, Any] = {
        "disk": lambda: FilesystemBackend(directory),
        "store": lambda: StoreBackend(("x",), store=InMemoryStore()),
        "shelf": Unread,
        "state": StateBackend,
    }
    backend = made[kind]()
    files: Any = {f"/m{path}": {"content": text.decode()} for path, text in FILES.items()}
    if kind != "state":
        backend.upload_files(list(FILES.items()))
        files = {}
    return View(Mounts({"/m": backend}), Blocking(), Runtime(), files)


def paths_of(found: Found) -> dict[str, int | None]:
    return {item.path: item.size for item in found.files}


@pytest.mark.parametrize("kind", ["disk", "store", "shelf", "state"])
async def test_every_file_is_found_with_its_size(kind: str, tmp_path: Path) -> None:
    view = view_of(kind, tmp_path)
    mount = view.mounts.locate("/m/d")
    assert paths_of(await find_all(view, mount, "/m/d")) == {"/m/d/a": 2, "/m/d/sub/b": 3}
    assert paths_of(await find_all(view, mount, "/m/d/sub/b")) == {"/m/d/sub/b": 3}
    assert paths_of(await find_all(view, mount, "/m/c")) == {"/m/c": 0}
    with pytest.raises(FilesystemError, match="/m/none"):
        await find_all(view, mount, "/m/none")


@pytest.mark.parametrize("kind", ["disk", "store", "shelf", "state"])
async def test_what_is_at_a_path_is_known(kind: str, tmp_path: Path) -> None:
    view = view_of(kind, tmp_path)
    mount = view.mounts.locate("/m/d")
    for path in ("/m/d", "/m/d/sub", "/m/d/a", "/m/c"):
        assert await is_anything(view, mount, path)
        assert await is_taken(view, mount, path)
    assert not await is_anything(view, mount, "/m/none")
    assert not await is_taken(view, mount, "/m/none")


async def test_a_directory_with_nothing_in_it_is_not_taken(tmp_path: Path) -> None:
    view = view_of("disk", tmp_path)
    (tmp_path / "empty").mkdir()
    mount = view.mounts.locate("/m/empty")
    assert await is_anything(view, mount, "/m/empty")
    assert not await is_taken(view, mount, "/m/empty")
    assert await find_all(view, mount, "/m/empty") == Found([], empty=1)


async def test_an_entry_that_can_not_be_moved_is_named_as_the_model_knows_it(
    tmp_path: Path,
) -> None:
    view = view_of("disk", tmp_path)
    os.mkfifo(tmp_path / "d" / "sub" / "odd")
    with pytest.raises(FilesystemError, match=r"^/m/d/sub/odd: is a FIFO"):
        await find_all(view, view.mounts.locate("/m/d"), "/m/d")


def test_an_item_is_what_a_backend_would_say_of_it() -> None:
    assert Item("/a", None).info == {"path": "/a"}
    assert Item("/a", 0, "now").info == {"path": "/a", "size": 0, "modified_at": "now"}


async def test_what_a_list_says_of_the_time_tells_one_state_from_another() -> None:
    class Dated(Shelf):
        def ls(self, path: str) -> Any:
            found = super().ls(path)
            for info in found.entries or ():
                info["modified_at"] = "today"
            return found

    view = View(Mounts({"/m": Dated(d__a="1", c="2")}), Blocking(), Runtime(), {})
    mount = view.mounts.locate("/m")
    assert await find_all(view, mount, "/m/d") == Found([Item("/m/d/a", None, "today")])
    assert await find_all(view, mount, "/m/c") == Found([Item("/m/c", None, "today")])
