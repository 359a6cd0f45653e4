"""Deleting a tree: all of it, nothing but it, however deep."""

import errno
import os
import threading
import time
from collections.abc import Iterator

import pytest

from langgraph_filesystem.state.backends.removal import remove_tree
from tests.state.backends.disk.places import Place, fast_place, nested, open_handles


@pytest.fixture
def place() -> Iterator[Place]:
    with fast_place() as place:
        yield place


def remove(place: Place, name: str) -> None:
    parent = os.open(place.root, os.O_RDONLY)
    try:
        remove_tree(parent, name)
    finally:
        os.close(parent)


def test_everything_below_goes_and_links_are_not_followed(place: Place) -> None:
    for name in ("a/b/c/file", "a/b/file", "a/d/file", "beside"):
        (place.root / name).parent.mkdir(parents=True, exist_ok=True)
        (place.root / name).write_text("x")
    (place.root / "a/b/link").symlink_to(place.outside)
    (place.root / "a/link").symlink_to("../beside")
    os.mkfifo(place.root / "a/fifo")
    (place.root / os.fsdecode(b"a/\xff\n")).mkdir()
    before = open_handles()
    remove(place, "a")
    assert os.listdir(place.root) == ["beside"]
    assert place.is_untouched_outside()
    assert open_handles() <= before


def test_a_tree_deeper_than_any_path_is_long_goes(place: Place) -> None:
    with nested(place.root, 3_000):
        began = time.monotonic()
        remove(place, "d")
        assert time.monotonic() - began < 5
        assert os.listdir(place.root) == []


def test_a_wide_tree_is_gone_through_once(place: Place) -> None:
    (place.root / "wide").mkdir()
    for number in range(3_000):
        (place.root / f"wide/{number}").mkdir()
    began = time.monotonic()
    remove(place, "wide")
    assert time.monotonic() - began < 5
    assert os.listdir(place.root) == []


def test_a_link_is_not_a_tree(place: Place) -> None:
    (place.root / "link").symlink_to(place.outside)
    with pytest.raises(NotADirectoryError):
        remove(place, "link")
    assert place.is_untouched_outside()


def test_the_way_back_is_not_taken_once_it_leads_elsewhere(place: Place) -> None:
    """The directory that is being emptied is moved beside `b`, which its `..` then leads to."""
    busy, b = place.root / "a/busy", place.outside / "b"
    busy.mkdir(parents=True)
    b.mkdir()
    for number in range(5_000):
        os.mknod(busy / str(number))
    failures: list[OSError] = []

    def work() -> None:
        try:
            remove(place, "a")
        except OSError as error:
            failures.append(error)

    worker = threading.Thread(target=work)
    worker.start()
    while len(os.listdir(busy)) == 5_000:
        time.sleep(0.0001)
    os.rename(busy, place.outside / "busy")
    worker.join()
    assert [error.errno for error in failures] == [errno.ESTALE]
    assert sorted(os.listdir(place.outside)) == ["b", "busy", "secret.txt"]
