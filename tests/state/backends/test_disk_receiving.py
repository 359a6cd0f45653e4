"""From one directory on disk to another: all that a disk holds, of any size, or nothing."""

import asyncio
import os
import resource
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_filesystem import create_filesystem_agent
from langgraph_filesystem.state.backends import claims, removal
from langgraph_filesystem.state.workspace.composite import CompositeBackend
from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from langgraph_filesystem.state.backends.replace import temporary_name
from tests.nodes.test_move import move
from tests.scripted import ScriptedModel, answers, call, says
from tests.state.backends.disk.places import NOBODY, RESOLVERS, largest_file, unprivileged

KEY = "scope.group.1"


class Two:
    """Two roots, and a backend that has the second one at `/n`."""

    def __init__(self, directory: Path, resolver: Any = None) -> None:
        self.one, self.other = directory / "one", directory / "other"
        self.one.mkdir()
        self.other.mkdir()
        self.start = FilesystemBackend(self.one, resolver=resolver)
        self.end = FilesystemBackend(self.other, resolver=resolver)
        self.both = CompositeBackend(self.start, {"/n": self.end})

    def move(self, source: str, destination: str) -> str | None:
        return self.both.move(source, destination).error

    def litter(self) -> list[str]:
        return [str(path) for path in self.other.rglob(".~lgfs-*")]


@pytest.fixture(params=RESOLVERS)
def two(request: pytest.FixtureRequest, tmp_path: Path) -> Two:
    return Two(tmp_path, request.param)


def names(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


def test_a_tree_arrives_as_it_was(two: Two) -> None:
    top = two.one / "d"
    (top / "sub" / "empty").mkdir(parents=True)
    (top / "sub" / "run.sh").write_bytes(b"#!/bin/sh\r\n\xff\x00")
    (top / "sub" / "run.sh").chmod(0o750)
    (top / "closed").mkdir(0o700)
    (top / "closed" / "f").write_text("text")
    (top / "closed").chmod(0o500)
    (top / "again").symlink_to("sub/run.sh")
    (top / "sub" / "up").symlink_to("../closed")
    (top / "gone").symlink_to("nothing")
    Path(os.fsdecode(bytes(top) + b"/\xff")).write_text("no UTF-8")
    os.utime(top / "sub" / "run.sh", ns=(1, 1_234_567_891))
    before = names(top)
    result = two.both.move("/d", "/n/deep/e")
    assert (result.error, result.files, result.note) == (None, 3, None)
    arrived = two.other / "deep" / "e"
    assert names(arrived) == before
    assert (arrived / "sub" / "run.sh").read_bytes() == b"#!/bin/sh\r\n\xff\x00"
    status = (arrived / "sub" / "run.sh").stat()
    assert (stat.S_IMODE(status.st_mode), status.st_mtime_ns) == (0o750, 1_234_567_891)
    assert stat.S_IMODE((arrived / "closed").stat().st_mode) == 0o500
    assert os.readlink(arrived / "sub" / "up") == "../closed"
    assert os.readlink(arrived / "gone") == "nothing"
    assert not top.exists()
    assert two.litter() == []


def test_a_file_and_an_empty_directory_arrive(two: Two) -> None:
    (two.one / "f").write_text("text")
    (two.one / "e").mkdir()
    assert two.both.move("/f", "/n/f").files == 1
    assert two.both.move("/e", "/n/e").files == 0
    assert (two.other / "f").read_text() == "text"
    assert (two.other / "e").is_dir()
    assert names(two.one) == []


def make_odd(path: Path, kind: str) -> None:
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        here = os.getcwd()
        os.chdir(path.parent)  # the path of a socket may not be long
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
        os.chdir(here)
    else:
        path.symlink_to(
            {"outside": "/etc/passwd", "above": "../../other", "dangling": "../../no"}[kind]
        )


@pytest.mark.parametrize("kind", ["fifo", "socket", "outside", "above", "dangling"])
@pytest.mark.parametrize("destination", ["/n/e", "/n/deep/e"])
def test_what_can_not_be_taken_along_is_named_and_nothing_changes(
    two: Two, kind: str, destination: str
) -> None:
    (two.one / "d" / "sub").mkdir(parents=True)
    (two.one / "d" / "f").write_text("text")
    make_odd(two.one / "d" / "sub" / "odd", kind)
    before = names(two.one)
    for source, odd in (("/d", "/d/sub/odd"), ("/d/sub/odd", "/d/sub/odd")):
        error = two.move(source, destination) or ""
        assert error.startswith(f"{odd}: is ")
        assert "Nothing was moved" in error
    assert names(two.one) == before
    assert names(two.other) == []


def test_a_link_to_a_file_elsewhere_in_the_mount_becomes_that_file(two: Two) -> None:
    (two.one / "shared").write_text("shared")
    (two.one / "d").mkdir()
    (two.one / "d" / "link").symlink_to("../shared")
    result = two.both.move("/d", "/n/d")
    assert result.note == "1 symbolic link is now what it led to."
    assert (two.other / "d" / "link").read_text() == "shared"
    assert not (two.other / "d" / "link").is_symlink()
    assert names(two.one) == ["shared"]


def test_what_is_at_the_destination_stays(two: Two) -> None:
    (two.one / "f").write_text("text")
    (two.other / "taken").write_text("other")
    (two.other / "empty").mkdir()
    os.mkfifo(two.other / "fifo")
    (two.other / "dangling").symlink_to("nothing")
    for name in ("taken", "empty", "fifo", "dangling"):
        error = two.move("/f", f"/n/{name}") or ""
        assert error.startswith(f"/n/{name}: "), error
    assert (two.one / "f").read_text() == "text"
    assert names(two.other) == ["dangling", "empty", "fifo", "taken"]


def test_a_directory_is_not_moved_into_itself_by_another_mount(tmp_path: Path) -> None:
    (tmp_path / "d" / "inner").mkdir(parents=True)
    (tmp_path / "d" / "f").write_text("text")
    disk = FilesystemBackend(tmp_path)
    for below in ("d", "d/inner"):
        both = CompositeBackend(disk, {"/n": FilesystemBackend(tmp_path / below)})
        error = both.move("/d", "/n/new/e").error or ""
        assert error.startswith("/n/new/e: lies on the disk in the directory that would be moved")
    assert names(tmp_path) == ["d", "d/f", "d/inner"]


def test_a_file_of_a_gigabyte_takes_memory_for_a_piece(tmp_path: Path) -> None:
    two = Two(tmp_path)
    with open(two.one / "big", "wb") as file:
        file.truncate(1 << 30)
        for at in (0, 500 << 20, (1 << 30) - 3):
            file.seek(at)
            file.write(b"end")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert two.move("/big", "/n/big") is None
    added = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert added < 32 << 10
    status = (two.other / "big").stat()
    assert status.st_size == 1 << 30
    assert status.st_blocks * 512 < 16 << 20  # what nobody has written takes no room
    with open(two.other / "big", "rb") as file:
        for at in (0, 500 << 20, (1 << 30) - 3):
            file.seek(at)
            assert file.read(3) == b"end"
    assert names(two.one) == []


def test_a_disk_that_takes_no_more_leaves_everything_where_it_was(two: Two) -> None:
    (two.one / "d").mkdir()
    for number in range(8):
        (two.one / "d" / f"f{number}").write_bytes(b"x" * (number << 10))
    with largest_file(5 << 10):
        error = two.move("/d", "/n/new/d") or ""
    assert error.startswith("/n/new/d: it would get larger than the host allows")
    assert len(names(two.one)) == 9
    assert names(two.other) == []


def test_what_may_not_be_read_or_written_is_told(tmp_path: Path) -> None:
    two = Two(tmp_path)
    (two.one / "d").mkdir()
    (two.one / "d" / "secret").write_text("secret")
    (two.one / "d" / "secret").chmod(0)
    owned = [two.one, two.one / "d", two.one / "d" / "secret", two.other]
    with unprivileged(*owned):
        error = two.move("/d", "/n/d") or ""
        assert error.startswith("/d/secret: permission denied")
    (two.one / "d" / "secret").chmod(0o600)
    two.other.chmod(0o500)
    with unprivileged(*owned):
        error = two.move("/d", "/n/d") or ""
        assert error.startswith("/n/d: permission denied")
    assert names(two.one) == ["d", "d/secret"]
    assert names(two.other) == []


def test_a_copy_that_is_not_wanted_any_more_is_given_up(two: Two) -> None:
    (two.one / "f").write_bytes(b"x" * 100)
    stopped = threading.Event()
    stopped.set()
    assert two.end.receive(two.start, "/f", "/f", stopped=stopped).error is not None
    assert names(two.other) == []


def test_a_copy_is_known_again_by_its_key(two: Two) -> None:
    (two.one / "d").mkdir()
    for name in "ab":
        (two.one / "d" / name).write_text(name)
    assert two.end.recall(KEY) is None
    assert two.end.receive(two.start, "/d", "/e", once=KEY).files == 2
    outcome = two.end.recall(KEY)
    assert outcome is not None
    assert outcome.finished
    # As if the process had died while the source was being deleted.
    (two.one / "d" / "a").unlink()
    again = two.end.receive(two.start, "/d", "/e", once=KEY)
    assert (again.error, again.refused) == (None, None)
    (two.one / "d" / "b").write_text("changed since")
    again = two.end.receive(two.start, "/d", "/e", once=KEY)
    assert again.refused is not None
    assert again.refused[0] == "/d/b"
    assert (two.other / "e" / "b").read_text() == "b"
    # Something else is there.
    (two.other / "e").rename(two.other / "away")
    assert two.end.recall(KEY) is None
    (two.other / "e").write_text("of others")
    outcome = two.end.recall(KEY)
    assert outcome is not None
    assert not outcome.finished


KILLED = """
import os, sys
from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend

one, other = FilesystemBackend(sys.argv[1]), FilesystemBackend(sys.argv[2])
moments, utime = 0, os.utime
def dying(*args, **options):
    global moments
    moments += 1
    if moments == 3:
        os._exit(9)
    return utime(*args, **options)
os.utime = dying
other.receive(one, "/d", "/d", once="scope.group.1")
"""


def test_what_a_killed_copy_left_is_not_seen_and_goes_with_the_next(tmp_path: Path) -> None:
    two = Two(tmp_path)
    (two.one / "d").mkdir()
    for number in range(5):
        (two.one / "d" / f"f{number}").write_text("needle")
    command = [sys.executable, "-c", KILLED, str(two.one), str(two.other)]
    assert subprocess.run(command, timeout=60).returncode == 9
    assert two.litter() != []
    assert two.end.recall(KEY) is None
    assert two.end.ls("/").entries == []
    assert two.end.glob("**/*").matches == []
    assert two.end.grep("needle").matches == []
    assert two.end.receive(two.start, "/d", "/d", once=KEY).files == 5
    assert two.litter() == []
    assert len(names(two.other / "d")) == 5
    assert len(names(two.one / "d")) == 5


def test_a_source_that_changes_while_it_is_copied_is_not_deleted(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    (two.one / "d").mkdir()
    for name in "ab":
        (two.one / "d" / name).write_text(name)
    utime = os.utime

    def meanwhile(*args: Any, **options: Any) -> None:
        utime(*args, **options)
        (two.one / "d" / "new").write_text("new")

    monkeypatch.setattr(os, "utime", meanwhile)
    error = two.move("/d", "/n/d") or ""
    assert error.startswith("/d/new: was changed while it was copied. Nothing was moved")
    assert names(two.one) == ["d", "d/a", "d/b", "d/new"]
    assert names(two.other) == []


async def test_a_run_that_is_cancelled_stops_the_copy_and_can_be_taken_up_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = Two(tmp_path)
    (two.one / "d").mkdir()
    for number in range(5):
        (two.one / "d" / f"f{number}").write_text("text")
    begun, go_on, utime = threading.Event(), threading.Event(), os.utime

    def waiting(*args: Any, **options: Any) -> None:
        utime(*args, **options)
        begun.set()
        go_on.wait(30)

    monkeypatch.setattr(os, "utime", waiting)
    agent: Any = create_filesystem_agent(
        ScriptedModel([says(move("/m/d", "/n/d"))]),
        mounts={"/m": two.start, "/n": two.end},
        checkpointer=InMemorySaver(),
    )
    config: Any = {"configurable": {"thread_id": "t"}}
    running = asyncio.create_task(agent.ainvoke({"messages": [HumanMessage("go")]}, config))
    assert await asyncio.to_thread(begun.wait, 30)
    running.cancel()
    await asyncio.sleep(0.02)
    assert not running.done()  # a thread is still at it
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert two.litter() == []
    assert len(names(two.one / "d")) == 5
    assert os.listdir(two.other) == []
    state = await agent.ainvoke(None, config)
    assert answers(state)[0].text == "Moved /m/d to /n/d (5 files)."
    assert len(names(two.other / "d")) == 5


async def test_a_deletion_that_goes_on_when_the_run_is_cancelled_is_known_as_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = Two(tmp_path)
    for name in ("d", "e"):
        (two.one / name).mkdir()
        (two.one / name / "f").write_text("text")
    begun, go_on, emptied = threading.Event(), threading.Event(), removal._emptied

    def waiting(*args: Any) -> Any:
        begun.set()
        go_on.wait(30)
        return emptied(*args)

    monkeypatch.setattr(removal, "_emptied", waiting)
    for number, asked in enumerate((move("/m/d", "/n/d"), call("delete", file_path="/m/e"))):
        begun.clear()
        go_on.clear()
        agent: Any = create_filesystem_agent(
            ScriptedModel([says(asked)]),
            mounts={"/m": two.start, "/n": two.end},
            checkpointer=InMemorySaver(),
        )
        config: Any = {"configurable": {"thread_id": f"t{number}"}}
        running = asyncio.create_task(agent.ainvoke({"messages": [HumanMessage("go")]}, config))
        assert await asyncio.to_thread(begun.wait, 30)
        running.cancel()
        await asyncio.sleep(0.02)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await running
        [reply] = answers(await agent.ainvoke(None, config))
        assert reply.status == "success", reply.text
    assert names(two.one / ".langgraph-filesystem") != []
    assert sorted(os.listdir(two.one)) == [".langgraph-filesystem"]
    assert names(two.other / "d") == ["f"]


@pytest.mark.parametrize("name", ["a\\b", "\udcff"])
def test_a_link_of_which_the_name_is_no_path_is_not_taken_for_another(two: Two, name: str) -> None:
    (two.one / "d" / "a").mkdir(parents=True)
    (two.one / "d" / "a" / "b").write_text("another file")
    (two.one / "real").write_text("what the link leads to")
    (two.one / "d" / name).symlink_to("../real")
    before = names(two.one)
    error = two.move("/d", "/n/d") or ""
    assert error.startswith("/d/"), error
    assert "is a symbolic link that leads out of what is moved" in error
    assert "Nothing was moved" in error
    assert (names(two.one), names(two.other)) == (before, [])


@pytest.mark.parametrize("why", ["taken", "fifo", "gone"])
def test_what_a_killed_copy_left_goes_even_if_the_next_fails_early(two: Two, why: str) -> None:
    (two.one / "d").mkdir()
    draft = two.other / f"{temporary_name('e')}-tree"
    (draft / "closed").mkdir(parents=True)
    (draft / "closed" / "f").write_text("left")
    (draft / "closed").chmod(0o500)
    if why == "taken":
        (two.other / "e").write_text("of others")
    elif why == "fifo":
        os.mkfifo(two.one / "d" / "fifo")
    else:
        (two.one / "d").rmdir()
    with unprivileged(two.one, two.other, *two.one.rglob("*"), *two.other.rglob("*")):
        assert two.move("/d", "/n/e") is not None
    assert two.litter() == []


def test_what_can_not_be_deleted_is_not_copied(tmp_path: Path) -> None:
    two = Two(tmp_path)
    (two.one / "p").mkdir()
    (two.one / "p" / "f").write_text("text")
    (two.one / "p").chmod(0o500)
    owned = [two.one, two.one / "p", two.one / "p" / "f", two.other]
    is_root = os.geteuid() == 0
    with unprivileged(*owned):
        if is_root:
            os.seteuid(NOBODY)
        try:
            error = two.move("/p/f", "/n/f") or ""
        finally:
            if is_root:
                os.seteuid(0)
    assert error.startswith("/p/f: can't be moved, as nothing may be deleted"), error
    assert names(two.other) == []


@pytest.mark.parametrize("is_late", [False, True])
def test_an_edit_around_the_end_of_a_move_is_kept_or_refused(
    two: Two, is_late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    (two.one / "d").mkdir()
    (two.one / "d" / "f").write_text("text")
    (two.one / "d" / "g").write_text("text")
    claim, said = claims._claim, []

    def meanwhile(place: Any) -> Any:
        held = claim(place) if is_late else None
        said.append(two.start.edit("/d/f", "text", "TEXT").error)
        return held or claim(place)

    monkeypatch.setattr(claims, "_claim", meanwhile)
    error = two.move("/d", "/n/d")
    if is_late:
        assert error is None
        assert said[0] is not None
        assert names(two.one) == []
    else:
        assert said[0] is None
        assert (error or "").startswith("Copied to /n/d, but the source is left: /d was changed")
        assert (two.one / "d" / "f").read_text() == "TEXT"
    assert names(two.other / "d") == ["f", "g"]


def test_of_two_who_move_one_tree_one_is_told(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    (two.one / "d").mkdir()
    (two.one / "d" / "f").write_text("text")
    receive, said = two.end.receive, []

    def both(*args: Any, **options: Any) -> Any:
        result = receive(*args, **options)
        monkeypatch.setattr(two.end, "receive", receive)
        said.append(two.move("/d", "/n/first"))
        return result

    monkeypatch.setattr(two.end, "receive", both)
    error = two.move("/d", "/n/second") or ""
    assert said == [None]
    assert error.startswith("Copied to /n/second, but /d is gone: somebody else has moved")
    assert names(two.one) == []
    assert names(two.other) == ["first", "first/f", "second", "second/f"]
