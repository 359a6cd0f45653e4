"""After a crash a call recognises its own work: done, not done, or something else is there."""

import errno
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from langgraph_filesystem.state.backends.disk.jail import RESERVED, Jail
from langgraph_filesystem.state.backends.disk.journal import DiskShelf
from langgraph_filesystem.state.backends.journal import Journal
from langgraph_filesystem.state.backends.protocol import Outcome
from tests.state.backends.disk.places import Place, largest_file, open_handles

DONE = Outcome(finished=True)
EDITED = Outcome(finished=True, occurrences=1)
UNKNOWN = Outcome(finished=False)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    (place.root / "file").write_text("one")
    return place


class TestRecall:
    def test_a_write(self, backend: FilesystemBackend, place: Place) -> None:
        assert backend.recall("s.g.0") is None
        backend.write("/new/file", "text", once="s.g.0")
        assert backend.recall("s.g.0") == DONE
        (place.root / "new/file").unlink()
        assert backend.recall("s.g.0") is None
        (place.root / "new/file").write_text("of somebody else")
        assert backend.recall("s.g.0") == UNKNOWN

    def test_an_edit(self, backend: FilesystemBackend, place: Place) -> None:
        (place.root / "file").write_text("a b a")
        backend.edit("/file", "a", "c", replace_all=True, once="s.g.0")
        assert backend.recall("s.g.0") == Outcome(finished=True, occurrences=2)
        (place.root / "file").write_text("a b a")
        assert backend.recall("s.g.0") is None
        (place.root / "file").write_text("of somebody else")
        assert backend.recall("s.g.0") == UNKNOWN

    def test_a_file_that_is_too_large_for_a_digest(
        self, backend: FilesystemBackend, place: Place
    ) -> None:
        backend.write("/large", "x" * 3_000_000, once="s.g.0")
        assert backend.recall("s.g.0") == DONE
        backend.write("/large", "y" * 3_000_000, overwrite=True, once="s.g.1")
        assert backend.recall("s.g.0") == backend.recall("s.g.1") == DONE
        (place.root / "large").write_text("z" * 3_000_000)
        assert backend.recall("s.g.1") == UNKNOWN

    def test_a_change_that_failed_can_be_made_again(self, backend: FilesystemBackend) -> None:
        with largest_file(1_000):
            result = backend.edit("/file", "one", "x" * 2_000, once="s.g.0")
        assert result.error is not None
        assert backend.recall("s.g.0") is None

    def test_several_edits_of_a_file_by_one_message(
        self, backend: FilesystemBackend, place: Place
    ) -> None:
        """The record of a later edit proves that the earlier one was made."""
        backend.edit("/file", "one", "two", once="s.g.0")
        backend.edit("/file", "two", "three", once="s.g.1")
        backend.edit("/file", "three", "one", once="s.g.2")
        outcomes = [backend.recall(f"s.g.{number}") for number in range(4)]
        assert outcomes == [EDITED] * 3 + [None]
        (place.root / "file").write_text("three")  # as if the last one had only been noted
        assert [backend.recall(f"s.g.{number}") for number in (1, 2)] == [EDITED, None]

    @pytest.mark.parametrize("kind", ["file", "directory", "link"])
    def test_a_move_and_a_delete(self, backend: FilesystemBackend, place: Place, kind: str) -> None:
        if kind == "link":
            (place.root / "start").symlink_to("file")
        elif kind == "directory":
            (place.root / "start/sub").mkdir(parents=True)
        else:
            (place.root / "start").write_text("x")
        backend.move("/start", "/deep/end", once="s.g.0")
        assert backend.recall("s.g.0") == DONE
        backend.delete("/deep/end", once="s.g.1")
        assert backend.recall("s.g.1") == DONE
        (place.root / "deep/end").write_text("new")
        assert backend.recall("s.g.1") == UNKNOWN

    def test_uploads(self, backend: FilesystemBackend, place: Place) -> None:
        files = [("/file", b"\0new"), ("/a/other", b"text"), ("large", b"x" * 3_000_000)]
        backend.upload_files(files[:2], once="s.g.0")
        assert backend.recall("s.g.0") == DONE
        (place.root / "file").write_text("one")
        assert backend.recall("s.g.0") is None  # a part of it: all of it can be done again
        (place.root / "file").write_text("of somebody else")
        assert backend.recall("s.g.0") == UNKNOWN
        backend.upload_files(files, once="s.h.0")
        assert backend.recall("s.h.0") == UNKNOWN  # of a large file it can't be told
        assert backend.recall("s.g.0") is None

    def test_nothing_is_changed_that_can_not_be_noted(
        self, backend: FilesystemBackend, place: Place
    ) -> None:
        (place.root / RESERVED / "s").mkdir(parents=True)
        for number in range(5):  # a directory where the record would be
            (place.root / RESERVED / "s" / f"g.{number}").mkdir()
        answers: list[Any] = [
            backend.edit("/file", "one", "two", once="s.g.0"),
            backend.write("/new/file", "x", once="s.g.1"),
            backend.delete("/file", once="s.g.2"),
            backend.move("/file", "/other/file", once="s.g.3"),
            backend.upload_files([("/file", b"x")], once="s.g.4")[0],
        ]
        for answer in answers:
            assert "/file: was not changed" in (answer.error or "")
            assert str(place.root) not in answer.error
        assert sorted(os.listdir(place.root)) == [RESERVED, "file"]
        assert (place.root / "file").read_text() == "one"
        assert backend.recall("s.g.0") is None

    def test_a_full_disk_keeps_nobody_from_deleting(
        self, backend: FilesystemBackend, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, "full")

        monkeypatch.setattr(DiskShelf, "put", full)
        assert backend.edit("/file", "one", "two", once="s.g.0").error is not None
        assert backend.delete("/file", once="s.g.1").error is None
        assert not (place.root / "file").exists()


class TestShelf:
    """Records on disk: whole, hidden, few, and behind no link."""

    @pytest.fixture
    def shelf(self, place: Place) -> DiskShelf:
        return DiskShelf(Jail(place.root), max_scopes=20)

    def test_a_value_is_kept_for_the_next_process(self, place: Place, shelf: DiskShelf) -> None:
        before = open_handles()
        assert shelf.get("scope", "group.1") is None
        assert shelf.names("scope") == []
        shelf.remove("scope", "group.1")
        assert os.listdir(place.root) == ["file"]  # reading makes no directory
        for value in (b"one", b"two"):
            shelf.put("scope", "group.1", value)
        shelf.put("scope", "group.2", b"three")
        other = DiskShelf(Jail(place.root))
        assert other.get("scope", "group.1") == b"two"
        other.remove("scope", "group.1")
        assert shelf.names("scope") == ["group.2"]
        assert (place.root / RESERVED / ".gitignore").read_text() == "*\n"
        assert open_handles() <= before + 1

    @pytest.mark.parametrize("mode", [0o700, 0o775, 0o2770])
    def test_whoever_shares_the_root_shares_it(
        self, place: Place, shelf: DiskShelf, mode: int
    ) -> None:
        place.root.chmod(mode)
        shelf.put("scope", "group.1", b"one")
        for path in (RESERVED, f"{RESERVED}/scope"):
            assert stat.S_IMODE((place.root / path).stat().st_mode) == mode

    def test_the_oldest_scopes_are_forgotten(self, place: Place, shelf: DiskShelf) -> None:
        for number in range(20):
            shelf.put(f"scope{number}", "group.1", b"x")
            os.utime(place.root / RESERVED / f"scope{number}", (number, number))
        assert shelf.get("scope0", "group.1") == b"x"
        shelf.put("scope20", "group.1", b"x")
        kept = [number for number in range(21) if shelf.names(f"scope{number}")]
        assert kept == list(range(3, 21))

    def test_half_a_record_of_a_killed_process_is_ignored_and_removed(
        self, place: Place, shelf: DiskShelf
    ) -> None:
        shelf.put("scope", "group.1", b"{}")
        (place.root / RESERVED / "scope/group.2.99-1").write_bytes(b'{"ha')
        assert shelf.get("scope", "group.2") is None
        Journal(shelf).begin("scope.later.1", {})
        assert shelf.names("scope") == ["later.1"]

    @pytest.mark.parametrize("name", ["", "..", "a/b", "../x", ".hidden", "a\0b", "ä", "x" * 300])
    def test_a_name_that_is_more_than_a_name_is_a_mistake(
        self, shelf: DiskShelf, name: str
    ) -> None:
        for scope, key in (("scope", name), (name, "group.1")):
            with pytest.raises(ValueError, match="key of a call"):
                shelf.put(scope, key, b"x")

    @pytest.mark.parametrize("kind", ["link", "file"])
    def test_a_file_in_its_place_is_not_touched(
        self, place: Place, shelf: DiskShelf, kind: str
    ) -> None:
        there = place.root / RESERVED
        if kind == "link":
            there.symlink_to(place.outside)
        else:
            there.write_text("of a command")
        assert shelf.get("scope", "group.1") is None
        error = FilesystemBackend(place.root).write("/a", "x", once="scope.group.1").error or ""
        assert "the journal could not be written: Not a directory" in error
        assert not (place.root / "a").exists()
        assert place.is_untouched_outside()

    def test_no_link_is_followed(self, place: Place, shelf: DiskShelf) -> None:
        shelf.put("other", "group.1", b"x")
        (place.root / RESERVED / "scope").symlink_to(place.outside)
        with pytest.raises(NotADirectoryError):
            shelf.put("scope", "group.1", b"x")
        (place.root / RESERVED / "other/group.2").symlink_to(place.outside / "secret.txt")
        with pytest.raises(OSError, match="symbolic links"):
            shelf.get("other", "group.2")
        shelf.put("other", "group.2", b"x")
        assert place.is_untouched_outside()
