"""What running commands must do, and what a backend with a journal must know of past calls.

A backend whose effects lie outside the state notes under a key what it is about to do. Asked about
that key after a crash, it says whether that is done, so that nothing is done twice.
"""

import time

import pytest

from langgraph_filesystem.testing.driven import Driven

__all__ = ("CommandJournal", "Commands", "Journal")

KEY = "scope.group.1"


class Commands:
    """Commands of a POSIX shell, run where the files are."""

    def test_a_backend_that_runs_commands_has_a_name(self, fs: Driven) -> None:
        assert isinstance(fs.backend.id, str)
        assert fs.backend.id
        assert fs.backend.id == fs.backend.id

    def test_output_comes_back_with_the_exit_status(self, fs: Driven) -> None:
        for command, output, status in (
            ("echo hello; echo again", "hello\nagain\n", 0),
            ("echo before; exit 42", "before\n", 42),
            ("true", "", 0),
            ("printf '%s' 'é 日本 😀'", "é 日本 😀", 0),
            ("for n in 3 1 2\ndo echo $n\ndone | sort", "1\n2\n3\n", 0),
        ):
            response = fs.execute(command)
            assert (response.output, response.exit_code) == (output, status)
            assert not response.truncated

    def test_an_unknown_command_exits_with_127(self, fs: Driven) -> None:
        response = fs.execute("no-such-command-anywhere")
        assert response.exit_code == 127
        assert "no-such-command-anywhere" in response.output

    def test_a_syntax_error_is_a_nonzero_exit_status(self, fs: Driven) -> None:
        assert fs.execute("echo 'open").exit_code not in (0, None)

    def test_stderr_is_shown(self, fs: Driven) -> None:
        response = fs.execute("echo wrong >&2; exit 3")
        assert "wrong" in response.output
        assert response.exit_code == 3

    def test_output_that_is_not_utf_8_is_shown(self, fs: Driven) -> None:
        response = fs.execute(r"printf 'before\377\376after'")
        assert response.exit_code == 0
        assert response.output.startswith("before")
        assert response.output.endswith("after")
        response.output.encode()

    def test_standard_input_is_empty(self, fs: Driven) -> None:
        response = fs.execute("cat; read answer; echo status $?")
        assert response.output.endswith("status 1\n")

    def test_commands_and_file_operations_see_the_same_files(self, fs: Driven) -> None:
        fs.write("/made/here.txt", "text\n")
        assert fs.execute("cat made/here.txt && echo more > made/there.txt").output == "text\n"
        assert fs.content("/made/there.txt") == b"more\n"

    def test_a_command_starts_in_the_root_directory(self, fs: Driven) -> None:
        fs.write("/marker", "x")
        fs.execute("mkdir sub && cd sub")
        assert fs.execute("ls marker").output == "marker\n"

    def test_variables_do_not_outlive_a_command(self, fs: Driven) -> None:
        fs.execute("MADE_HERE=1; export MADE_HERE; cd /")
        assert fs.execute('echo "<$MADE_HERE>"').output == "<>\n"

    def test_secrets_of_the_environment_are_not_shown(
        self, fs: Driven, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SOME_API_KEY", "very-secret-value")
        response = fs.execute("env")
        assert "very-secret-value" not in response.output
        assert "PATH=" in response.output

    def test_a_timeout_ends_a_command_and_keeps_what_it_printed(self, fs: Driven) -> None:
        response = fs.execute("echo early; sleep 30; echo late", timeout=1)
        assert "early" in response.output
        assert "late" not in response.output
        assert response.exit_code != 0

    def test_a_timeout_ends_child_processes_too(self, fs: Driven) -> None:
        fs.execute("(while sleep 0.1; do echo alive >> child; done) & wait; sleep 30", timeout=1)
        before = fs.content("/child")
        time.sleep(1)
        assert fs.content("/child") == before

    def test_a_command_within_its_timeout_is_not_disturbed(self, fs: Driven) -> None:
        response = fs.execute("sleep 0.2; echo done", timeout=20)
        assert (response.output, response.exit_code) == ("done\n", 0)

    def test_a_background_process_does_not_delay_the_answer(self, fs: Driven) -> None:
        response = fs.execute("sleep 60 & echo ready", timeout=30)
        assert (response.output, response.exit_code) == ("ready\n", 0)

    def test_very_long_output_is_cut_and_keeps_its_ends(self, fs: Driven) -> None:
        response = fs.execute("echo first; yes 0123456789 | head -c 40000000; echo; echo last")
        assert response.truncated
        assert len(response.output) < 10_000_000
        assert response.output.startswith("first\n")
        assert response.output.endswith("last\n")

    def test_a_signal_is_not_an_exit_status(self, fs: Driven) -> None:
        response = fs.execute("kill -SEGV $$")
        signal = getattr(response, "signal", None)
        assert signal == "SIGSEGV" or response.exit_code in (-11, 139)

    def test_output_is_streamed_while_the_command_runs(self, fs: Driven) -> None:
        pieces: list[str] = []

        def take(text: str) -> None:
            if not pieces:
                fs.backend.write("/go", "")
            pieces.append(text)

        # The command ends when its first line has been heard.
        command = "echo one; until [ -e go ]; do sleep 0.05; done; echo two"
        assert fs.execute(command, on_output=take, timeout=30).exit_code == 0
        assert "".join(pieces) == "one\ntwo\n"

    def test_commands_run_at_the_same_time(self, fs: Driven) -> None:
        # Each waits until all have begun, and gives up after half a minute.
        wait = "for _ in $(seq 600); do [ -e 0 -a -e 1 -a -e 2 -a -e 3 ] && exit; sleep 0.05; done"
        responses = fs.together(*(("execute", f"touch {n}; {wait}; exit 9") for n in range(4)))
        assert [response.exit_code for response in responses] == [0] * 4


class Journal:
    """What is known of changes of files, by their keys."""

    def test_nothing_is_known_of_a_call_that_was_never_made(self, fs: Driven) -> None:
        assert fs.recall(KEY) is None

    def test_a_write_is_known(self, fs: Driven) -> None:
        for options in ({}, {"overwrite": True}):
            fs.write("/a", f"{options}", **options, once=KEY)
            _finished(fs)

    def test_an_edit_is_known_with_its_occurrences(self, fs: Driven) -> None:
        fs.write("/a", "x x x")
        fs.edit("/a", "x", "y", True, once=KEY)
        outcome = fs.recall(KEY)
        assert outcome is not None
        assert (outcome.finished, outcome.occurrences) == (True, 3)

    def test_a_deleted_file_or_directory_is_known(self, fs: Driven) -> None:
        fs.write("/a", "x")
        fs.write("/dir/a", "x")
        for path in ("/a", "/dir"):
            fs.delete(path, once=KEY)
            _finished(fs)

    def test_a_moved_file_or_directory_is_known(self, fs: Driven) -> None:
        fs.write("/a", "x")
        fs.write("/dir/a", "x")
        for source, destination in (("/a", "/b"), ("/dir", "/other")):
            fs.move(source, destination, once=KEY)
            _finished(fs)

    def test_an_upload_is_known(self, fs: Driven) -> None:
        fs.upload(("/a", b"\xff"), once=KEY)
        _finished(fs)

    def test_a_change_that_was_undone_may_be_made_again(self, fs: Driven) -> None:
        fs.write("/a", "one")
        fs.edit("/a", "one", "two", once=KEY)
        fs.edit("/a", "two", "one")
        assert fs.recall(KEY) is None

    def test_a_file_that_others_changed_since_is_not_finished(self, fs: Driven) -> None:
        fs.write("/a", "one")
        fs.edit("/a", "one", "two", once=KEY)
        fs.edit("/a", "two", "three")
        outcome = fs.recall(KEY)
        assert outcome is not None
        assert not outcome.finished

    def test_a_new_file_that_was_deleted_may_be_written_again(self, fs: Driven) -> None:
        fs.write("/a", "x", once=KEY)
        fs.delete("/a")
        assert fs.recall(KEY) is None

    def test_a_call_that_failed_may_be_tried_again(self, fs: Driven) -> None:
        assert fs.edit("/nothing", "a", "b", once=KEY).error
        assert fs.recall(KEY) is None

    def test_calls_have_separate_notes(self, fs: Driven) -> None:
        fs.write("/a", "x", once="scope.group.1")
        fs.write("/b", "x", once="scope.group.2")
        for known in ("scope.group.1", "scope.group.2"):
            _finished(fs, known)
        for unknown in ("scope.group.3", "scope.other.1", "other.group.1", "scope.group.10"):
            assert fs.recall(unknown) is None

    def test_consecutive_edits_of_one_file_are_known(self, fs: Driven) -> None:
        fs.write("/a", "1 2")
        fs.edit("/a", "1", "one", once="scope.group.1")
        _finished(fs, "scope.group.1")
        fs.edit("/a", "2", "two", once="scope.group.2")
        _finished(fs, "scope.group.2")

    def test_notes_are_dropped_when_the_next_message_comes(self, fs: Driven) -> None:
        fs.write("/a", "x", once="scope.first.1")
        fs.write("/b", "x", once="scope.second.1")
        assert fs.recall("scope.first.1") is None
        _finished(fs, "scope.second.1")

    def test_notes_of_another_thread_are_kept(self, fs: Driven) -> None:
        fs.write("/a", "x", once="one.first.1")
        fs.write("/b", "x", once="two.second.1")
        _finished(fs, "one.first.1")

    def test_notes_are_not_files(self, fs: Driven) -> None:
        fs.write("/a", "needle", once=KEY)
        fs.edit("/a", "needle", "needles", once="scope.group.2")
        assert fs.names() == ["/a"]
        assert fs.found("**") == ["/a"]
        assert fs.lines("needle") == [("/a", 1)]


class CommandJournal:
    """What is known of commands, by their keys."""

    def test_the_answer_of_a_finished_command_is_known(self, fs: Driven) -> None:
        fs.execute("echo printed; exit 7", once=KEY)
        outcome = fs.recall(KEY)
        assert outcome is not None
        assert outcome.finished
        assert outcome.response is not None
        assert (outcome.response.output, outcome.response.exit_code) == ("printed\n", 7)

    def test_nothing_is_known_of_a_command_that_was_never_run(self, fs: Driven) -> None:
        fs.execute("true", once=KEY)
        assert fs.recall("scope.group.2") is None


def _finished(fs: Driven, once: str = KEY) -> None:
    outcome = fs.recall(once)
    assert outcome is not None
    assert outcome.finished
