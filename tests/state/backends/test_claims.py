"""The end of a move: what came into the source since it was copied is never deleted with it."""

import fcntl
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem.state.backends import claims
from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from langgraph_filesystem.state.backends.replace import temporary_name
from tests.state.backends.disk.places import unprivileged

KEY = "scope.group.1"


class Source:
    """A root with a tree and a file that were copied elsewhere, and their marks."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "d" / "sub").mkdir(parents=True)
        (root / "d" / "f").write_text("text")
        (root / "d" / "sub" / "g").write_text("more")
        (root / "f").write_text("alone")
        self.disk = FilesystemBackend(root)
        self.marks = {path: self.disk.mark(path).mark or "" for path in ("/d", "/f")}

    def end(self, path: str) -> claims.Ended:
        return self.disk.delete_copied(path, self.marks[path], once=KEY)

    def names(self) -> list[str]:
        found = (str(path.relative_to(self.root)) for path in self.root.rglob("*"))
        return sorted(name for name in found if not name.startswith(".langgraph"))


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return Source(tmp_path)


ALL = ["d", "d/f", "d/sub", "d/sub/g", "f"]


def test_what_is_as_it_was_copied_goes(source: Source) -> None:
    assert source.end("/d") == claims.Ended()
    assert source.names() == ["f"]
    assert source.end("/f") == claims.Ended()
    assert source.names() == []
    outcome = source.disk.recall(KEY)
    assert outcome is not None
    assert outcome.finished


def edit(source: Source) -> None:
    assert source.disk.edit("/d/sub/g", "more", "MORE").error is None


def add(source: Source) -> None:
    assert source.disk.write("/d/sub/new", "new").error is None


@pytest.mark.parametrize("change", [edit, add])
def test_what_comes_right_before_the_claim_is_kept(
    source: Source, change: Callable[[Source], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = claims._claim

    def late(place: Any) -> Any:
        change(source)
        return claim(place)

    monkeypatch.setattr(claims, "_claim", late)
    ended = source.end("/d")
    assert (ended.is_changed, ended.is_partial, ended.at) == (True, False, "/d")
    assert source.names() == sorted({*ALL, *(["d/sub/new"] if change is add else [])})
    assert source.disk.recall(KEY) is None


def test_what_is_written_at_the_path_right_after_the_claim_is_kept(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = claims._claim

    def early(place: Any) -> Any:
        held = claim(place)
        add(source)
        assert source.disk.edit("/d/f", "text", "TEXT").error is not None
        return held

    monkeypatch.setattr(claims, "_claim", early)
    assert source.end("/d") == claims.Ended()
    assert source.names() == ["d", "d/sub", "d/sub/new", "f"]


def test_if_it_was_changed_and_its_name_is_taken_both_are_kept(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = claims._claim

    def between(place: Any) -> Any:
        edit(source)
        held = claim(place)
        add(source)
        return held

    monkeypatch.setattr(claims, "_claim", between)
    ended = source.end("/d")
    assert (ended.is_changed, ended.at) == (True, "/d-1")
    assert (source.root / "d-1" / "sub" / "g").read_text() == "MORE"
    assert (source.root / "d" / "sub" / "new").read_text() == "new"


def test_what_comes_by_an_open_directory_after_the_last_look_is_kept(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = os.open(source.root / "d" / "sub", os.O_RDONLY)
    renamed = claims._renamed

    def late(*places: Any) -> Any:
        made = os.open("new", os.O_CREAT | os.O_WRONLY, dir_fd=inside)
        os.close(made)
        return renamed(*places)

    monkeypatch.setattr(claims, "_renamed", late)
    ended = source.end("/d")
    os.close(inside)
    assert (ended.is_changed, ended.is_partial, ended.at) == (True, True, "/d")
    assert source.names() == ["d", "d/sub", "d/sub/g", "d/sub/new", "f"]


def test_a_writer_who_is_at_it_when_the_claim_comes_is_waited_for(source: Source) -> None:
    inside = source.root / "d" / "sub"
    lock = inside / temporary_name("g")
    with open(lock, "w") as writer:
        fcntl.flock(writer, fcntl.LOCK_EX)
        writer.write("MORE")
        ended: list[claims.Ended] = []
        ending = threading.Thread(target=lambda: ended.append(source.end("/d")))
        ending.start()
        ending.join(0.1)
        assert ending.is_alive()
        assert not inside.exists()
        [held] = source.root.glob(".~lgfs-*-held")
        (held / "sub" / lock.name).rename(held / "sub" / "g")
    ending.join(30)
    assert ended[0].is_changed
    assert (inside / "g").read_text() == "MORE"


def test_of_two_who_move_it_one_has_it(source: Source) -> None:
    again = FilesystemBackend(source.root)
    ended = [source.end("/d"), again.delete_copied("/d", source.marks["/d"])]
    assert ended == [claims.Ended(), claims.Ended(is_gone=True)]


def test_another_entry_at_the_path_is_not_touched(source: Source) -> None:
    (source.root / "d").rename(source.root / "away")
    (source.root / "d").mkdir()
    inode = (source.root / "d").stat()
    assert source.end("/d").is_changed
    assert (source.root / "d").stat().st_ctime_ns == inode.st_ctime_ns


def test_what_is_on_a_layer_that_renames_nothing_is_deleted_where_it_is(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(claims, "rename_new", refuse)
    assert source.end("/f") == claims.Ended()
    edit(source)
    assert source.end("/d").is_changed
    assert source.names() == ALL[:-1]
    source.marks["/d"] = source.disk.mark("/d").mark or ""
    assert source.end("/d") == claims.Ended()
    assert source.names() == []


class Killed(BaseException):
    """As if the process had ended."""


@pytest.mark.parametrize("path", ["/d", "/f"])
@pytest.mark.parametrize("step", ["_settled_mark", "_renamed", "_remove"])
@pytest.mark.parametrize("has_key", [True, False])
def test_killed_at_a_step_it_is_found_and_ended_by_the_next(
    source: Source, path: str, step: str, has_key: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: Any) -> Any:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(claims, "recover", lambda _: None)
        patched.setattr(claims, step, die)
        with pytest.raises(Killed):
            source.end(path)
    assert not (source.root / path[1:]).exists()
    if has_key:
        outcome = source.disk.recall(KEY)
        assert (outcome is not None and outcome.finished) == (step == "_remove")
    if step == "_remove":
        assert source.disk.mark(path).error is not None
        assert source.names() == [name for name in ALL if not f"/{name}/".startswith(f"{path}/")]
    else:
        assert source.disk.mark(path).mark == source.marks[path]
        assert source.names() == ALL
        assert source.end(path) == claims.Ended()


def test_a_part_that_can_not_be_deleted_is_told_and_has_its_name(source: Source) -> None:
    (source.root / "d" / "sub").chmod(0o500)
    owned = [source.root, *source.root.rglob("*")]
    with unprivileged(*owned):
        source.marks["/d"] = source.disk.mark("/d").mark or ""
        ended = source.end("/d")
    (source.root / "d" / "sub").chmod(0o700)
    assert (ended.is_partial, ended.is_changed, ended.at) == (True, False, "/d")
    assert "permission denied" in (ended.problem or "")
    assert source.names() == ["d", "d/sub", "d/sub/g", "f"]
