"""The directory that holds a file: found behind links, made where it is missing."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from langgraph_filesystem.state.backends.beneath import O_PATH, openat2, walk
from langgraph_filesystem.state.backends.parents import (
    Beneath,
    find_holder,
    make_parents,
    split,
)
from tests.state.backends.disk.places import Place, open_handles


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture(params=[openat2, walk], ids=["openat2", "walk"])
def beneath(place: Place, request: pytest.FixtureRequest) -> Iterator[Beneath]:
    root = os.open(place.root, O_PATH | os.O_DIRECTORY)
    opener = partial(request.param, root)
    before = open_handles()
    yield lambda path, flags: opener(path[1:] or ".", flags, 0)
    assert open_handles() <= before
    os.close(root)


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/", ("/", "")), ("/a", ("/", "a")), ("/a/b", ("/a", "b")), ("/a/b/..", ("/a/b", ".."))],
)
def test_a_path_is_a_directory_and_a_name(path: str, expected: tuple[str, str]) -> None:
    assert split(path) == expected


def test_only_what_is_missing_is_made(place: Place, beneath: Beneath) -> None:
    (place.root / "a/b").mkdir(parents=True)
    (place.root / "a/link").symlink_to("b")
    assert make_parents("/a/b/c", beneath) == []
    assert make_parents("/a/link/c/d/e", beneath) == ["/a/link/c", "/a/link/c/d"]
    assert (place.root / "a/b/c/d").is_dir()
    assert make_parents("/x", beneath) == []
    assert make_parents("/x/y", beneath) == ["/x"]


@pytest.mark.parametrize(
    ("target", "kind"),
    [("nothing", NotADirectoryError), ("file", NotADirectoryError), ("../the-outside", OSError)],
)
def test_nothing_is_made_behind_a_link_that_leads_nowhere(
    place: Place, beneath: Beneath, target: str, kind: type[OSError]
) -> None:
    (place.root / "file").touch()
    (place.root / "link").symlink_to(target)
    with pytest.raises(kind):
        make_parents("/link/a/b/c", beneath)
    assert sorted(os.listdir(place.root)) == ["file", "link"]
    assert place.is_untouched_outside()


def test_links_are_followed_from_where_they_are(place: Place, beneath: Beneath) -> None:
    (place.root / "a/b").mkdir(parents=True)
    (place.root / "a/file").touch()
    (place.root / "a/b/up").symlink_to("../file")
    (place.root / "away").symlink_to("a/b/up")
    asked: list[tuple[str, str]] = []

    def behind(directory: str, target: str) -> str:
        asked.append((directory, target))
        return f"{directory.rstrip('/')}/{target}"

    parent, name = find_holder("/away", beneath, behind)
    assert name == "file"
    assert os.path.samestat(os.fstat(parent), (place.root / "a").stat())
    assert asked == [("/", "a/b/up"), ("/a/b", "../file")]
    os.close(parent)
