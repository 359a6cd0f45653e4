"""What writing a file must do."""

from langgraph_filesystem.testing.driven import Driven, failed

__all__ = ("Writing",)


class Writing:
    """New files, files in the place of others, and what can't be written."""

    def test_a_new_file_holds_what_was_written(self, fs: Driven) -> None:
        assert fs.write("/a.txt", "text\n").error is None
        assert fs.content("/a.txt") == b"text\n"

    def test_the_directories_above_a_new_file_come_into_being(self, fs: Driven) -> None:
        assert fs.write("/a/b/c.txt", "x").error is None
        assert fs.names("/a") == ["/a/b/"]
        assert fs.names("/a/b") == ["/a/b/c.txt"]

    def test_an_empty_file_is_a_file(self, fs: Driven) -> None:
        assert fs.write("/empty", "").error is None
        assert fs.names() == ["/empty"]
        assert fs.content("/empty") == b""

    def test_a_result_names_the_path(self, fs: Driven) -> None:
        assert fs.write("/a.txt", "x").path == "/a.txt"

    def test_an_existing_file_is_not_written_over_by_accident(self, fs: Driven) -> None:
        fs.need("write", "overwrite")
        fs.write("/a.txt", "old")
        failed(fs.write("/a.txt", "new"), "/a.txt")
        assert fs.content("/a.txt") == b"old"

    def test_an_existing_file_is_replaced_when_that_is_asked_for(self, fs: Driven) -> None:
        fs.write("/a.txt", "a long text that was here before")
        assert fs.write("/a.txt", "short", overwrite=True).error is None
        assert fs.content("/a.txt") == b"short"

    def test_to_replace_what_is_not_there_creates_it(self, fs: Driven) -> None:
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

    def test_nothing_is_written_in_the_place_of_a_directory(self, fs: Driven) -> None:
        fs.write("/dir/file", "x")
        failed(fs.write("/dir", "y"), "/dir")
        assert fs.names() == ["/dir/"]
        assert fs.content("/dir/file") == b"x"

    def test_a_directory_is_not_replaced_by_a_file_either(self, fs: Driven) -> None:
        fs.write("/dir/file", "x")
        failed(fs.write("/dir", "y", overwrite=True), "/dir")
        assert fs.content("/dir/file") == b"x"

    def test_the_root_is_not_written(self, fs: Driven) -> None:
        failed(fs.write("/", "x"))
        assert fs.names() == []

    def test_a_lone_surrogate_is_refused_and_leaves_nothing(self, fs: Driven) -> None:
        failed(fs.write("/bad.txt", "a\ud800b"), "/bad.txt")
        assert fs.names() == []

    def test_a_lone_surrogate_leaves_the_file_that_was_there(self, fs: Driven) -> None:
        fs.write("/a.txt", "old")
        failed(fs.write("/a.txt", "\udcff", overwrite=True), "/a.txt")
        assert fs.content("/a.txt") == b"old"

    def test_line_ends_are_kept_as_they_were_written(self, fs: Driven) -> None:
        for number, text in enumerate(("a\r\nb\r\n", "a\rb", "a\nb", "\r\n", "a\n\r")):
            fs.write(f"/{number}", text)
            assert fs.content(f"/{number}") == text.encode()

    def test_characters_of_every_kind_are_kept(self, fs: Driven) -> None:
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
