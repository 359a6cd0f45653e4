"""What a sandbox is told to show."""

import os

import pytest

from langgraph_filesystem.state.backends.confinement import View, is_reserved


@pytest.mark.parametrize(
    ("path", "reserved"),
    [
        ("/usr", True),
        ("/usr/local/x", True),
        ("/lib64", True),
        ("/etc/x", True),
        ("/proc", True),
        ("/sys", True),
        ("/dev/shm", True),
        ("/run", True),
        ("/nix/x", True),
        ("/", False),
        ("/tmp", False),
        ("/repo", False),
        ("/home/me/repo", False),
        ("/users", False),
        ("/library", False),
    ],
)
def test_a_directory_can_not_be_where_the_system_is(path: str, reserved: bool) -> None:
    assert is_reserved(path) is reserved


def view(**options: object) -> View:
    return View(place="/repo", memory=1_000_000, **options)  # type: ignore[arg-type]


def test_the_network_and_what_it_needs_come_only_when_asked_for() -> None:
    without, with_it = list(view().head()), list(view(network=True).head())
    assert "--share-net" not in without
    assert "--unshare-all" in without
    assert "/etc/resolv.conf" not in without
    assert "--share-net" in with_it
    assert "/etc/resolv.conf" in with_it
    # Only the public part: a sandbox of root could read the private one.
    assert "/etc/ssl/certs" in with_it
    assert not {"/etc/ssl", "/etc/pki", "/etc/ssl/private"} & {*with_it}


def test_root_has_more_to_cover(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    covered = list(view().head())
    assert covered[covered.index("/proc/sys") - 1] == "--ro-bind"
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "/proc/sys" not in list(view().head())


def test_names_right_below_the_top_are_shown_beside_the_system() -> None:
    names = {"a.txt": [], "bin": ["mine", "sh"], "repo": [], "proc": ["x"], "etc": ["passwd", "x"]}
    shown = view(names=names)
    assert shown.entries() == ["a.txt", "bin/mine", "etc/x"]
    assert shown.taken() >= {"bin", "repo", "proc", "etc", "usr", "tmp", "run", "dev"}
    assert "a.txt" not in shown.taken()


def test_of_many_names_the_later_ones_are_links_and_there_is_an_end() -> None:
    shown = view(names={f"n{number:04}": [] for number in range(1_000)})
    assert len(shown.bound()) == 64
    assert len(shown.linked()) == 336
    tail = list(shown.tail())
    assert tail.count("--symlink") == 336
    assert tail[tail.index("--symlink") + 1 :][:2] == ["/repo/n0064", "/n0064"]


def test_the_top_can_only_be_written_where_the_directory_is_shown_there() -> None:
    assert list(view().tail())[-4:] == ["--remount-ro", "/", "--chdir", "/repo"]
    assert "/" not in list(view(names={}).tail())
