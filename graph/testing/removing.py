"""What deleting and moving must do."""

from langgraph_filesystem.testing.driven import Driven, failed

__all__ = ("Deleting", "Moving")


class Deleting:
    """Files and whole directories that go, and all else that stays."""

    def test_a_deleted_file_is_gone_and_the_others_are_there(self, fs: Driven) -> None:
        fs.write("/a", "1")
        fs.write("/b", "2")
        assert fs.delete("/a").error is None
        failed(fs.read("/a"), "/a")
        assert fs.names() == ["/b"]

    def test_a_directory_goes_with_all_that_is_below_it(self, fs: Driven) -> None:
        for path in ("/dir/a", "/dir/.hidden", "/dir/deep/er/b", "/other"):
            fs.write(path, "x")
        assert fs.delete("/dir").error is None
        assert fs.found("**") == ["/other"]
        failed(fs.ls("/dir"), "/dir")

    def test_deleting_what_is_not_there_is_an_error(self, fs: Driven) -> None:
        fs.write("/a", "1")
        failed(fs.delete("/nothing"), "/nothing")
        failed(fs.delete("/a/below"), "/a/below")
        assert fs.names() == ["/a"]

    def test_names_that_begin_alike_stay(self, fs: Driven) -> None:
        for path in ("/dir/a", "/dir2/a", "/dir.txt", "/di"):
            fs.write(path, "x")
        assert fs.delete("/dir").error is None
        assert fs.names() == ["/di", "/dir.txt", "/dir2/"]

    def test_a_name_with_wildcards_is_a_name(self, fs: Driven) -> None:
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

    def test_a_file_that_is_no_text_can_be_deleted(self, fs: Driven) -> None:
        fs.put("/raw", b"\xff\0")
        assert fs.delete("/raw").error is None
        assert fs.names() == []


class Moving:
    """Files and directories that get another path, and nothing that gets lost."""

    def test_a_moved_file_has_its_content_under_the_other_path(self, fs: Driven) -> None:
        fs.put("/a", b"\r\n\xff\0")
        assert fs.move("/a", "/b").error is None
        assert fs.names() == ["/b"]
        assert fs.content("/b") == b"\r\n\xff\0"

    def test_a_moved_directory_takes_all_that_is_below_it(self, fs: Driven) -> None:
        for path in ("/dir/a", "/dir/.hidden", "/dir/deep/b", "/dir2/c"):
            fs.write(path, path)
        assert fs.move("/dir", "/new").error is None
        assert fs.found("**") == ["/dir2/c", "/new/.hidden", "/new/a", "/new/deep/b"]
        assert fs.content("/new/deep/b") == b"/dir/deep/b"

    def test_the_directories_above_the_destination_come_into_being(self, fs: Driven) -> None:
        fs.write("/a", "x")
        assert fs.move("/a", "/new/deep/b").error is None
        assert fs.found("**") == ["/new/deep/b"]

    def test_moving_what_is_not_there_is_an_error(self, fs: Driven) -> None:
        failed(fs.move("/nothing", "/b"), "/nothing")
        assert fs.names() == []

    def test_an_existing_file_is_not_moved_over(self, fs: Driven) -> None:
        fs.write("/a", "1")
        fs.write("/b", "2")
        failed(fs.move("/a", "/b"), "/b")
        assert (fs.content("/a"), fs.content("/b")) == (b"1", b"2")

    def test_an_existing_directory_is_not_moved_over(self, fs: Driven) -> None:
        fs.write("/a", "1")
        fs.write("/dir/b", "2")
        failed(fs.move("/a", "/dir"), "/dir")
        assert fs.found("**") == ["/a", "/dir/b"]

    def test_nothing_is_moved_below_a_file(self, fs: Driven) -> None:
        fs.write("/a", "1")
        fs.write("/b", "2")
        failed(fs.move("/a", "/b/c"), "/b/c")
        assert (fs.content("/a"), fs.content("/b")) == (b"1", b"2")

    def test_a_directory_moved_into_itself_loses_nothing(self, fs: Driven) -> None:
        fs.write("/dir/a", "x")
        fs.move("/dir", "/dir/deep")
        [kept] = fs.found("a")
        assert fs.content(kept) == b"x"

    def test_a_file_moved_to_itself_is_still_there(self, fs: Driven) -> None:
        fs.write("/a", "x")
        fs.move("/a", "/a")
        assert fs.content("/a") == b"x"
