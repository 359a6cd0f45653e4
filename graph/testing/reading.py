"""What reading a file must do."""

import base64

from langgraph_filesystem.state.files import FileData, file_bytes
from langgraph_filesystem.testing.driven import Driven, failed

__all__ = ("Reading",)

TEN = "".join(f"line {number}\n" for number in range(1, 11))


class Reading:
    """Pages of lines, and files that are no text."""

    def test_a_file_reads_as_it_was_written(self, fs: Driven) -> None:
        fs.write("/a.txt", "one\ntwo\n")
        assert fs.text("/a.txt") == "one\ntwo\n"

    def test_an_empty_file_reads_as_empty_and_has_no_next_page(self, fs: Driven) -> None:
        fs.write("/empty", "")
        result = fs.read("/empty")
        assert fs.text("/empty") == ""
        assert result.next_offset is None
        assert result.total_lines in (None, 0)

    def test_reading_what_is_not_there_is_an_error(self, fs: Driven) -> None:
        failed(fs.read("/nothing.txt"), "/nothing.txt")

    def test_reading_below_a_file_is_an_error(self, fs: Driven) -> None:
        fs.write("/file", "x")
        failed(fs.read("/file/below"), "/file/below")

    def test_reading_a_directory_is_an_error(self, fs: Driven) -> None:
        fs.write("/dir/file", "x")
        failed(fs.read("/dir"), "/dir")

    def test_reading_the_root_is_an_error(self, fs: Driven) -> None:
        fs.write("/file", "x")
        failed(fs.read("/"))

    def test_a_page_has_the_lines_that_were_asked_for(self, fs: Driven) -> None:
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

    def test_pages_one_after_the_other_are_the_whole_file(self, fs: Driven) -> None:
        text = TEN + "the end without a newline"
        fs.write("/ten", text)
        for limit in (1, 3, 7):
            assert _paged(fs, "/ten", limit) == text

    def test_a_page_past_the_end_is_empty(self, fs: Driven) -> None:
        fs.write("/ten", TEN)
        for offset in (10, 11, 1_000_000):
            assert fs.text("/ten", offset, 5) == ""
            assert fs.read("/ten", offset, 5).next_offset is None

    def test_an_offset_below_zero_reads_from_the_first_line(self, fs: Driven) -> None:
        fs.write("/ten", TEN)
        assert fs.text("/ten", -5, 1) == "line 1\n"

    def test_a_page_of_no_lines_is_empty(self, fs: Driven) -> None:
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

    def test_no_more_characters_come_than_were_asked_for(self, fs: Driven) -> None:
        fs.put("/wide", "😀" * 100 + "\n" + "b" * 100 + "\n")
        for most in (1, 7, 100, 101, 150, 10_000):
            assert 0 < len(fs.text("/wide", 0, 10, max_characters=most)) <= most

    def test_pages_of_so_many_characters_are_the_whole_file(self, fs: Driven) -> None:
        text = "short\n" + "😀wide line " * 20 + "\r\n\n\nend without a newline"
        fs.put("/wide", text)
        for most in (7, 64, 1_000):
            assert _cut(fs, "/wide", most) == text

    def test_what_is_not_utf_8_comes_as_base64(self, fs: Driven) -> None:
        raw = b"caf\xe9\n\xff\xfe\x80"
        fs.put("/latin", raw)
        file = fs.read("/latin").file_data
        assert file is not None
        assert file.get("encoding") == "base64"
        assert base64.b64decode(file["content"]) == raw

    def test_bytes_that_are_no_text_come_whole(self, fs: Driven) -> None:
        raw = b"\x89PNG\r\n\x1a\n\0\0" + bytes(range(256))
        fs.put("/picture.png", raw)
        file = fs.read("/picture.png", 0, 1).file_data
        assert file is not None
        assert file_bytes(file) == raw

    def test_reading_changes_nothing(self, fs: Driven) -> None:
        fs.put("/crlf", b"a\r\nb")
        fs.read("/crlf")
        assert fs.content("/crlf") == b"a\r\nb"


def _paged(fs: Driven, path: str, limit: int) -> str:
    """Return the pages of a file one after the other, as `next_offset` leads."""
    text, offset = "", 0
    for _ in range(1_000):
        page = fs.read(path, offset, limit)
        assert page.error is None
        text += (page.file_data or FileData(content=""))["content"]
        if page.next_offset is None:
            return text
        assert page.next_offset > offset, "the next page begins where this one began"
        offset = page.next_offset
    raise AssertionError("the pages do not end")


def _cut(fs: Driven, path: str, most: int) -> str:
    """Return the pages of a file, each of so many characters at most."""
    text, offset, column = "", 0, 0
    for _ in range(1_000):
        page = fs.read(path, offset, 1_000, column=column, max_characters=most)
        assert page.error is None
        text += (page.file_data or FileData(content=""))["content"]
        if page.next_offset is None:
            return text
        place = page.next_offset, page.next_column or 0
        assert place > (offset, column), "the next page begins where this one began"
        offset, column = place
    raise AssertionError("the pages do not end")
