"""What a path may be, which file it means, and that no answer shows a path of the host."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from langgraph_filesystem.testing.driven import Driven, failed
from langgraph_filesystem.testing.reading import write_odd_names

__all__ = ("Paths", "Privacy")

REFUSED = {
    "up": "/a/../b",
    "up at the end": "/a/..",
    "up at the start": "../a",
    "up with backslashes": "/a\\..\\b",
    "home": "~/a",
    "another home": "~root/a",
    "NUL": "/a\0b",
    "surrogate": "/a\udcffb",
    "drive": "C:/a",
    "drive with backslashes": "C:\\a",
    "empty": "",
    "long name": "/" + "n" * 256,
    "long name in UTF-8": "/" + "é" * 128,
    "long path": "/" + "/".join(["d" * 200] * 21),
}
"""Paths that every backend must refuse."""


class Paths:
    """Every spelling of a path means the same file, and no path leads out."""

    longest_name = 255
    """Size in bytes of the longest name that the backend supports."""
    control_names = True
    """Whether names may have control characters, such as a newline; else they are refused."""

    def test_a_relative_path_starts_at_the_root(self, fs: Driven) -> None:
        assert fs.write("a/b.txt", "x").error is None
        assert fs.content("/a/b.txt") == b"x"

    def test_spellings_of_one_path_mean_one_file(self, fs: Driven) -> None:
        fs.write("/a/b.txt", "x")
        for path in ("//a//b.txt", "/./a/./b.txt", "/a/b.txt/", "a/b.txt", "\\a\\b.txt"):
            assert fs.text(path) == "x"
        for path in ("/a/", "//a", "/a/.", "a", "./a"):
            assert fs.names(path) == ["/a/b.txt"]

    def test_spellings_of_the_root_are_the_root(self, fs: Driven) -> None:
        fs.write("/a", "x")
        for path in ("/", "//", "/.", "./", "."):
            assert fs.names(path) == ["/a"]

    def test_a_search_takes_any_spelling_of_its_directory(self, fs: Driven) -> None:
        fs.write("/a/b", "x")
        for path in ("/a", "a", "/a/", "//a/."):
            assert fs.found("*", path) == ["/a/b"]
            assert fs.lines("x", path) == [("/a/b", 1)]

    def test_an_invalid_path_is_not_read(self, fs: Driven) -> None:
        for path in REFUSED.values():
            failed(fs.read(path))

    def test_an_invalid_path_is_not_written_or_edited(self, fs: Driven) -> None:
        for path in REFUSED.values():
            failed(fs.write(path, "x"))
            failed(fs.edit(path, "a", "b"))
        assert fs.names() == []

    def test_an_invalid_path_is_not_listed(self, fs: Driven) -> None:
        for path in REFUSED.values():
            failed(fs.ls(path))

    def test_an_invalid_path_is_not_searched(self, fs: Driven) -> None:
        for path in filter(None, REFUSED.values()):  # no path is the whole backend
            failed(fs.glob("*", path))
            failed(fs.grep("x", path))

    def test_an_invalid_path_is_not_deleted(self, fs: Driven) -> None:
        for path in REFUSED.values():
            failed(fs.delete(path))

    def test_an_invalid_path_is_not_moved(self, fs: Driven) -> None:
        fs.write("/file", "x")
        for path in REFUSED.values():
            failed(fs.move(path, "/b"))
            failed(fs.move("/file", path))
        assert fs.names() == ["/file"]

    def test_an_invalid_path_is_not_loaded(self, fs: Driven) -> None:
        paths = list(REFUSED.values())
        wrong = ["invalid_path"] * len(paths)
        assert [answer.error for answer in fs.download(*paths)] == wrong
        assert [answer.error for answer in fs.upload(*((path, b"x") for path in paths))] == wrong
        assert fs.names() == []

    def test_the_longest_name_can_be_used(self, fs: Driven) -> None:
        for name in ("n" * self.longest_name, "é" * (self.longest_name // 2)):
            assert fs.write(f"/{name}", name).error is None
            assert fs.content(f"/{name}") == name.encode()

    def test_dots_in_a_name_are_part_of_it(self, fs: Driven) -> None:
        for path in ("/..a", "/a..", "/a..b", "/...", "/.a", "/a."):
            assert fs.write(path, path).error is None
            assert fs.content(path) == path.encode()

    def test_a_tilde_within_a_path_is_part_of_it(self, fs: Driven) -> None:
        assert fs.write("/~", "1").error is None
        assert fs.write("/a~/~b", "2").error is None
        assert fs.found("**") == ["/a~/~b", "/~"]

    def test_odd_names_can_be_used(self, fs: Driven) -> None:
        for name in write_odd_names(fs, "/{0}/{0}", self.control_names):
            path = f"/{name}/{name}"
            assert fs.edit(path, "needle", "new").error is None, name
            assert fs.text(path) == "new", name
            assert fs.names(f"/{name}") == [path], name

    def test_odd_names_are_found(self, fs: Driven) -> None:
        paths = sorted(
            f"/odd/{name}" for name in write_odd_names(fs, "/odd/{0}", self.control_names)
        )
        assert fs.found("*", "/odd") == paths
        assert fs.lines("needle", "/odd") == [(path, 1) for path in paths]

    def test_odd_names_are_moved_and_deleted(self, fs: Driven) -> None:
        for number, name in enumerate(write_odd_names(fs, "/{0}", self.control_names)):
            assert fs.move(f"/{name}", f"/{number}/{name}").error is None, name
            assert fs.delete(f"/{number}/{name}").error is None, name
        assert fs.found("**") == []


class Privacy:
    """Errors and results show only paths that the agent knows."""

    def test_no_error_shows_where_the_backend_keeps_its_files(
        self, fs: Driven, tmp_path: Path
    ) -> None:
        fs.put("/dir/file", "x")
        fs.put("/raw", b"\xff\0")
        host = str(tmp_path)
        for result in _failures(fs):
            assert host not in failed(result)

    def test_no_result_shows_where_the_backend_keeps_its_files(
        self, fs: Driven, tmp_path: Path
    ) -> None:
        fs.put("/dir/file", "x")
        answers = [fs.ls("/"), fs.ls("/dir"), fs.read("/dir/file"), fs.glob("*"), fs.grep("x")]
        answers += [fs.write("/new", "y"), fs.edit("/new", "y", "z")]
        assert str(tmp_path) not in "".join(map(repr, answers))


def _failures(fs: Driven) -> Iterator[Any]:
    for path in ("/nothing", "/dir/file/below", "/dir", *REFUSED.values()):
        yield fs.read(path)
        yield fs.edit(path, "a", "b")
    for path in ("/nothing", "/dir/file", *REFUSED.values()):
        yield fs.ls(path)
    for path in ("/", "/dir", "/dir/file/below", *REFUSED.values()):
        yield fs.write(path, "x")
    yield fs.edit("/raw", "a", "b")
    yield fs.glob("*", "/nothing")
    yield fs.grep("x", "/nothing")
