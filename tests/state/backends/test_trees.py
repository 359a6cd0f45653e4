"""Walks and globs on disk: what is found, what is left out, and that they come to an end."""

import os
import subprocess
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_filesystem.state.backends import trees
from langgraph_filesystem.state.backends.jail import RESERVED, TEMPORARY, Jail, Unconfined
from langgraph_filesystem.state.backends.trees import Walk, glob_files
from langgraph_filesystem.state.errors import FileNotFound, NotDirectory, PatternRefused
from langgraph_filesystem.state.globs import compile_glob
from tests.state.backends.disk.places import Place, fast_place, nested, open_handles, unprivileged


def write(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")


def found(jail: Jail, pattern: str, path: str = "/") -> list[str]:
    result = glob_files(jail, pattern, path)
    assert not result.truncated
    return sorted(info["path"] for info in result.matches or ())


def walked(jail: Jail, path: str = "/") -> list[str]:
    walk = Walk(jail, path, deadline=time.monotonic() + 60, ordered=True)
    return [batch.path + name for batch in walk.batches() for name in batch.names]


names = st.sampled_from(["a", "b", "ab", ".a", "a.py", "b.md", "a b", "a-", "a!", "é"])
paths = st.lists(names, min_size=1, max_size=4).map("/".join)
parts = st.sampled_from(["**", "*", "a", "ab", "?", "a*", "*.py", "[ab]*", "{a,b}", "*.{py,md}"])
patterns = st.lists(parts, min_size=1, max_size=4).map("/".join)


def made(root: Path, wanted: list[str]) -> list[str]:
    """Make the files, as far as one is not in the way of another, and return those there are."""
    for path in wanted:
        try:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).touch()
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            continue
    found = (file for file in root.rglob("*") if file.is_file())
    return sorted(str(file.relative_to(root)) for file in found)


@settings(max_examples=60)
@given(st.lists(paths, max_size=12), patterns, st.sampled_from(["", "/"]))
def test_a_glob_finds_what_its_pattern_matches(wanted: list[str], pattern: str, slash: str) -> None:
    with fast_place() as place:
        files = made(place.root, wanted)
        jail = Jail(place.root)
        matches = compile_glob(slash + pattern)
        assert found(jail, slash + pattern) == ["/" + path for path in files if matches(path)]
        assert walked(jail) == sorted("/" + path for path in files)
        jail.close()


def test_a_pattern_is_relative_to_the_directory(place: Place, jail: Jail) -> None:
    write(place.root, "src/a.py", "src/lib/b.py", "a.py")
    assert found(jail, "*.py", "/src") == ["/src/a.py", "/src/lib/b.py"]
    assert found(jail, "/*.py", "/src") == ["/src/a.py"]
    assert found(jail, "lib/*", "/src") == ["/src/lib/b.py"]
    assert found(jail, "src/*.py", "/src") == []


def test_a_directory_that_can_not_hold_a_match_is_not_opened(
    place: Place, jail: Jail, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(place.root, "src/a.py", "src/deep/er/b.py", "node_modules/x/y.py")
    opened: list[str] = []
    enter = Walk._list

    def noted(walk: Walk, level: trees._Level) -> None:
        opened.append(level.path)
        enter(walk, level)

    monkeypatch.setattr(Walk, "_list", noted)
    assert found(jail, "src/*.py") == ["/src/a.py"]
    assert opened == ["/", "/src/"]


def test_hidden_files_and_what_git_ignores_are_found(place: Place, jail: Jail) -> None:
    write(place.root, ".git/config", ".env", "build/out.txt")
    (place.root / ".gitignore").write_text("build\n")
    assert found(jail, "**") == ["/.env", "/.git/config", "/.gitignore", "/build/out.txt"]


def test_names_of_ours_are_not_found(place: Place, jail: Jail) -> None:
    write(
        place.root, f"{RESERVED}/note", f"{TEMPORARY}1", f"d/{TEMPORARY}2/x", f"d/{RESERVED}/mine"
    )
    assert found(jail, "**") == [f"/d/{RESERVED}/mine"]
    assert found(jail, ".*") == []


def test_without_a_jail_paths_are_the_hosts(place: Place) -> None:
    write(place.root, "a.py", f"{RESERVED}/note.py")
    free = Unconfined(place.root)
    assert found(free, "*.py", str(place.root)) == [str(place.root / "a.py")]
    assert found(free, "*.py", str(place.root.parent)) == [str(place.root / "a.py")]
    free.close()


def test_a_link_to_a_file_inside_is_found_under_its_own_name(place: Place, jail: Jail) -> None:
    write(place.root, "dir/file.txt")
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


def test_what_is_no_file_is_not_found(place: Place, jail: Jail) -> None:
    write(place.root, "file")
    os.mkfifo(place.root / "fifo")
    (place.root / "dir").mkdir()
    assert found(jail, "*") == ["/file"]


@pytest.mark.parametrize(
    ("path", "error"), [("/nothing", FileNotFound), ("/file", NotDirectory)], ids=str
)
def test_only_a_directory_can_be_looked_through(
    place: Place, jail: Jail, path: str, error: type[Exception]
) -> None:
    write(place.root, "file")
    with pytest.raises(error, match=path):
        glob_files(jail, "*", path)


@pytest.mark.parametrize("pattern", ["{a,b}" * 9, "{1..1000000}", "**/" * 100 + "x", "../*", ""])
def test_a_pattern_that_is_no_pattern_is_refused(jail: Jail, pattern: str) -> None:
    with pytest.raises(PatternRefused):
        glob_files(jail, pattern)


def test_many_globstars_come_to_an_end(place: Place, jail: Jail) -> None:
    with nested(place.root, 200):
        start = time.monotonic()
        assert found(jail, "**/d/" * 32 + "x") == []
        assert time.monotonic() - start < 20


def test_names_that_no_path_can_have_are_noted(place: Place, jail: Jail) -> None:
    write(place.root, "fine.txt", "line\nbreak.txt", "back\\slash.txt")
    with open(os.fsencode(place.root) + b"/caf\xe9.txt", "wb"):
        pass
    os.makedirs(os.fsencode(place.root) + b"/\xff/below")
    with open(os.fsencode(place.root) + b"/\xff/below/a.txt", "wb"):
        pass
    result = glob_files(jail, "*.txt")
    assert sorted(info["path"] for info in result.matches or ()) == [
        "/fine.txt",
        "/line\nbreak.txt",
    ]
    assert result.note is not None
    assert "no path can name it: /back\\slash.txt, /caf\\xe9.txt, /\\xff/below/a.txt" in result.note
    result.note.encode()


def test_a_directory_that_can_not_be_read_is_noted_and_the_others_are_found(
    place: Place, jail: Jail
) -> None:
    write(place.root, "a/x", "closed/x", "z/x")
    (place.root / "closed").chmod(0)
    with unprivileged(place.root, place.root / "closed"):
        result = glob_files(jail, "**")
    assert sorted(info["path"] for info in result.matches or ()) == ["/a/x", "/z/x"]
    assert result.note == "Left out, as it can't be read: /closed."


def test_when_the_time_is_up_there_is_what_was_found(place: Place, jail: Jail) -> None:
    write(place.root, "a")
    result = glob_files(jail, "*", time_limit=-1)
    assert result.truncated
    assert result.note is not None
    assert result.note.startswith("The search stopped after")


def test_more_than_any_answer_holds_is_cut(
    place: Place, jail: Jail, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "_MAX_FOUND", 3)
    write(place.root, *(f"d{number}/f" for number in range(5)))
    result = glob_files(jail, "*")
    assert len(result.matches or ()) == 3
    assert result.truncated


def test_thirty_thousand_entries_take_no_time(place: Place, jail: Jail) -> None:
    for number in range(30_000):
        os.close(os.open(place.root / f"f{number}", os.O_CREAT | os.O_WRONLY))
    start = time.monotonic()
    assert len(found(jail, "f*9")) == 3_000
    assert time.monotonic() - start < 10


def test_no_depth_is_too_deep_and_few_handles_are_held(place: Place, jail: Jail) -> None:
    with nested(place.root, 2_000) as deepest:
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=deepest))
        before, most = open_handles(), 0
        walk = Walk(jail, "/", deadline=time.monotonic() + 60)
        for batch in walk.batches():
            most = max(most, open_handles() - before)
            assert batch.path + batch.names[0] == "/" + "d/" * 2_000 + "file"
        assert 0 < most < 100
        assert open_handles() == before
        # Its path has 4,005 bytes, so it can be asked for.
        assert found(jail, "file") == ["/" + "d/" * 2_000 + "file"]


def test_a_deep_tree_with_branches_is_walked_in_order(place: Place, jail: Jail) -> None:
    with nested(place.root, 150):
        here = place.root
        for _ in range(150):
            write(here, "b", "z/y")
            here /= "d"
        before = open_handles()
        expected = sorted(
            "/" + "d/" * depth + name for depth in range(150) for name in ("b", "z/y")
        )
        assert walked(jail) == expected
        assert open_handles() == before


def test_a_walk_that_is_given_up_leaves_no_handle_open(place: Place, jail: Jail) -> None:
    write(place.root, *(f"{letter}/b/c/d" for letter in "abc"))
    before = open_handles()
    batches = Walk(jail, "/", deadline=time.monotonic() + 60).batches()
    next(batches)
    batches.close()
    assert open_handles() == before


def test_a_directory_that_moves_away_ends_the_walk_and_not_the_jail(
    place: Place, jail: Jail, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "_OPEN", 2)
    write(place.root, "d/d/d/d/file", "d/e/later", "z")
    walk = Walk(jail, "/", deadline=time.monotonic() + 60)
    seen = []
    before = open_handles()
    for batch in walk.batches():
        seen += [batch.path + name for name in batch.names]
        if batch.path == "/d/d/d/d/":
            os.rename(place.root / "d/d/d", place.outside / "moved")
    assert seen[:2] == ["/z", "/d/d/d/d/file"]
    assert not any("secret" in path for path in seen)
    assert walk.omissions.unreadable.count == 1
    assert open_handles() == before


def test_a_directory_swapped_for_a_link_leads_nowhere() -> None:
    with fast_place() as place:
        write(place.root, *(f"d/s{number}/own.txt" for number in range(30)))
        for number in range(30):
            write(place.outside, f"d/s{number}/stolen.txt")
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
            everything = [found(jail, "**") for _ in range(300)]
        finally:
            stop.set()
            swapper.join()
        assert any(everything)
        assert not [path for paths in everything for path in paths if "stolen" in path]
        jail.close()


def test_it_finds_what_the_find_program_finds(place: Place, jail: Jail) -> None:
    write(place.root, "a/b/c.py", "a/.x/d.py", "e.py", "f.txt")
    command = ["find", ".", "-type", "f", "-name", "*.py"]
    done = subprocess.run(command, cwd=place.root, capture_output=True, text=True, check=True)
    assert found(jail, "*.py") == sorted(line[1:] for line in done.stdout.splitlines())
