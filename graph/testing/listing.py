"""What listing a directory must do."""

from datetime import datetime

from langgraph_filesystem.testing.driven import Driven, failed

__all__ = ("Listing", "planted")

ODD_NAMES = (
    "with space",
    " leading and trailing ",
    "quote'\"`$x",
    "-rf",
    "--",
    "*?[a]{b,c}",
    "per%20cent%2Fslash",
    "ab:c|d<e>f",
    "#hash;semi&and",
    "ünïcödé 😀",
    "...",
    "dot.",
)
"""Names that a shell, a pattern or an address would take for something else."""
CONTROLS = ("new\nline", "tab\tand\x1b[31mescape")
"""Names with control characters, which some stores don't have."""


class Listing:
    """What is in a directory, and only that."""

    many = 1_200
    """How many entries are listed at once: more than a page of most stores."""
    control_names = True
    """Whether names may have control characters, such as a newline; else they are refused."""

    def test_a_new_backend_is_empty(self, fs: Driven) -> None:
        assert fs.names() == []
        assert fs.names("/") == []

    def test_files_and_directories_are_told_apart(self, fs: Driven) -> None:
        fs.write("/file", "x")
        fs.write("/dir/below", "x")
        assert fs.names() == ["/dir/", "/file"]

    def test_only_what_is_directly_in_it_is_listed(self, fs: Driven) -> None:
        for path in ("/a/b", "/a/c/d", "/a/c/e/f", "/ab/g", "/h"):
            fs.write(path, "x")
        assert fs.names("/a") == ["/a/b", "/a/c/"]
        assert fs.names("/a/c/e") == ["/a/c/e/f"]

    def test_a_directory_is_listed_once(self, fs: Driven) -> None:
        for number in range(5):
            fs.write(f"/dir/{number}", "x")
        assert fs.names() == ["/dir/"]

    def test_hidden_names_are_listed(self, fs: Driven) -> None:
        for path in ("/.hidden", "/.dir/file", "/.dir/.file"):
            fs.write(path, "x")
        assert fs.names() == ["/.dir/", "/.hidden"]
        assert fs.names("/.dir") == ["/.dir/.file", "/.dir/file"]

    def test_listing_a_file_is_an_error(self, fs: Driven) -> None:
        fs.write("/file", "x")
        failed(fs.ls("/file"), "/file")

    def test_listing_what_is_not_there_is_an_error(self, fs: Driven) -> None:
        fs.write("/file", "x")
        failed(fs.ls("/nothing"), "/nothing")
        failed(fs.ls("/fil"), "/fil")
        failed(fs.ls("/file/below"), "/file/below")

    def test_sizes_are_in_bytes_where_they_are_given(self, fs: Driven) -> None:
        fs.put("/text", "é😀")
        fs.put("/raw", b"\xff" * 1_000)
        fs.put("/empty", b"")
        sizes = {entry["path"]: entry.get("size") for entry in fs.ls("/").entries or ()}
        assert sizes["/text"] in (None, 6)
        assert sizes["/raw"] in (None, 1_000)
        assert sizes["/empty"] in (None, 0)

    def test_times_are_iso_8601_with_a_zone_where_they_are_given(self, fs: Driven) -> None:
        fs.write("/a", "x")
        [entry] = fs.ls("/").entries or []
        if time := entry.get("modified_at"):
            modified = datetime.fromisoformat(time)
            assert modified.tzinfo is not None
            assert abs((datetime.now(modified.tzinfo) - modified).total_seconds()) < 300

    def test_many_entries_are_all_listed(self, fs: Driven) -> None:
        fs.need("upload_files")
        paths = [f"/many/{number:04}" for number in range(self.many)]
        fs.upload(*((path, b"x") for path in paths))
        assert fs.names("/many") == paths

    def test_odd_names_are_listed_as_they_are(self, fs: Driven) -> None:
        names = planted(fs, "/odd/{0}", self.control_names)
        assert fs.names("/odd") == sorted(f"/odd/{name}" for name in names)

    def test_deep_directories_are_listed(self, fs: Driven) -> None:
        deep = "/d" * 40
        fs.write(f"{deep}/file", "x")
        assert fs.names(deep) == [f"{deep}/file"]
        assert fs.names("/d" * 39) == [f"{deep}/"]


def planted(fs: Driven, path: str, controls: bool) -> list[str]:
    """Write a file for each of the odd names, and return those that the backend must have."""
    names = [*ODD_NAMES, *(CONTROLS if controls else ())]
    for name in names:
        assert fs.write(path.format(name), "needle").error is None, name
    for name in CONTROLS if not controls else ():
        failed(fs.write(path.format(name), "needle"))
    return names
