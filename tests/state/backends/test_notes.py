"""Notes on disk: whole, hidden, few, and behind no link."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from langgraph_filesystem.state.backends import notes as module
from langgraph_filesystem.state.backends.disk.jail import RESERVED, Jail
from langgraph_filesystem.state.backends.journal import Journal
from langgraph_filesystem.state.backends.notes import Notes
from tests.state.backends.disk.places import RESOLVERS, Place, largest_file, open_handles


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture(params=RESOLVERS)
def notes(place: Place, request: pytest.FixtureRequest) -> Iterator[Notes]:
    jail = Jail(place.root, resolver=request.param)
    before = open_handles()
    yield Notes(jail)
    assert open_handles() <= before
    jail.close()


def test_a_note_is_kept_for_the_next_process(place: Place, notes: Notes) -> None:
    assert notes.get("scope", "group.1") is None
    assert notes.names("scope") == []
    notes.remove("scope", "group.1")
    assert os.listdir(place.root) == []  # nothing is made for nothing
    notes.put("scope", "group.1", b"one")
    notes.put("scope", "group.1", b"two")
    notes.put("scope", "group.2", b"three")
    other = Notes(Jail(place.root))
    assert other.get("scope", "group.1") == b"two"
    assert sorted(other.names("scope")) == ["group.1", "group.2"]
    other.remove("scope", "group.1")
    assert notes.names("scope") == ["group.2"]


def test_git_does_not_see_them(place: Place, notes: Notes) -> None:
    notes.put("scope", "group.1", b"one")
    assert (place.root / RESERVED / ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize("mode", [0o700, 0o775, 0o2770])
def test_who_shares_the_root_shares_them(place: Place, notes: Notes, mode: int) -> None:
    place.root.chmod(mode)
    notes.put("scope", "group.1", b"one")
    for path in (RESERVED, f"{RESERVED}/scope"):
        assert stat.S_IMODE((place.root / path).stat().st_mode) == mode


def test_a_full_disk_is_an_error_and_costs_no_handle(place: Place, notes: Notes) -> None:
    with largest_file(0), pytest.raises(OSError, match="too large"):
        notes.put("scope", "group.1", b"one")
    assert notes.get("scope", "group.1") is None


def test_the_oldest_scopes_are_forgotten(
    place: Place, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_KEPT", 20)
    for number in range(20):
        notes.put(f"scope{number}", "group.1", b"x")
        os.utime(place.root / RESERVED / f"scope{number}", (number, number))
    assert notes.get("scope0", "group.1") == b"x"
    notes.put("scope20", "group.1", b"x")
    kept = [number for number in range(21) if notes.names(f"scope{number}")]
    assert kept == list(range(3, 21))


def test_half_a_note_of_a_killed_process_is_none_and_goes_with_the_others(
    place: Place, notes: Notes
) -> None:
    notes.put("scope", "group.1", b"{}")
    (place.root / RESERVED / "scope/group.2.99-1").write_bytes(b'{"ha')
    assert notes.get("scope", "group.2") is None
    Journal(notes).begin("scope.later.1", {})
    assert notes.names("scope") == ["later.1"]


@pytest.mark.parametrize("name", ["", "..", "a/b", "../x", ".hidden", "a\0b", "ä", "x" * 300])
def test_a_name_that_is_more_than_a_name_is_a_mistake(
    place: Place, notes: Notes, name: str
) -> None:
    with pytest.raises(ValueError, match="key of a call"):
        notes.put("scope", name, b"x")
    with pytest.raises(ValueError, match="key of a call"):
        notes.put(name, "group.1", b"x")


@pytest.mark.parametrize("kind", ["link", "file", "fifo"])
def test_what_is_in_their_place_is_put_aside(place: Place, notes: Notes, kind: str) -> None:
    there = place.root / RESERVED
    if kind == "link":
        there.symlink_to(place.outside)
    elif kind == "file":
        there.write_text("of a command")
    else:
        os.mkfifo(there)
    assert notes.get("scope", "group.1") is None
    assert notes.names("scope") == []
    notes.put("scope", "group.1", b"x")
    assert notes.get("scope", "group.1") == b"x"
    [aside] = [path for path in place.root.iterdir() if path != there]
    assert aside.name == f"{RESERVED[1:]}-1"
    assert kind != "file" or aside.read_text() == "of a command"
    assert place.is_untouched_outside()


def test_no_link_is_followed(place: Place, notes: Notes) -> None:
    notes.put("other", "group.1", b"x")
    (place.root / RESERVED / "scope").symlink_to(place.outside)
    notes.put("scope", "group.1", b"x")
    assert (place.root / RESERVED / "scope-1").is_symlink()
    (place.root / RESERVED / "other/group.2").symlink_to(place.outside / "secret.txt")
    with pytest.raises(OSError, match="symbolic links"):
        notes.get("other", "group.2")
    notes.put("other", "group.2", b"x")
    assert place.is_untouched_outside()
