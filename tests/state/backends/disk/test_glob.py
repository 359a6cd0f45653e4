"""`glob` on disk: what is found, what is left out, and that no tree leads out of the jail."""

import os
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from langgraph_filesystem.state.backends.disk.jail import RESERVED, TEMPORARY, Jail
from langgraph_filesystem.state.backends.disk.walk import find_files
from langgraph_filesystem.state.errors import FileNotFound, NotDirectory, PatternRefused
from langgraph_filesystem.state.globs import compile_glob
from tests.nodes.test_glob import glob
from tests.scripted import answer
from tests.state.backends.disk.places import (
    Place,
    fast_place,
    nested,
    open_handles,
    unprivileged,
    write,
)


def touch(root: Path, *names: str) -> None:
    write(root, dict.fromkeys(names, "x"))


def found(jail: Jail, pattern: str, path: str | None = None) -> list[str]:
    result = find_files(jail, pattern, path)
    assert not result.truncated
    return [info["path"] for info in result.matches or ()]


names = st.sampled_from(["a", "b", "ab", ".a", "a.py", "b.md", "a b", "a-", "a!", "é"])
paths = st.lists(names, min_size=1, max_size=4).map("/".join)
parts = st.sampled_from(["**", "*", "a", "ab", "?", "a*", "*.py", "[ab]*", "{a,b}", "*.{py,md}"])
patterns = st.lists(parts, min_size=1, max_size=4).map("/".join)


def made(root: Path, wanted: list[str]) -> list[str]:
    """Make the files, as far as one is not in the way of another, and return those there are."""
    for path in wanted:
        try:
            touch(root, path)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            continue
    files = (file for file in root.rglob("*") if file.is_file())
    return sorted(str(file.relative_to(root)) for file in files)


@settings(max_examples=60)
@given(st.lists(paths, max_size=12), patterns, st.sampled_from(["", "/"]))
def test_the_files_that_the_pattern_matches_are_found_in_order(
    wanted: list[str], pattern: str, slash: str
) -> None:
    with fast_place() as place:
        files = made(place.root, wanted)
        jail = Jail(place.root)
        matches = compile_glob(slash + pattern)
        assert found(jail, slash + pattern) == ["/" + path for path in files if matches(path)]
        jail.close()


def test_a_pattern_is_relative_to_the_directory(place: Place, jail: Jail) -> None:
    touch(place.root, "src/a.py", "src/lib/b.py", "a.py")
    assert found(jail, "*.py", "/src") == ["/src/a.py", "/src/lib/b.py"]
    assert found(jail, "/*.py", "/src") == ["/src/a.py"]
    assert found(jail, "lib/*", "/src") == ["/src/lib/b.py"]
    assert found(jail, "src/*.py", "/src") == []


def test_hidden_files_are_found_and_files_of_ours_are_not(place: Place, jail: Jail) -> None:
    write(place.root, {".git/config": "x", ".gitignore": "build\n", "build/out": "x"})
    touch(place.root, f"{RESERVED}/n", f"{TEMPORARY}1", f"d/{TEMPORARY}2/x", f"d/{RESERVED}/mine")
    assert found(jail, "**") == ["/.git/config", "/.gitignore", "/build/out", f"/d/{RESERVED}/mine"]


def test_only_files_and_links_to_files_inside_are_found(place: Place, jail: Jail) -> None:
    touch(place.root, "dir/file.txt")
    os.mkfifo(place.root / "fifo.txt")
    for name, target in {
        "link.txt": "dir/file.txt",
        "out.txt": "../the-outside/secret.txt",
        "absolute.txt": "/etc/passwd",
        "dangling.txt": "nothing",
        "loop.txt": "loop.txt",
        "dir.txt": "dir",
    }.items():
        (place.root / name).symlink_to(target)
    assert found(jail, "*.txt") == ["/dir/file.txt", "/link.txt"]
    assert found(jail, "*.txt", "/dir.txt") == ["/dir.txt/file.txt"]


def test_what_can_not_be_searched_is_an_error(place: Place, jail: Jail) -> None:
    touch(place.root, "file")
    with pytest.raises(FileNotFound, match="/nothing"):
        find_files(jail, "*", "/nothing")
    with pytest.raises(NotDirectory, match="/file"):
        find_files(jail, "*", "/file")
    for pattern in ("{a,b}" * 9, "{1..1000000}", "**/" * 100 + "x", "../*", ""):
        with pytest.raises(PatternRefused):
            find_files(jail, pattern)


def test_names_that_no_path_can_have_are_noted(place: Place, jail: Jail) -> None:
    touch(
        place.root, "fine.txt", "line\nbreak.txt", "back\\slash.txt", "\udce9.txt", "\udcff/a.txt"
    )
    result = find_files(jail, "*.txt")
    assert [info["path"] for info in result.matches or ()] == ["/fine.txt", "/line\nbreak.txt"]
    assert (
        result.note
        == "Left out, because no path can name it: /back\\slash.txt, /\\xe9.txt, /\\xff."
    )


def test_a_directory_that_can_not_be_read_is_noted(place: Place, jail: Jail) -> None:
    touch(place.root, "a/x", "closed/x", "z/x")
    (place.root / "closed").chmod(0)
    with unprivileged(place.root, place.root / "closed"):
        result = find_files(jail, "**")
    assert [info["path"] for info in result.matches or ()] == ["/a/x", "/z/x"]
    assert result.note == "Left out, because unreadable: /closed."


def test_when_the_time_is_up_there_is_what_was_found(place: Place, jail: Jail) -> None:
    touch(place.root, "a", "b/c")
    result = find_files(jail, "*", time_limit=-1)
    assert result.matches == [{"path": "/a", "is_dir": False}]
    assert result.truncated
    assert str(result.note).startswith("The search stopped after")


def test_deep_trees_are_searched_and_nothing_is_left_open(place: Place, jail: Jail) -> None:
    before = open_handles()
    with nested(place.root, 2_000) as deepest:
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=deepest))
        # Its path has 4,005 bytes, so it can be asked for.
        assert found(jail, "file") == ["/" + "d/" * 2_000 + "file"]
        assert found(jail, "**/d/" * 32 + "x") == []
    with nested(place.root, 2_100) as deepest:
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=deepest))
        assert "no path can name it: /d/d/" in str(find_files(jail, "file").note)
    assert open_handles() == before


def test_a_directory_swapped_for_a_link_leads_nowhere() -> None:
    with fast_place() as place:
        touch(place.root, *(f"d/s{number}/own.txt" for number in range(30)))
        touch(place.outside, *(f"d/s{number}/stolen.txt" for number in range(30)))
        jail = Jail(place.root)
        stop = threading.Event()

        def swap() -> None:
            while not stop.is_set():
                os.rename(place.root / "d", place.root / "was")
                os.symlink(place.outside / "d", place.root / "d")
                time.sleep(0.0002)
                os.unlink(place.root / "d")
                os.rename(place.root / "was", place.root / "d")
                time.sleep(0.0002)

        swapper = threading.Thread(target=swap)
        swapper.start()
        try:
            everything = [find_files(jail, "**").matches or [] for _ in range(300)]
        finally:
            stop.set()
            swapper.join()
        assert any(everything)
        assert not [info for infos in everything for info in infos if "stolen" in info["path"]]
        jail.close()


def test_without_virtual_mode_a_search_without_a_path_begins_at_the_root_directory(
    place: Place,
) -> None:
    touch(place.root, "a.py", f"{RESERVED}/note.py", "d/b.py")
    touch(place.outside, "c.py")
    backend = FilesystemBackend(place.root, virtual_mode=False)
    here = [str(place.root / "a.py"), str(place.root / "d/b.py")]
    for path in (None, "/", str(place.root)):
        infos = backend.glob("*.py", path).matches or []
        assert [info["path"] for info in infos] == here
    reply = answer(glob("*.py"), mounts={"/": backend})
    assert reply.text.split("\n") == here
    infos = backend.glob("*.py", str(place.root.parent)).matches or []
    assert len(infos) == 3
