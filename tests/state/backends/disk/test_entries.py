"""Entries of a tree on disk are replaced whole, and only if they are what the caller expects."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem.state.backends.file_store import Entry
from langgraph_filesystem.state.errors import FileChanged
from langgraph_filesystem.state.io import run_sync
from tests.state.backends.disk.places import RESOLVERS, fast_place, store_of, write
from tests.state.workspace.random_trees import tree_of


@pytest.fixture
def root() -> Iterator[Path]:
    with fast_place() as place:
        write(place.root, {"file": "old\n", "tree/a": "a", "tree/deep/b": "b"})
        (place.root / "link").symlink_to("file")
        (place.root / "tree/empty").mkdir()
        yield place.root


@pytest.fixture(params=RESOLVERS)
def store(request: pytest.FixtureRequest, root: Path) -> Any:
    return store_of(root, request.param)


NEW: list[Entry | None] = [
    None,
    Entry("", "file"),
    Entry("", "file", mode=0o751),
    Entry("", "link", target="elsewhere"),
    Entry("", "directory", mode=0o750),
]


@pytest.mark.parametrize("new", NEW)
@pytest.mark.parametrize("path", ["/file", "/tree", "/link", "/missing/x"])
def test_anything_becomes_anything(store: Any, root: Path, path: str, new: Entry | None) -> None:
    before = run_sync(store.fingerprint(path))
    assert (before is None) == path.startswith("/missing")
    run_sync(store.replace(path, new, b"new", before))
    found, name = tree_of(root), path[1:]
    if new is None:
        assert not any(one == name or one.startswith(f"{name}/") for one in found)
    elif new.kind == "file":
        assert found[name] == ("file", oct(new.mode or 0o644), b"new")
    else:
        assert found[name] == (new.kind, new.target or oct(new.mode or 0))
    assert not [one for one in found if "lgfs" in one]


@pytest.mark.parametrize("new", NEW)
@pytest.mark.parametrize("path", ["/file", "/tree", "/link", "/new"])
def test_what_has_changed_is_left_alone(
    store: Any, root: Path, path: str, new: Entry | None
) -> None:
    before = run_sync(store.fingerprint(path))
    match path:
        case "/tree":
            write(root, {"tree/deep/c": "by others"})
        case "/link":
            (root / "link").unlink()
            (root / "link").symlink_to("tree")
        case _:
            write(root, {path[1:]: "by others"})
    after = tree_of(root)
    if before is None and new is None:
        return  # nothing was there to remove
    with pytest.raises(FileChanged):
        run_sync(store.replace(path, new, b"new", before))
    assert tree_of(root) == after


def test_a_fingerprint_of_a_tree_changes_with_any_file_in_it(store: Any, root: Path) -> None:
    known = {run_sync(store.fingerprint("/tree"))}
    for change in (
        lambda: (root / "tree/deep/b").write_text("bb"),
        lambda: os.utime(root / "tree/a", ns=(1, 1)),
        lambda: (root / "tree/deep/b").rename(root / "tree/deep/c"),
        lambda: (root / "tree/link").symlink_to("a"),
        lambda: (root / "tree/a").unlink(),
    ):
        change()
        known.add(run_sync(store.fingerprint("/tree")))
    assert len(known) == 6
    os.rename(root / "tree", root / "moved")
    assert run_sync(store.fingerprint("/moved")) in known
    assert run_sync(store.fingerprint("/tree")) is None


def test_entries_are_told_with_modes_and_links(store: Any, root: Path) -> None:
    (root / "tree/a").chmod(0o640)
    found = {one.path: one for one in run_sync(store.entries("/tree"))}
    assert sorted(found) == ["/tree", "/tree/a", "/tree/deep", "/tree/deep/b", "/tree/empty"]
    assert (found["/tree/a"].kind, found["/tree/a"].mode, found["/tree/a"].size) == (
        "file",
        0o640,
        1,
    )
    [link] = run_sync(store.entries("/link", below=False))
    assert (link.kind, link.target) == ("link", "file")
    assert run_sync(store.entries("/file/below")) == []


def test_what_a_killed_process_left_is_put_back_or_removed(store: Any, root: Path) -> None:
    held, gone = root / ".~lgfs-held", root / ".~lgfs-deleted-0123456789abcdef"
    held.mkdir()
    (root / "file").rename(held / "file")
    (root / "tree").rename(gone)
    (root / ".~lgfs-0123456789abcdef").touch()
    run_sync(store.tidy(["/", "/missing"]))
    assert tree_of(root) == {"file": ("file", "0o644", b"old\n"), "link": ("link", "file")}
