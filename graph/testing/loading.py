"""What uploads, downloads and digests must do."""

import hashlib

from langgraph_filesystem.testing.driven import Driven

__all__ = ("Digesting", "Loading")

EVERY_BYTE = bytes(range(256)) * 4


class Loading:
    """Bytes in and out, with an answer for each file."""

    def test_every_byte_comes_back(self, fs: Driven) -> None:
        [arrived] = fs.upload(("/raw", EVERY_BYTE))
        assert (arrived.path, arrived.error) == ("/raw", None)
        [found] = fs.download("/raw")
        assert (found.path, found.error, found.content) == ("/raw", None, EVERY_BYTE)

    def test_no_bytes_are_a_file(self, fs: Driven) -> None:
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

    def test_an_upload_takes_the_place_of_a_file(self, fs: Driven) -> None:
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

    def test_nothing_to_load_is_no_answer(self, fs: Driven) -> None:
        assert fs.upload() == []
        assert fs.download() == []

    def test_a_file_that_is_not_there_is_said_to_be_so(self, fs: Driven) -> None:
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

    def test_one_that_fails_does_not_keep_the_others(self, fs: Driven) -> None:
        fs.write("/dir/x", "x")
        answers = fs.upload(("/a", b"1"), ("/dir", b"2"), ("/../b", b"3"), ("/c", b"4"))
        assert [answer.error for answer in answers] == [None, "is_directory", "invalid_path", None]
        found = fs.download("/a", "/nothing", "/dir", "/c")
        assert [answer.content for answer in found] == [b"1", None, None, b"4"]

    def test_a_path_that_comes_twice_holds_what_came_last(self, fs: Driven) -> None:
        fs.upload(("/a", b"first"), ("/a", b"last"))
        assert fs.content("/a") == b"last"


class Digesting:
    """A short name of what a file holds."""

    def test_a_digest_is_that_of_the_bytes(self, fs: Driven) -> None:
        for path, raw in (("/text", b"a\r\n"), ("/raw", EVERY_BYTE), ("/empty", b"")):
            fs.put(path, raw)
            assert fs.digest(path) == hashlib.sha256(raw).hexdigest()[:24]

    def test_what_is_no_file_has_no_digest(self, fs: Driven) -> None:
        fs.write("/dir/a", "x")
        assert [fs.digest(path) for path in ("/nothing", "/dir", "/", "/dir/a/b")] == [None] * 4

    def test_a_digest_changes_with_the_content_and_comes_back_with_it(self, fs: Driven) -> None:
        fs.write("/a", "one")
        before = fs.digest("/a")
        fs.edit("/a", "one", "two")
        assert fs.digest("/a") not in (None, before)
        fs.edit("/a", "two", "one")
        assert fs.digest("/a") == before
