"""What a backend must know of a call that it is asked about after a crash.

A backend whose effects lie outside the state notes under a key what it is about to do. Asked again
under the same key it says whether that is done, so that nothing is done twice.
"""

from langgraph_filesystem.testing.driven import Driven

__all__ = ("CommandRecalling", "Recalling")

KEY = "scope.group.1"


class Recalling:
    """Changes of files, and what is known of them under their keys."""

    def test_of_a_call_that_never_was_nothing_is_known(self, fs: Driven) -> None:
        assert fs.recall(KEY) is None

    def test_a_write_is_known(self, fs: Driven) -> None:
        fs.write("/a", "x", once=KEY)
        _finished(fs)

    def test_a_replacement_is_known(self, fs: Driven) -> None:
        fs.write("/a", "x")
        fs.write("/a", "y", overwrite=True, once=KEY)
        _finished(fs)

    def test_an_edit_is_known_and_in_how_many_places(self, fs: Driven) -> None:
        fs.write("/a", "x x x")
        fs.edit("/a", "x", "y", True, once=KEY)
        outcome = fs.recall(KEY)
        assert outcome is not None
        assert (outcome.finished, outcome.occurrences) == (True, 3)

    def test_a_deleted_file_is_known(self, fs: Driven) -> None:
        fs.write("/a", "x")
        fs.delete("/a", once=KEY)
        _finished(fs)

    def test_a_deleted_directory_is_known(self, fs: Driven) -> None:
        fs.write("/dir/a", "x")
        fs.delete("/dir", once=KEY)
        _finished(fs)

    def test_a_moved_file_is_known(self, fs: Driven) -> None:
        fs.write("/a", "x")
        fs.move("/a", "/b", once=KEY)
        _finished(fs)

    def test_a_moved_directory_is_known(self, fs: Driven) -> None:
        fs.write("/dir/a", "x")
        fs.move("/dir", "/other", once=KEY)
        _finished(fs)

    def test_an_upload_is_known(self, fs: Driven) -> None:
        fs.upload(("/a", b"\xff"), once=KEY)
        _finished(fs)

    def test_a_file_that_is_as_before_may_be_changed_again(self, fs: Driven) -> None:
        fs.write("/a", "one")
        fs.edit("/a", "one", "two", once=KEY)
        fs.edit("/a", "two", "one")
        assert fs.recall(KEY) is None

    def test_a_file_that_is_neither_as_before_nor_as_after_is_told(self, fs: Driven) -> None:
        fs.write("/a", "one")
        fs.edit("/a", "one", "two", once=KEY)
        fs.edit("/a", "two", "three")
        outcome = fs.recall(KEY)
        assert outcome is not None
        assert not outcome.finished

    def test_a_new_file_that_is_gone_may_be_written_again(self, fs: Driven) -> None:
        fs.write("/a", "x", once=KEY)
        fs.delete("/a")
        assert fs.recall(KEY) is None

    def test_a_call_that_failed_may_be_tried_again(self, fs: Driven) -> None:
        assert fs.edit("/nothing", "a", "b", once=KEY).error
        assert fs.recall(KEY) is None

    def test_calls_are_told_apart(self, fs: Driven) -> None:
        fs.write("/a", "x", once="scope.group.1")
        fs.write("/b", "x", once="scope.group.2")
        for known in ("scope.group.1", "scope.group.2"):
            _finished(fs, known)
        for unknown in ("scope.group.3", "scope.other.1", "other.group.1", "scope.group.10"):
            assert fs.recall(unknown) is None

    def test_edits_of_one_file_one_after_the_other_can_be_asked_for(self, fs: Driven) -> None:
        fs.write("/a", "1 2")
        fs.edit("/a", "1", "one", once="scope.group.1")
        _finished(fs, "scope.group.1")
        fs.edit("/a", "2", "two", once="scope.group.2")
        _finished(fs, "scope.group.2")

    def test_notes_of_a_message_go_when_the_next_one_comes(self, fs: Driven) -> None:
        fs.write("/a", "x", once="scope.first.1")
        fs.write("/b", "x", once="scope.second.1")
        assert fs.recall("scope.first.1") is None
        _finished(fs, "scope.second.1")

    def test_notes_of_another_thread_stay(self, fs: Driven) -> None:
        fs.write("/a", "x", once="one.first.1")
        fs.write("/b", "x", once="two.second.1")
        _finished(fs, "one.first.1")

    def test_notes_are_no_files(self, fs: Driven) -> None:
        fs.write("/a", "needle", once=KEY)
        fs.edit("/a", "needle", "needles", once="scope.group.2")
        assert fs.names() == ["/a"]
        assert fs.found("**") == ["/a"]
        assert fs.lines("needle") == [("/a", 1)]


class CommandRecalling:
    """Commands, and what is known of them under their keys."""

    def test_of_a_command_that_ended_its_answer_is_known(self, fs: Driven) -> None:
        fs.execute("echo printed; exit 7", once=KEY)
        outcome = fs.recall(KEY)
        assert outcome is not None
        assert outcome.finished
        assert outcome.response is not None
        assert (outcome.response.output, outcome.response.exit_code) == ("printed\n", 7)

    def test_of_a_command_that_never_was_nothing_is_known(self, fs: Driven) -> None:
        fs.execute("true", once=KEY)
        assert fs.recall("scope.group.2") is None


def _finished(fs: Driven, once: str = KEY) -> None:
    outcome = fs.recall(once)
    assert outcome is not None
    assert outcome.finished
