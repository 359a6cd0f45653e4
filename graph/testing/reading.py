"""What reading, listing, uploads, downloads and digests must do."""

import base64
import hashlib
from datetime import datetime

from langgraph_filesystem.state.files import FileData, file_bytes
from langgraph_filesystem.testing.driven import Driven, failed

__all__ = ("Digests", "Listing", "Reading", "Transfers", "write_odd_names")

TEN = "".join(f"line {number}\n" for number in range(1, 11))
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
"""Names that a shell, a pattern or an address would misunderstand."""
CONTROLS = ("new\nline", "tab\tand\x1b[31mescape")
"""Names with control characters, which some stores don't have."""
EVERY_BYTE = bytes(range(256)) * 4


class Reading:
    """Pages of lines, and binary files."""

    def test_a_file_reads_as_it_was_written(self, fs: Driven) -> None:
        fs.write("/a.txt", "one\ntwo\n")
        assert fs.text("/a.txt") == "one\ntwo\n"

    def test_an_empty_file_reads_as_empty_and_has_no_next_page(self, fs: Driven) -> None:
        fs.write("/empty", "")
        result = fs.read("/empty")
        assert fs.text("/empty") == ""
        assert result.next_offset is None
        assert result.total_lines in (None, 0)

    def test_reading_anything_but_a_file_is_an_error(self, fs: Driven) -> None:
        fs.write("/dir/file", "x")
        for path in ("/nothing.txt", "/dir/file/below", "/dir"):
            failed(fs.read(path), path)
        failed(fs.read("/"))

    def test_a_page_has_the_requested_lines(self, fs: Driven) -> None:
        fs.write("/ten", TEN)
        assert fs.text("/ten", 3, 2) == "line 4\nline 5\n"

    def test_a_page_says_which_lines_it_has_and_where_the_next_begins(self, fs: Driven) -> None:
        fs.write("/ten", TEN)
        page = fs.read("/ten", 3, 2)
        assert (page.start_line, page.end_line, page.next_offset) == (4, 5, 5)

    def test_the_number_of_lines_is_right_where_it_is_known(self, fs: Driven) -> None:
        for name, text, lines in (("/ten", TEN, 10), ("/half", "a\nb", 2), ("/one", "\n", 1)):
            fs.write(name, text)
            page = fs.read(name, 0, 1)
            assert page.error is None
            assert page.total_lines in (None, lines)

    def test_the_last_page_has_no_next_one(self, fs: Driven) -> None:
        fs.write("/ten", TEN)
        for offset, limit in ((8, 2), (8, 100), (0, 10), (9, 1)):
            assert fs.read("/ten", offset, limit).next_offset is None

    def test_consecutive_pages_are_the_whole_file(self, fs: Driven) -> None:
        text = TEN + "the end without a newline"
        fs.write("/ten", text)
        for limit in (1, 3, 7):
            assert _paged(fs, "/ten", limit) == text

    def test_a_page_past_the_end_is_empty(self, fs: Driven) -> None:
        fs.write("/ten", TEN)
        for offset in (10, 11, 1_000_000):
            assert fs.text("/ten", offset, 5) == ""
            assert fs.read("/ten", offset, 5).next_offset is None

    def test_a_negative_offset_reads_from_the_first_line(self, fs: Driven) -> None:
        fs.write("/ten", TEN)
        assert fs.text("/ten", -5, 1) == "line 1\n"

    def test_a_limit_of_zero_gives_an_empty_page(self, fs: Driven) -> None:
        fs.write("/ten", TEN)
        assert fs.text("/ten", 0, 0) == ""
        assert fs.text("/ten", 0, -1) == ""

    def test_a_line_ends_at_a_newline_and_nowhere_else(self, fs: Driven) -> None:
        odd = "a\rb\x0bc\x0cd\x1ce\x85f\u2028g\u2029h\n"
        fs.put("/odd", odd + "next\n")
        assert fs.text("/odd", 0, 1) == odd
        assert fs.text("/odd", 1, 1) == "next\n"

    def test_empty_lines_are_lines(self, fs: Driven) -> None:
        fs.write("/gaps", "\n\na\n\n")
        assert fs.text("/gaps", 1, 2) == "\na\n"
        assert fs.text("/gaps", 3, 2) == "\n"

    def test_a_very_long_line_is_one_line(self, fs: Driven) -> None:
        long = "x" * 300_000 + "\n"
        fs.put("/long", long + "after\n")
        assert fs.text("/long", 0, 1) == long
        assert fs.text("/long", 1, 1) == "after\n"

    def test_many_lines_are_paged_without_a_gap(self, fs: Driven) -> None:
        text = "".join(f"{number}\n" for number in range(5_000))
        fs.put("/many", text)
        assert fs.text("/many", 4_321, 2) == "4321\n4322\n"
        assert _paged(fs, "/many", 1_999) == text

    def test_a_column_skips_characters_of_the_first_line(self, fs: Driven) -> None:
        fs.put("/wide", "zero\n😀é123456\nnext\n")
        assert fs.text("/wide", 1, 1, column=3) == "23456\n"
        assert fs.text("/wide", 1, 2, column=2) == "123456\nnext\n"

    def test_a_page_has_at_most_max_characters(self, fs: Driven) -> None:
        fs.put("/wide", "😀" * 100 + "\n" + "b" * 100 + "\n")
        for most in (1, 7, 100, 101, 150, 10_000):
            assert 0 < len(fs.text("/wide", 0, 10, max_characters=most)) <= most

    def test_consecutive_pages_of_max_characters_are_the_whole_file(self, fs: Driven) -> None:
        text = "short\n" + "😀wide line " * 20 + "\r\n\n\nend without a newline"
        fs.put("/wide", text)
        for most in (7, 64, 1_000):
            assert _paged(fs, "/wide", 1_000, most) == text

    def test_a_file_that_is_not_utf_8_comes_as_base64(self, fs: Driven) -> None:
        raw = b"caf\xe9\n\xff\xfe\x80"
        fs.put("/latin", raw)
        file = fs.read("/latin").file_data
        assert file is not None
        assert file.get("encoding") == "base64"
        assert base64.b64decode(file["content"]) == raw

    def test_a_binary_file_comes_whole(self, fs: Driven) -> None:
        raw = b"\x89PNG\r\n\x1a\n\0\0" + bytes(range(256))
        fs.put("/picture.png", raw)
        file = fs.read("/picture.png", 0, 1).file_data
        assert file is not None
        assert file_bytes(file) == raw

    def test_reading_changes_nothing(self, fs: Driven) -> None:
        fs.put("/crlf", b"a\r\nb")
        fs.read("/crlf")
        assert fs.content("/crlf") == b"a\r\nb"


def _paged(fs: Driven, path: str, limit: int, max_characters: int | None = None) -> str:
    """Return the pages of a file one after the other, as `next_offset` and `next_column` say."""
    text, offset, column = "", 0, 0
    for _ in range(1_000):
        cut = {"column": column, "max_characters": max_characters} if max_characters else {}
        page = fs.read(path, offset, limit, **cut)
        assert page.error is None
        text += (page.file_data or FileData(content=""))["content"]
        if page.next_offset is None:
            return text
        place = page.next_offset, page.next_column or 0
        assert place > (offset, column), "the next page begins where this one began"
        offset, column = place
    raise AssertionError("the pages do not end")


class Listing:
    """The entries of a directory."""

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

    def test_only_direct_children_are_listed(self, fs: Driven) -> None:
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

    def test_listing_a_missing_directory_is_an_error(self, fs: Driven) -> None:
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
        names = write_odd_names(fs, "/odd/{0}", self.control_names)
        assert fs.names("/odd") == sorted(f"/odd/{name}" for name in names)

    def test_deep_directories_are_listed(self, fs: Driven) -> None:
        deep = "/d" * 40
        fs.write(f"{deep}/file", "x")
        assert fs.names(deep) == [f"{deep}/file"]
        assert fs.names("/d" * 39) == [f"{deep}/"]


def write_odd_names(fs: Driven, path: str, controls: bool) -> list[str]:
    """Write a file for each of the odd names, and return those that the backend must have."""
    names = [*ODD_NAMES, *(CONTROLS if controls else ())]
    for name in names:
        assert fs.write(path.format(name), "needle").error is None, name
    for name in CONTROLS if not controls else ():
        failed(fs.write(path.format(name), "needle"))
    return names


class Transfers:
    """Uploads and downloads, with an answer for each file."""

    def test_every_byte_comes_back(self, fs: Driven) -> None:
        [arrived] = fs.upload(("/raw", EVERY_BYTE))
        assert (arrived.path, arrived.error) == ("/raw", None)
        [found] = fs.download("/raw")
        assert (found.path, found.error, found.content) == ("/raw", None, EVERY_BYTE)

    def test_an_empty_upload_is_a_file(self, fs: Driven) -> None:
        fs.upload(("/empty", b""))
        [found] = fs.download("/empty")
        assert (found.error, found.content) == (None, b"")

    def test_many_bytes_come_back(self, fs: Driven) -> None:
        raw = EVERY_BYTE * 2_000
        fs.upload(("/large", raw))
        assert fs.download("/large")[0].content == raw

    def test_an_upload_creates_the_directories_above_it(self, fs: Driven) -> None:
        fs.upload(("/a/b/c", b"x"))
        assert fs.names("/a/b") == ["/a/b/c"]

    def test_an_upload_replaces_a_file(self, fs: Driven) -> None:
        fs.write("/a", "a long text")
        assert fs.upload(("/a", b"new"))[0].error is None
        assert fs.content("/a") == b"new"

    def test_an_upload_that_is_text_can_be_read_and_edited(self, fs: Driven) -> None:
        fs.upload(("/a", b"one\r\ntwo"))
        assert fs.text("/a") == "one\r\ntwo"
        assert fs.edit("/a", "two", "2").error is None
        assert fs.content("/a") == b"one\r\n2"

    def test_what_was_written_can_be_downloaded(self, fs: Driven) -> None:
        fs.write("/a", "é\r\n")
        assert fs.download("/a")[0].content == "é\r\n".encode()

    def test_answers_come_in_the_order_of_the_files(self, fs: Driven) -> None:
        files = [(f"/{name}", name.encode()) for name in "cab"]
        assert [answer.path for answer in fs.upload(*files)] == ["/c", "/a", "/b"]
        assert [answer.content for answer in fs.download("/b", "/c", "/a")] == [b"b", b"c", b"a"]

    def test_no_files_are_no_answers(self, fs: Driven) -> None:
        assert fs.upload() == []
        assert fs.download() == []

    def test_downloading_a_missing_file_is_an_error(self, fs: Driven) -> None:
        fs.write("/a", "x")
        [missing, below] = fs.download("/nothing", "/a/below")
        assert (missing.error, missing.content) == ("file_not_found", None)
        assert below.error in ("file_not_found", "invalid_path")

    def test_a_directory_is_not_downloaded(self, fs: Driven) -> None:
        fs.write("/dir/a", "x")
        assert [answer.error for answer in fs.download("/dir", "/")] == ["is_directory"] * 2

    def test_a_directory_is_not_uploaded_over(self, fs: Driven) -> None:
        fs.write("/dir/a", "x")
        assert [answer.error for answer in fs.upload(("/dir", b"y"))] == ["is_directory"]
        assert fs.content("/dir/a") == b"x"

    def test_nothing_is_uploaded_below_a_file(self, fs: Driven) -> None:
        fs.write("/a", "x")
        assert fs.upload(("/a/below", b"y"))[0].error == "invalid_path"
        assert fs.content("/a") == b"x"

    def test_one_failure_does_not_stop_the_others(self, fs: Driven) -> None:
        fs.write("/dir/x", "x")
        answers = fs.upload(("/a", b"1"), ("/dir", b"2"), ("/../b", b"3"), ("/c", b"4"))
        assert [answer.error for answer in answers] == [None, "is_directory", "invalid_path", None]
        found = fs.download("/a", "/nothing", "/dir", "/c")
        assert [answer.content for answer in found] == [b"1", None, None, b"4"]

    def test_of_two_uploads_to_one_path_the_last_wins(self, fs: Driven) -> None:
        fs.upload(("/a", b"first"), ("/a", b"last"))
        assert fs.content("/a") == b"last"


class Digests:
    """Digests of what files hold."""

    def test_a_digest_is_computed_from_the_bytes(self, fs: Driven) -> None:
        for path, raw in (("/text", b"a\r\n"), ("/raw", EVERY_BYTE), ("/empty", b"")):
            fs.put(path, raw)
            assert fs.digest(path) == hashlib.sha256(raw).hexdigest()[:24]

    def test_only_files_have_a_digest(self, fs: Driven) -> None:
        fs.write("/dir/a", "x")
        assert [fs.digest(path) for path in ("/nothing", "/dir", "/", "/dir/a/b")] == [None] * 4

    def test_a_digest_depends_on_the_content_only(self, fs: Driven) -> None:
        fs.write("/a", "one")
        before = fs.digest("/a")
        fs.edit("/a", "one", "two")
        assert fs.digest("/a") not in (None, before)
        fs.edit("/a", "two", "one")
        assert fs.digest("/a") == before
