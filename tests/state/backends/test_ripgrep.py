"""`rg`: how it is found and asked, and that it ends when it should."""

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from langgraph_filesystem.state.backends.omissions import Omissions
from langgraph_filesystem.state.backends.ripgrep import Ripgrep, RipgrepFailed, find_ripgrep
from langgraph_filesystem.state.backends.scanning import Matcher
from langgraph_filesystem.state.search import Query
from tests.state.backends.disk.places import open_handles


@pytest.fixture
def found() -> Iterator[None]:
    find_ripgrep.cache_clear()
    yield
    find_ripgrep.cache_clear()


def asking(query: Query, seconds: float = 60, program: str | None = None) -> Ripgrep:
    program = program or find_ripgrep()
    assert program is not None
    return Ripgrep(program, Matcher(query), time.monotonic() + seconds)


def test_the_program_of_the_extra_is_found_next_to_python(found: None) -> None:
    program = find_ripgrep()
    assert program is not None
    assert Path(program).parent == Path(sys.executable).parent
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("ripgrep ")


def test_else_the_one_on_the_path_is_taken(
    found: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = shutil.which("rg", path=str(Path(sys.executable).parent))
    assert real is not None
    (tmp_path / "rg").symlink_to(real)
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path / "nowhere"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nowhere/python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_ripgrep() == str(tmp_path / "rg")
    find_ripgrep.cache_clear()
    monkeypatch.setenv("PATH", "")
    assert find_ripgrep() is None


def test_a_program_in_the_current_directory_is_not_taken(
    found: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "rg").write_text("#!/bin/sh\n")
    (tmp_path / "rg").chmod(0o755)
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path / "nowhere"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nowhere/python"))
    monkeypatch.setenv("PATH", ".")
    monkeypatch.chdir(tmp_path)
    assert find_ripgrep() is None


def test_open_files_are_counted_and_their_lines_found(tmp_path: Path) -> None:
    contents = [b"foo\n\nx\nfoo", b"", b"bar\n", b"\xfffoo\r\nfoo\0\n"]
    handles = []
    for number, content in enumerate(contents):
        path = tmp_path / str(number)
        path.write_bytes(content)
        handles.append(os.open(path, os.O_RDONLY))
        path.unlink()  # a handle is enough
    rg, omissions = asking(Query("foo")), Omissions()
    assert rg.counts_of(handles, omissions) == [2, 0, 0, 2]
    assert rg.lines_of(handles, 9, omissions) == [[(1, 0), (4, 7)], [], [], [(1, 0), (2, 6)]]
    assert rg.lines_of(handles[:1], 1, omissions) == [[(1, 0)]]
    assert rg.counts_of(handles[3:], omissions) == [2]
    assert omissions.note(1) is None
    for handle in handles:
        os.close(handle)


def test_of_no_files_nothing_is_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("needle\n")
    monkeypatch.chdir(tmp_path)
    rg = asking(Query("needle"))

    assert rg.counts_of([], Omissions()) == []
    assert rg.lines_of([], 9, Omissions()) == []


def test_short_lines_are_told_from_long_ones(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a\n\0\n\r\n\nab\nb")
    with open(tmp_path / "f", "rb") as file:
        [hits] = asking(Query("^", regex=True)).lines_of([file.fileno()], 99, Omissions())
    assert hits == [(1, 0), (2, 2), (3, 4), (4, 6), (5, 7), (6, 10)]


def test_a_tree_is_counted_from_a_handle(tmp_path: Path) -> None:
    for name in ("a.py", "d/b.py", "d/c.md", ".h/x.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("foo\n")
    handle = os.open(tmp_path, os.O_RDONLY)
    os.rename(tmp_path / "d", tmp_path / "e")
    rg, omissions = asking(Query("foo")), Omissions()

    def counted(*names: str, most: int | None = 99) -> set[bytes]:
        found = rg.counts_below(handle, "/", most, omissions, names=names)
        return {name for records in found for name, count in records if count == 1}

    assert counted() == {b"a.py", b"e/b.py", b"e/c.md", b".h/x.py"}
    assert counted("*.py") == {b"a.py", b"e/b.py", b".h/x.py"}
    assert counted("b.py", "c.md") == {b"e/b.py", b"e/c.md"}
    assert counted("*.py", "[c]*") == counted()  # one that may mean something else is not used
    assert counted(most=1) == set()
    assert counted(most=None) == counted()  # of any size
    os.close(handle)


@pytest.mark.parametrize("query", [Query("(?<=a)b", regex=True), Query("a\0")], ids=repr)
def test_what_it_can_not_be_asked_is_not_asked(query: Query) -> None:
    with pytest.raises(RipgrepFailed):
        asking(query)


def test_a_regex_it_does_not_take_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a")
    # Valid, and far too large when it is compiled.
    rg = asking(Query(r"(?:\w{99}){99}", regex=True))
    with open(tmp_path / "f", "rb") as file, pytest.raises(RipgrepFailed):
        rg.counts_of([file.fileno()], Omissions())


def script(tmp_path: Path, text: str) -> str:
    program = tmp_path / "rg"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return str(program)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return state != "Z"


def test_it_is_killed_with_its_children_when_the_time_is_up(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    program = script(tmp_path, f"printf './a\\000003\\n'; sleep 100 & echo $$ $! > {pids}; wait")
    handle = os.open(tmp_path, os.O_RDONLY)
    before, omissions = open_handles(), Omissions()
    start = time.monotonic()
    found = asking(Query("x"), 1, program).counts_below(handle, "/", 99, omissions)
    assert [record for records in found for record in records] == [(b"a", 3)]
    assert omissions.is_late
    assert time.monotonic() - start < 30
    own, child = map(int, pids.read_text().split())
    assert not is_running(own)
    until = time.monotonic() + 10
    while is_running(child) and time.monotonic() < until:
        time.sleep(0.01)
    assert not is_running(child)
    assert open_handles() == before
    os.close(handle)


def test_it_is_killed_when_nobody_listens_any_more(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    program = script(tmp_path, f"echo $$ > {pids}; printf './a\\000003\\n'; exec sleep 100")
    handle = os.open(tmp_path, os.O_RDONLY)
    found = asking(Query("x"), 60, program).counts_below(handle, "/", 99, Omissions())
    assert next(found) == [(b"a", 3)]
    found.close()  # type: ignore[attr-defined]  # it is a generator
    assert not is_running(int(pids.read_text()))
    os.close(handle)


def test_it_gets_no_secret_and_no_handle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "s3cr3t")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", "/some/where")
    program = script(tmp_path, f"env > {tmp_path}/env; ls /proc/self/fd > {tmp_path}/fds; pwd -P")
    handle = os.open(tmp_path, os.O_RDONLY)
    leaked = os.open(tmp_path / "rg", os.O_RDONLY)
    os.set_inheritable(leaked, True)
    with pytest.raises(RipgrepFailed, match=str(tmp_path)):
        list(asking(Query("x"), 60, program).counts_below(handle, "/", 99, Omissions()))
    os.close(handle)
    os.close(leaked)
    assert "s3cr3t" not in (tmp_path / "env").read_text()
    assert "RIPGREP" not in (tmp_path / "env").read_text()
    assert str(leaked) not in (tmp_path / "fds").read_text().split()


def test_messages_that_are_not_known_are_a_failure_and_others_are_notes(tmp_path: Path) -> None:
    handle = os.open(tmp_path, os.O_RDONLY)

    def told(message: str, status: int) -> str | None:
        program = script(tmp_path, f"printf '{message}' >&2; exit {status}")
        omissions = Omissions()
        list(asking(Query("x"), 60, program).counts_below(handle, "/d", 99, omissions))
        return omissions.note(1, 99)

    denied = "rg: ./a/b: Permission denied (os error 13)\\n"
    assert told(denied, 2) == "Left out, as it can't be read: /d/a/b."
    wordy = "rg: ./c: IO error for operation on ./c: Input/output error (os error 5)\\n"
    assert told(wordy, 2) == "Left out, as it can't be read: /d/c."
    assert told("rg: ./x: No such file or directory (os error 2)\\n", 2) is None
    large = "rg: DEBUG|ignore::walk|walk.rs:1: ignoring ./big one: 100 bytes\\n"
    assert told(large, 1) == (
        "Files over 99 bytes are searched only when `path` names them; left out: /d/big one."
    )
    assert told("rg: DEBUG|ignore::walk|of another form\\n", 1) is None
    cut_in_two = "rg: DEBUG|x|ignoring ./a\\nb: more of it\\n"
    unknown = [("rg: something new\\n", 0), ("", 2), (denied + "rg: new\\n", 2), (cut_in_two, 0)]
    for message, status in unknown:
        with pytest.raises(RipgrepFailed):
            told(message, status)
    os.close(handle)


def test_however_much_can_not_be_read_the_rest_is_found(tmp_path: Path) -> None:
    said = "'rg: ./%s: Permission denied (os error 13)\\n' $(seq 1000 9999)"
    program = script(tmp_path, f"printf {said} >&2; printf './a\\0003\\n'; exit 2")
    handle = os.open(tmp_path, os.O_RDONLY)
    for limit in (99, None):
        omissions = Omissions()
        found = asking(Query("x"), 60, program).counts_below(handle, "/", limit, omissions)
        assert [record for records in found for record in records] == [(b"a", 3)]
        assert str(omissions.unreadable) == "/1000, /1001, /1002 and 8,997 more"
    os.close(handle)


@pytest.mark.parametrize("said", ["", "rg: ./a: Permission denied (os error 13)"])
def test_a_signal_is_a_failure_whatever_was_said_before(tmp_path: Path, said: str) -> None:
    program = script(tmp_path, f"echo '{said}' >&2; kill -{int(signal.SIGSEGV)} $$")
    handle = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(RipgrepFailed):
        list(asking(Query("x"), 60, program).counts_below(handle, "/", 99, Omissions()))
    os.close(handle)
