"""What a path may be, and which file it means."""

from langgraph_filesystem.testing.driven import Driven, failed
from langgraph_filesystem.testing.listing import planted

__all__ = ("Naming",)

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
"""Paths that no backend may take."""


class Naming:
    """One file has one spelling of its path, and no path leads out."""

    longest_name = 255
    """Bytes of the longest name that the backend can have."""
    control_names = True
    """Whether names may have control characters, such as a newline; else they are refused."""

    def test_a_relative_path_is_one_below_the_root(self, fs: Driven) -> None:
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

    def test_a_path_that_leads_elsewhere_is_not_read(self, fs: Driven) -> None:
        for path in REFUSED.values():
            failed(fs.read(path))

    def test_a_path_that_leads_elsewhere_is_not_written(self, fs: Driven) -> None:
        for path in REFUSED.values():
            failed(fs.write(path, "x"))
        assert fs.names() == []

    def test_a_path_that_leads_elsewhere_is_not_edited(self, fs: Driven) -> None:
        for path in REFUSED.values():
            failed(fs.edit(path, "a", "b"))

    def test_a_path_that_leads_elsewhere_is_not_listed(self, fs: Driven) -> None:
        for path in REFUSED.values():
            failed(fs.ls(path))

    def test_a_path_that_leads_elsewhere_is_not_searched(self, fs: Driven) -> None:
        for path in filter(None, REFUSED.values()):  # no path is the whole backend
            failed(fs.glob("*", path))
            failed(fs.grep("x", path))

    def test_a_path_that_leads_elsewhere_is_not_deleted(self, fs: Driven) -> None:
        for path in REFUSED.values():
            failed(fs.delete(path))

    def test_a_path_that_leads_elsewhere_is_not_moved(self, fs: Driven) -> None:
        fs.write("/file", "x")
        for path in REFUSED.values():
            failed(fs.move(path, "/b"))
            failed(fs.move("/file", path))
        assert fs.names() == ["/file"]

    def test_a_path_that_leads_elsewhere_is_not_loaded(self, fs: Driven) -> None:
        paths = list(REFUSED.values())
        wrong = ["invalid_path"] * len(paths)
        assert [answer.error for answer in fs.download(*paths)] == wrong
        assert [answer.error for answer in fs.upload(*((path, b"x") for path in paths))] == wrong
        assert fs.names() == []

    def test_the_longest_name_is_a_name(self, fs: Driven) -> None:
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
        for name in planted(fs, "/{0}/{0}", self.control_names):
            path = f"/{name}/{name}"
            assert fs.edit(path, "needle", "new").error is None, name
            assert fs.text(path) == "new", name
            assert fs.names(f"/{name}") == [path], name

    def test_odd_names_are_found(self, fs: Driven) -> None:
        paths = sorted(f"/odd/{name}" for name in planted(fs, "/odd/{0}", self.control_names))
        assert fs.found("*", "/odd") == paths
        assert fs.lines("needle", "/odd") == [(path, 1) for path in paths]

    def test_odd_names_are_moved_and_deleted(self, fs: Driven) -> None:
        for number, name in enumerate(planted(fs, "/{0}", self.control_names)):
            assert fs.move(f"/{name}", f"/{number}/{name}").error is None, name
            assert fs.delete(f"/{number}/{name}").error is None, name
        assert fs.found("**") == []
