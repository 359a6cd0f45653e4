"""After a crash a call knows its own work: done, not done, or something else is there."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from langgraph_filesystem.state.backends.disk.jail import RESERVED
from langgraph_filesystem.state.backends.notes import Notes
from langgraph_filesystem.state.backends.protocol import Outcome
from tests.state.backends.disk.places import RESOLVERS, Place, largest_file, unprivileged

DONE = Outcome(finished=True)
UNKNOWN = Outcome(finished=False)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    (place.root / "file").write_text("one")
    return place


@pytest.fixture(params=RESOLVERS)
def backend(place: Place, request: pytest.FixtureRequest) -> Iterator[FilesystemBackend]:
    backend = FilesystemBackend(place.root, resolver=request.param, max_file_size_mb=1)
    yield backend
    backend.close()


def test_of_a_call_that_was_never_begun_nothing_is_known(backend: FilesystemBackend) -> None:
    assert backend.recall("s.g.0") is None
    backend.edit("/file", "one", "two")
    assert backend.recall("s.g.0") is None


def test_a_write(backend: FilesystemBackend, place: Place) -> None:
    backend.write("/new/file", "text", once="s.g.0")
    assert backend.recall("s.g.0") == DONE
    (place.root / "new/file").unlink()
    assert backend.recall("s.g.0") is None
    (place.root / "new/file").write_text("of somebody else")
    assert backend.recall("s.g.0") == UNKNOWN


def test_an_edit(backend: FilesystemBackend, place: Place) -> None:
    (place.root / "file").write_text("a b a")
    backend.edit("/file", "a", "c", replace_all=True, once="s.g.0")
    assert backend.recall("s.g.0") == Outcome(finished=True, occurrences=2)
    (place.root / "file").write_text("a b a")
    assert backend.recall("s.g.0") is None
    (place.root / "file").write_text("of somebody else")
    assert backend.recall("s.g.0") == UNKNOWN


def test_a_change_of_a_file_that_is_too_large_for_a_digest(
    backend: FilesystemBackend, place: Place
) -> None:
    backend.write("/large", "x" * 2_000_000, once="s.g.0")
    assert backend.recall("s.g.0") == DONE
    backend.write("/large", "y" * 2_000_000, overwrite=True, once="s.g.1")
    assert backend.recall("s.g.0") == backend.recall("s.g.1") == DONE
    (place.root / "large").write_text("z" * 2_000_000)
    assert backend.recall("s.g.1") == UNKNOWN


def test_the_effect_comes_after_the_note(backend: FilesystemBackend, place: Place) -> None:
    """A change that fails at the last moment leaves a note, and the file as it was."""
    with largest_file(1_000):
        result = backend.edit("/file", "one", "x" * 2_000, once="s.g.0")
    assert result.error is not None
    assert backend.recall("s.g.0") is None


def test_several_edits_of_a_file_by_one_message(backend: FilesystemBackend, place: Place) -> None:
    """What one call left is gone when the next one has changed it: its note tells that it was."""
    backend.edit("/file", "one", "two", once="s.g.0")
    backend.edit("/file", "two", "three", once="s.g.1")
    backend.edit("/file", "three", "four", once="s.g.2")
    outcomes = [backend.recall(f"s.g.{number}") for number in range(4)]
    assert outcomes == [Outcome(finished=True, occurrences=1)] * 3 + [None]


def test_edits_that_go_back_and_forth(backend: FilesystemBackend, place: Place) -> None:
    """The file is as it was before the first call, and yet that one was carried out."""
    backend.edit("/file", "one", "two", once="s.g.0")
    backend.edit("/file", "two", "one", once="s.g.1")
    assert backend.recall("s.g.0") == Outcome(finished=True, occurrences=1)
    assert backend.recall("s.g.1") == Outcome(finished=True, occurrences=1)
    (place.root / "file").write_text("two")  # the second was noted, then the process died
    assert backend.recall("s.g.0") == Outcome(finished=True, occurrences=1)
    assert backend.recall("s.g.1") is None


def test_a_delete(backend: FilesystemBackend, place: Place) -> None:
    backend.delete("/file", once="s.g.0")
    assert backend.recall("s.g.0") == DONE
    (place.root / "file").write_text("new")
    assert backend.recall("s.g.0") == UNKNOWN


def test_a_delete_that_has_not_happened(backend: FilesystemBackend, place: Place) -> None:
    (place.root / "file").chmod(0o444)
    (place.root / RESERVED).mkdir()
    place.root.chmod(0o555)
    with unprivileged(place.root, place.root / RESERVED, place.root / "file"):
        assert backend.delete("/file", once="s.g.0").error is not None
        place_is_left = backend.recall("s.g.0")
    place.root.chmod(0o755)
    assert place_is_left is None


@pytest.mark.parametrize("kind", ["directory", "link"])
def test_a_delete_of_what_is_no_file(backend: FilesystemBackend, place: Place, kind: str) -> None:
    if kind == "link":
        (place.root / "odd").symlink_to("file")
    else:
        (place.root / "odd/sub").mkdir(parents=True)
    backend.delete("/odd", once="s.g.0")
    assert backend.recall("s.g.0") == DONE
    assert (place.root / "file").exists()


def test_a_delete_that_was_half_done_is_done_again(
    backend: FilesystemBackend, place: Place
) -> None:
    (place.root / "tree/sub").mkdir(parents=True)
    backend._journal.begin_delete("s.g.0", "/tree")
    (place.root / "tree/sub").rmdir()
    assert backend.recall("s.g.0") is None


@pytest.mark.parametrize("kind", ["file", "directory", "link"])
def test_a_move(backend: FilesystemBackend, place: Place, kind: str) -> None:
    if kind == "link":
        (place.root / "start").symlink_to("file")
    elif kind == "directory":
        (place.root / "start/sub").mkdir(parents=True)
    else:
        (place.root / "start").write_text("x")
    backend.move("/start", "/deep/end", once="s.g.0")
    assert backend.recall("s.g.0") == DONE
    os.rename(place.root / "deep/end", place.root / "start")
    assert backend.recall("s.g.0") is None
    os.rename(place.root / "start", place.root / "elsewhere")
    assert backend.recall("s.g.0") == UNKNOWN


def test_an_upload(backend: FilesystemBackend, place: Place) -> None:
    files = [("/file", b"\0new"), ("/a/other", b"text"), ("large", b"x" * 2_000_000)]
    backend.upload_files(files[:2], once="s.g.0")
    assert backend.recall("s.g.0") == DONE
    (place.root / "file").write_text("one")
    assert backend.recall("s.g.0") is None  # half of it: all of it can be done again
    (place.root / "file").write_text("of somebody else")
    assert backend.recall("s.g.0") == UNKNOWN
    backend.upload_files(files, once="s.h.0")
    assert backend.recall("s.h.0") == UNKNOWN  # of a large file it can't be told
    assert backend.recall("s.g.0") is None


def test_notes_of_the_message_before_are_gone(backend: FilesystemBackend) -> None:
    backend.edit("/file", "one", "two", once="s.g.0")
    backend.edit("/file", "two", "three", once="s.h.0")
    backend.edit("/file", "three", "four", once="t.g.0")
    assert backend.recall("s.g.0") is None
    assert backend.recall("s.h.0") == UNKNOWN
    assert backend.recall("t.g.0") == Outcome(finished=True, occurrences=1)


def test_nothing_is_changed_that_can_not_be_noted(
    backend: FilesystemBackend, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Notes, "put", fail)
    answers: list[Any] = [
        backend.edit("/file", "one", "two", once="s.g.0"),
        backend.write("/new/file", "x", once="s.g.1"),
        backend.delete("/file", once="s.g.2"),
        backend.move("/file", "/other/place", once="s.g.3"),
        backend.upload_files([("/file", b"x")], once="s.g.4")[0],
    ]
    for answer in answers:
        assert answer.error is not None
        assert "/file: was not changed" in answer.error
        assert str(place.root) not in answer.error
    assert os.listdir(place.root) == ["file"]
    assert (place.root / "file").read_text() == "one"
    assert backend.recall("s.g.0") is None


def test_a_full_disk_keeps_nobody_from_deleting(
    backend: FilesystemBackend, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with largest_file(0):
        assert backend.edit("/file", "one", "two", once="s.g.0").error is not None

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(backend._journal.journal, "begin", full)
    assert backend.edit("/file", "one", "two", once="s.g.0").error is not None
    assert backend.delete("/file", once="s.g.1").error is None
    assert not (place.root / "file").exists()


@pytest.mark.parametrize("name", ["file", "directory"])
def test_what_was_received(backend: FilesystemBackend, place: Place, name: str) -> None:
    (place.root / "directory").mkdir()
    status = os.stat(place.root / name)
    backend._journal.begin_receive(None, "/new", status)
    assert backend.recall("s.g.0") is None
    backend._journal.begin_receive("s.g.0", "/new", status)
    assert backend.recall("s.g.0") is None
    (place.root / name).rename(place.root / "new")
    assert backend.recall("s.g.0") == DONE
    (place.root / "new").rename(place.root / "away")
    (place.root / "new").write_text("something else")
    assert backend.recall("s.g.0") == UNKNOWN
