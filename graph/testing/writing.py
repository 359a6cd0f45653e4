"""What writing, editing, deleting and moving must do, also at the same time."""

from langgraph_filesystem.testing.driven import Call, Driven, failed

__all__ = ("Concurrency", "Deleting", "Editing", "Moving", "Writing")

EDITS = (
    ("keep this not", " this not", ""),
    ("all", "all", ""),
    ("def f():\n    pass\n\nend\n", "    pass\n\nend", "    return 1\nEND"),
    ("a.c abc", "a.c", r"\g<0>"),
    ("[z]* $x (y)", "[z]*", "$1"),
    (r"\1 x", r"\1", "&"),
    ("(y) x", "(y)", "\\"),
    ("a 😀 é e\u0301 z", "é", "E"),
    ("a 😀 é", "😀", "🎉🎉"),
    ("\ufeffold\r\nmixed\nends\r\u2028\x85 e\u0301 \x0b😀 no newline", "mixed", "MIXED"),
)
"""A text, a text in it that is replaced, and by what."""


class Writing:
    """New files, replaced files, and what can't be written."""

    def test_a_new_file_has_the_written_content(self, fs: Driven) -> None:
        assert fs.write("/a.txt", "text\n").error is None
        assert fs.content("/a.txt") == b"text\n"

    def test_a_write_creates_the_directories_above_the_file(self, fs: Driven) -> None:
        assert fs.write("/a/b/c.txt", "x").error is None
        assert fs.names("/a") == ["/a/b/"]
        assert fs.names("/a/b") == ["/a/b/c.txt"]

    def test_an_empty_file_is_a_file(self, fs: Driven) -> None:
        assert fs.write("/empty", "").error is None
        assert fs.names() == ["/empty"]
        assert fs.content("/empty") == b""

    def test_a_result_names_the_path(self, fs: Driven) -> None:
        assert fs.write("/a.txt", "x").path == "/a.txt"

    def test_an_existing_file_is_not_overwritten_by_default(self, fs: Driven) -> None:
        fs.need("write", "overwrite")
        fs.write("/a.txt", "old")
        failed(fs.write("/a.txt", "new"), "/a.txt")
        assert fs.content("/a.txt") == b"old"

    def test_an_existing_file_is_replaced_on_request(self, fs: Driven) -> None:
        fs.write("/a.txt", "a long text that was here before")
        assert fs.write("/a.txt", "short", overwrite=True).error is None
        assert fs.content("/a.txt") == b"short"

    def test_overwriting_a_missing_file_creates_it(self, fs: Driven) -> None:
        assert fs.write("/new/a.txt", "x", overwrite=True).error is None
        assert fs.content("/new/a.txt") == b"x"

    def test_a_file_that_is_replaced_is_listed_once(self, fs: Driven) -> None:
        fs.write("/a.txt", "1")
        fs.write("/a.txt", "2", overwrite=True)
        assert fs.names() == ["/a.txt"]

    def test_nothing_is_written_below_a_file(self, fs: Driven) -> None:
        fs.write("/file", "x")
        failed(fs.write("/file/below/deep", "y"), "/file/below/deep")
        assert fs.content("/file") == b"x"
        assert fs.names() == ["/file"]

    def test_a_directory_is_not_replaced_by_a_file(self, fs: Driven) -> None:
        fs.write("/dir/file", "x")
        failed(fs.write("/dir", "y"), "/dir")
        assert fs.names() == ["/dir/"]
        assert fs.content("/dir/file") == b"x"

    def test_a_directory_is_not_overwritten_by_a_file(self, fs: Driven) -> None:
        fs.write("/dir/file", "x")
        failed(fs.write("/dir", "y", overwrite=True), "/dir")
        assert fs.content("/dir/file") == b"x"

    def test_the_root_is_not_written(self, fs: Driven) -> None:
        failed(fs.write("/", "x"))
        assert fs.names() == []

    def test_a_text_with_a_lone_surrogate_is_not_written(self, fs: Driven) -> None:
        failed(fs.write("/bad.txt", "a\ud800b"), "/bad.txt")
        assert fs.names() == []

    def test_a_text_with_a_lone_surrogate_replaces_nothing(self, fs: Driven) -> None:
        fs.write("/a.txt", "old")
        failed(fs.write("/a.txt", "\udcff", overwrite=True), "/a.txt")
        assert fs.content("/a.txt") == b"old"

    def test_line_ends_are_kept_as_they_were_written(self, fs: Driven) -> None:
        for number, text in enumerate(("a\r\nb\r\n", "a\rb", "a\nb", "\r\n", "a\n\r")):
            fs.write(f"/{number}", text)
            assert fs.content(f"/{number}") == text.encode()

    def test_unusual_characters_are_kept(self, fs: Driven) -> None:
        text = "\ufeffé e\u0301 😀 \u2028\u2029\x85\x00\x7f\U0010ffff"
        fs.write("/odd.txt", text)
        assert fs.content("/odd.txt") == text.encode()

    def test_a_large_file_is_kept_whole(self, fs: Driven) -> None:
        text = "0123456789abcde\n" * 65_536
        assert fs.write("/large.txt", text).error is None
        assert fs.content("/large.txt") == text.encode()

    def test_writing_one_file_leaves_the_others(self, fs: Driven) -> None:
        fs.write("/a", "1")
        fs.write("/a.b", "2")
        fs.write("/dir/a", "3")
        assert [fs.content(path) for path in ("/a", "/a.b", "/dir/a")] == [b"1", b"2", b"3"]


class Editing:
    """Exact text is replaced, and every other byte stays."""

    def test_the_text_is_replaced(self, fs: Driven) -> None:
        fs.write("/a.txt", "one two three\n")
        result = fs.edit("/a.txt", "two", "2")
        assert (result.error, result.occurrences) == (None, 1)
        assert fs.content("/a.txt") == b"one 2 three\n"

    def test_replace_all_replaces_every_place(self, fs: Driven) -> None:
        fs.write("/a.txt", "aXbXc\nX")
        result = fs.edit("/a.txt", "X", "--", True)
        assert (result.error, result.occurrences) == (None, 3)
        assert fs.content("/a.txt") == b"a--b--c\n--"

    def test_replace_all_works_for_one_place(self, fs: Driven) -> None:
        fs.write("/a.txt", "one")
        assert fs.edit("/a.txt", "one", "two", True).occurrences == 1

    def test_missing_text_is_an_error_and_nothing_changes(self, fs: Driven) -> None:
        fs.write("/a.txt", "one two\n")
        failed(fs.edit("/a.txt", "three", "3"), "/a.txt")
        failed(fs.edit("/a.txt", "three", "3", True), "/a.txt")
        assert fs.content("/a.txt") == b"one two\n"

    def test_text_that_is_not_unique_is_an_error_with_a_count(self, fs: Driven) -> None:
        fs.write("/a.txt", "x y x y x")
        failed(fs.edit("/a.txt", "x", "z"), "/a.txt", "3")
        assert fs.content("/a.txt") == b"x y x y x"

    def test_an_empty_old_string_is_an_error(self, fs: Driven) -> None:
        fs.write("/a.txt", "text")
        fs.write("/empty", "")
        failed(fs.edit("/a.txt", "", "x"), "/a.txt")
        failed(fs.edit("/empty", "", "x"), "/empty")
        assert fs.content("/a.txt") == b"text"

    def test_an_edit_that_changes_nothing_is_an_error(self, fs: Driven) -> None:
        fs.write("/a.txt", "text")
        failed(fs.edit("/a.txt", "text", "text"), "/a.txt")

    def test_editing_a_missing_file_is_an_error_and_creates_nothing(self, fs: Driven) -> None:
        failed(fs.edit("/nothing", "a", "b"), "/nothing")
        assert fs.names() == []

    def test_editing_a_directory_is_an_error(self, fs: Driven) -> None:
        fs.write("/dir/file", "x")
        failed(fs.edit("/dir", "a", "b"), "/dir")

    def test_edits_one_after_the_other_all_land(self, fs: Driven) -> None:
        fs.write("/a.txt", "1 2 3")
        for number in "123":
            assert fs.edit("/a.txt", number, f"<{number}>").error is None
        assert fs.content("/a.txt") == b"<1> <2> <3>"

    def test_exactly_the_text_is_replaced_and_every_other_byte_stays(self, fs: Driven) -> None:
        for number, (text, old, new) in enumerate(EDITS):
            fs.put(f"/{number}", text)
            assert fs.edit(f"/{number}", old, new).error is None
            assert fs.content(f"/{number}") == text.replace(old, new).encode()

    def test_text_written_with_newlines_matches_a_file_with_crlf(self, fs: Driven) -> None:
        fs.put("/dos.txt", b"one\r\ntwo\r\nthree\r\n")
        assert fs.edit("/dos.txt", "one\ntwo\n", "1\n2\n").error is None
        assert fs.content("/dos.txt") == b"1\r\n2\r\nthree\r\n"

    def test_lines_added_to_a_file_with_crlf_end_in_crlf(self, fs: Driven) -> None:
        fs.put("/dos.txt", b"one\r\ntwo\r\n")
        assert fs.edit("/dos.txt", "two", "two\nthree").error is None
        assert fs.content("/dos.txt") == b"one\r\ntwo\r\nthree\r\n"

    def test_a_file_that_is_not_utf_8_is_not_edited(self, fs: Driven) -> None:
        fs.put("/latin", b"caf\xe9 au lait")
        failed(fs.edit("/latin", "au", "of"), "/latin")
        assert fs.content("/latin") == b"caf\xe9 au lait"

    def test_an_edit_with_a_lone_surrogate_is_refused(self, fs: Driven) -> None:
        fs.write("/a.txt", "text")
        failed(fs.edit("/a.txt", "text", "\ud83d"), "/a.txt")
        assert fs.content("/a.txt") == b"text"


class Deleting:
    """Files and whole directories, and nothing else."""

    def test_only_the_deleted_file_is_gone(self, fs: Driven) -> None:
        fs.write("/a", "1")
        fs.write("/b", "2")
        assert fs.delete("/a").error is None
        failed(fs.read("/a"), "/a")
        assert fs.names() == ["/b"]

    def test_a_directory_is_deleted_with_everything_below_it(self, fs: Driven) -> None:
        for path in ("/dir/a", "/dir/.hidden", "/dir/deep/er/b", "/other"):
            fs.write(path, "x")
        assert fs.delete("/dir").error is None
        assert fs.found("**") == ["/other"]
        failed(fs.ls("/dir"), "/dir")

    def test_deleting_a_missing_file_is_an_error(self, fs: Driven) -> None:
        fs.write("/a", "1")
        failed(fs.delete("/nothing"), "/nothing")
        failed(fs.delete("/a/below"), "/a/below")
        assert fs.names() == ["/a"]

    def test_names_with_the_same_beginning_are_not_deleted(self, fs: Driven) -> None:
        for path in ("/dir/a", "/dir2/a", "/dir.txt", "/di"):
            fs.write(path, "x")
        assert fs.delete("/dir").error is None
        assert fs.names() == ["/di", "/dir.txt", "/dir2/"]

    def test_a_name_with_wildcards_is_not_a_pattern(self, fs: Driven) -> None:
        for path in ("/*", "/a", "/[ab]"):
            fs.write(path, "x")
        assert fs.delete("/*").error is None
        assert fs.delete("/[ab]").error is None
        assert fs.names() == ["/a"]

    def test_a_deleted_path_can_be_written_again(self, fs: Driven) -> None:
        fs.write("/a", "old")
        fs.delete("/a")
        assert fs.write("/a/b", "as a directory").error is None
        fs.delete("/a")
        assert fs.write("/a", "as a file").error is None
        assert fs.content("/a") == b"as a file"

    def test_a_binary_file_can_be_deleted(self, fs: Driven) -> None:
        fs.put("/raw", b"\xff\0")
        assert fs.delete("/raw").error is None
        assert fs.names() == []


class Moving:
    """Files and directories get another path, and nothing is lost."""

    def test_a_moved_file_keeps_its_content(self, fs: Driven) -> None:
        fs.put("/a", b"\r\n\xff\0")
        assert fs.move("/a", "/b").error is None
        assert fs.names() == ["/b"]
        assert fs.content("/b") == b"\r\n\xff\0"

    def test_a_directory_is_moved_with_everything_below_it(self, fs: Driven) -> None:
        for path in ("/dir/a", "/dir/.hidden", "/dir/deep/b", "/dir2/c"):
            fs.write(path, path)
        assert fs.move("/dir", "/new").error is None
        assert fs.found("**") == ["/dir2/c", "/new/.hidden", "/new/a", "/new/deep/b"]
        assert fs.content("/new/deep/b") == b"/dir/deep/b"

    def test_a_move_creates_the_directories_above_the_destination(self, fs: Driven) -> None:
        fs.write("/a", "x")
        assert fs.move("/a", "/new/deep/b").error is None
        assert fs.found("**") == ["/new/deep/b"]

    def test_moving_a_missing_file_is_an_error(self, fs: Driven) -> None:
        failed(fs.move("/nothing", "/b"), "/nothing")
        assert fs.names() == []

    def test_an_existing_file_is_not_moved_over(self, fs: Driven) -> None:
        fs.write("/a", "1")
        fs.write("/b", "2")
        failed(fs.move("/a", "/b"), "/b")
        assert (fs.content("/a"), fs.content("/b")) == (b"1", b"2")

    def test_nothing_is_moved_over_a_directory_or_below_a_file(self, fs: Driven) -> None:
        fs.write("/a", "1")
        fs.write("/dir/b", "2")
        failed(fs.move("/a", "/dir"), "/dir")
        failed(fs.move("/a", "/dir/b/c"), "/dir/b/c")
        assert fs.found("**") == ["/a", "/dir/b"]

    def test_a_directory_moved_into_itself_loses_nothing(self, fs: Driven) -> None:
        fs.write("/dir/a", "x")
        fs.move("/dir", "/dir/deep")
        [kept] = fs.found("a")
        assert fs.content(kept) == b"x"

    def test_a_file_moved_to_itself_is_still_there(self, fs: Driven) -> None:
        fs.write("/a", "x")
        fs.move("/a", "/a")
        assert fs.content("/a") == b"x"


class Concurrency:
    """Calls at the same time: none gets lost."""

    def test_concurrent_edits_of_different_places_all_land(self, fs: Driven) -> None:
        fs.put("/a", "".join(f"<{number}>\n" for number in range(12)))
        results = fs.together(*(("edit", "/a", f"<{n}>", f"[{n}]") for n in range(12)))
        assert [result.error for result in results] == [None] * 12
        assert fs.content("/a") == "".join(f"[{number}]\n" for number in range(12)).encode()

    def test_concurrent_edits_of_one_place_run_one_after_the_other(self, fs: Driven) -> None:
        fs.put("/a", "x")
        results = fs.together(*[("edit", "/a", "x", "xy", True)] * 8)
        assert [result.error for result in results] == [None] * 8
        assert fs.content("/a") == b"xyyyyyyyy"

    def test_concurrent_new_files_all_arrive(self, fs: Driven) -> None:
        calls: list[Call] = [("write", f"/dir/{n % 3}/{n}", str(n)) for n in range(16)]
        assert [result.error for result in fs.together(*calls)] == [None] * 16
        assert fs.found("**") == sorted(str(call[1]) for call in calls)

    def test_only_one_of_several_concurrent_writes_creates_a_file(self, fs: Driven) -> None:
        fs.need("write", "overwrite")
        results = fs.together(*(("write", "/a", str(n)) for n in range(8)))
        [winner] = [str(n) for n, result in enumerate(results) if result.error is None]
        assert fs.content("/a") == winner.encode()

    def test_a_concurrent_reader_sees_a_whole_file(self, fs: Driven) -> None:
        one, two = b"1" * 100_000, b"2" * 100_000
        fs.put("/a", one)
        fs.need("upload_files")
        calls: list[Call] = [("upload_files", [("/a", raw)]) for raw in (two, one, two)]
        calls[1:1] = [("download_files", ["/a"])] * 5
        for answer in fs.together(*calls):
            assert getattr(answer[0], "content", None) in (None, one, two)
            assert answer[0].error is None

    def test_only_one_of_several_concurrent_deletes_succeeds(self, fs: Driven) -> None:
        fs.put("/a", "x")
        results = fs.together(*[("delete", "/a")] * 6)
        assert sum(result.error is None for result in results) == 1
        assert fs.names() == []
