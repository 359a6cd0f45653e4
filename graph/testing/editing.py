"""What editing a file must do."""

from langgraph_filesystem.testing.driven import Driven, failed

__all__ = ("Editing",)


class Editing:
    """Exact text gives way to other text, and every other byte stays."""

    def test_the_text_is_replaced(self, fs: Driven) -> None:
        fs.write("/a.txt", "one two three\n")
        result = fs.edit("/a.txt", "two", "2")
        assert (result.error, result.occurrences) == (None, 1)
        assert fs.content("/a.txt") == b"one 2 three\n"

    def test_every_place_is_replaced_when_that_is_asked_for(self, fs: Driven) -> None:
        fs.write("/a.txt", "aXbXc\nX")
        result = fs.edit("/a.txt", "X", "--", True)
        assert (result.error, result.occurrences) == (None, 3)
        assert fs.content("/a.txt") == b"a--b--c\n--"

    def test_one_place_can_be_replaced_as_if_it_were_many(self, fs: Driven) -> None:
        fs.write("/a.txt", "one")
        assert fs.edit("/a.txt", "one", "two", True).occurrences == 1

    def test_text_that_is_not_there_is_an_error_and_nothing_changes(self, fs: Driven) -> None:
        fs.write("/a.txt", "one two\n")
        failed(fs.edit("/a.txt", "three", "3"), "/a.txt")
        failed(fs.edit("/a.txt", "three", "3", True), "/a.txt")
        assert fs.content("/a.txt") == b"one two\n"

    def test_text_in_several_places_is_an_error_that_counts_them(self, fs: Driven) -> None:
        fs.write("/a.txt", "x y x y x")
        failed(fs.edit("/a.txt", "x", "z"), "/a.txt", "3")
        assert fs.content("/a.txt") == b"x y x y x"

    def test_no_text_to_replace_is_an_error(self, fs: Driven) -> None:
        fs.write("/a.txt", "text")
        fs.write("/empty", "")
        failed(fs.edit("/a.txt", "", "x"), "/a.txt")
        failed(fs.edit("/empty", "", "x"), "/empty")
        assert fs.content("/a.txt") == b"text"

    def test_an_edit_that_changes_nothing_is_an_error(self, fs: Driven) -> None:
        fs.write("/a.txt", "text")
        failed(fs.edit("/a.txt", "text", "text"), "/a.txt")

    def test_editing_what_is_not_there_is_an_error_and_creates_nothing(self, fs: Driven) -> None:
        failed(fs.edit("/nothing", "a", "b"), "/nothing")
        assert fs.names() == []

    def test_editing_a_directory_is_an_error(self, fs: Driven) -> None:
        fs.write("/dir/file", "x")
        failed(fs.edit("/dir", "a", "b"), "/dir")

    def test_text_can_be_taken_away(self, fs: Driven) -> None:
        fs.write("/a.txt", "keep this not")
        assert fs.edit("/a.txt", " this not", "").error is None
        assert fs.content("/a.txt") == b"keep"

    def test_a_file_can_be_edited_until_it_is_empty(self, fs: Driven) -> None:
        fs.write("/a.txt", "all")
        assert fs.edit("/a.txt", "all", "").error is None
        assert fs.content("/a.txt") == b""
        assert fs.names() == ["/a.txt"]

    def test_the_text_is_no_pattern(self, fs: Driven) -> None:
        fs.write("/a.txt", r"a.c abc \1 $x (y) [z]*")
        for old, new in (("a.c", r"\g<0>"), ("[z]*", "$1"), (r"\1", "&"), ("(y)", "\\")):
            assert fs.edit("/a.txt", old, new).error is None
        assert fs.content("/a.txt") == rb"\g<0> abc & $x \ $1"

    def test_edits_one_after_the_other_all_land(self, fs: Driven) -> None:
        fs.write("/a.txt", "1 2 3")
        for number in "123":
            assert fs.edit("/a.txt", number, f"<{number}>").error is None
        assert fs.content("/a.txt") == b"<1> <2> <3>"

    def test_text_of_several_lines_is_replaced(self, fs: Driven) -> None:
        fs.write("/a.txt", "def f():\n    pass\n\nend\n")
        assert fs.edit("/a.txt", "    pass\n\nend", "    return 1\nEND").error is None
        assert fs.content("/a.txt") == b"def f():\n    return 1\nEND\n"

    def test_every_other_byte_stays(self, fs: Driven) -> None:
        raw = "\ufeffold\r\nmixed\nends\r\u2028\x85 e\u0301 \x0b😀 no newline".encode()
        fs.put("/odd.txt", raw)
        assert fs.edit("/odd.txt", "mixed", "MIXED").error is None
        assert fs.content("/odd.txt") == raw.replace(b"mixed", b"MIXED")

    def test_text_written_with_newlines_matches_a_file_with_crlf(self, fs: Driven) -> None:
        fs.put("/dos.txt", b"one\r\ntwo\r\nthree\r\n")
        assert fs.edit("/dos.txt", "one\ntwo\n", "1\n2\n").error is None
        assert fs.content("/dos.txt") == b"1\r\n2\r\nthree\r\n"

    def test_lines_that_are_added_to_a_file_with_crlf_end_so(self, fs: Driven) -> None:
        fs.put("/dos.txt", b"one\r\ntwo\r\n")
        assert fs.edit("/dos.txt", "two", "two\nthree").error is None
        assert fs.content("/dos.txt") == b"one\r\ntwo\r\nthree\r\n"

    def test_emoji_and_accents_are_replaced_as_they_are(self, fs: Driven) -> None:
        fs.write("/a.txt", "a 😀 é e\u0301 z")
        assert fs.edit("/a.txt", "é", "E").error is None
        assert fs.edit("/a.txt", "😀", "🎉🎉").error is None
        assert fs.content("/a.txt") == "a 🎉🎉 E e\u0301 z".encode()

    def test_what_is_not_utf_8_is_not_edited(self, fs: Driven) -> None:
        fs.put("/latin", b"caf\xe9 au lait")
        failed(fs.edit("/latin", "au", "of"), "/latin")
        assert fs.content("/latin") == b"caf\xe9 au lait"

    def test_a_lone_surrogate_is_not_put_into_a_file(self, fs: Driven) -> None:
        fs.write("/a.txt", "text")
        failed(fs.edit("/a.txt", "text", "\ud83d"), "/a.txt")
        assert fs.content("/a.txt") == b"text"
