"""What running a command must do."""

import time

import pytest

from langgraph_filesystem.testing.driven import Driven

__all__ = ("Commanding",)


class Commanding:
    """Commands of a POSIX shell, run where the files are."""

    def test_a_backend_that_runs_commands_has_a_name(self, fs: Driven) -> None:
        assert isinstance(fs.backend.id, str)
        assert fs.backend.id
        assert fs.backend.id == fs.backend.id

    def test_what_a_command_prints_comes_back_with_its_status(self, fs: Driven) -> None:
        response = fs.execute("echo hello; echo again")
        assert response.output == "hello\nagain\n"
        assert response.exit_code == 0
        assert not response.truncated

    def test_a_status_that_is_not_zero_is_an_answer(self, fs: Driven) -> None:
        response = fs.execute("echo before; exit 42")
        assert (response.output, response.exit_code) == ("before\n", 42)

    def test_a_command_that_does_not_exist_is_an_answer(self, fs: Driven) -> None:
        response = fs.execute("no-such-command-anywhere")
        assert response.exit_code == 127
        assert "no-such-command-anywhere" in response.output

    def test_a_command_that_is_malformed_is_an_answer(self, fs: Driven) -> None:
        assert fs.execute("echo 'open").exit_code not in (0, None)

    def test_a_command_that_prints_nothing_has_no_output(self, fs: Driven) -> None:
        response = fs.execute("true")
        assert (response.output, response.exit_code) == ("", 0)

    def test_what_goes_to_stderr_is_shown(self, fs: Driven) -> None:
        response = fs.execute("echo wrong >&2; exit 3")
        assert "wrong" in response.output
        assert response.exit_code == 3

    def test_a_command_can_have_several_lines_and_pipes(self, fs: Driven) -> None:
        response = fs.execute("for n in 3 1 2\ndo echo $n\ndone | sort | tr '\\n' ' '")
        assert response.output.strip() == "1 2 3"

    def test_characters_of_every_kind_come_back(self, fs: Driven) -> None:
        assert fs.execute("printf '%s' 'é 日本 😀'").output == "é 日本 😀"

    def test_output_that_is_not_utf_8_is_shown(self, fs: Driven) -> None:
        response = fs.execute(r"printf 'before\377\376after'")
        assert response.exit_code == 0
        assert response.output.startswith("before")
        assert response.output.endswith("after")
        response.output.encode()

    def test_nobody_types(self, fs: Driven) -> None:
        began = time.monotonic()
        response = fs.execute("cat; read answer; echo status $?")
        assert response.output.endswith("status 1\n")
        assert time.monotonic() - began < 10

    def test_a_command_sees_the_files_and_the_files_what_it_does(self, fs: Driven) -> None:
        fs.write("/made/here.txt", "text\n")
        assert fs.execute("cat made/here.txt && echo more > made/there.txt").output == "text\n"
        assert fs.content("/made/there.txt") == b"more\n"

    def test_a_command_begins_in_the_root_of_the_files(self, fs: Driven) -> None:
        fs.write("/marker", "x")
        fs.execute("mkdir sub && cd sub")
        assert fs.execute("ls marker").output == "marker\n"

    def test_nothing_of_one_command_is_left_for_the_next(self, fs: Driven) -> None:
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
        began = time.monotonic()
        response = fs.execute("echo early; sleep 30; echo late", timeout=1)
        assert time.monotonic() - began < 10
        assert "early" in response.output
        assert "late" not in response.output
        assert response.exit_code != 0

    def test_a_timeout_ends_the_children_of_a_command_too(self, fs: Driven) -> None:
        began = time.monotonic()
        fs.execute("(sleep 2; echo alive > survivor) & echo started; wait; sleep 30", timeout=1)
        time.sleep(max(0.0, began + 2.5 - time.monotonic()))
        assert "/survivor" not in fs.names()

    def test_a_command_within_its_time_is_not_disturbed(self, fs: Driven) -> None:
        response = fs.execute("sleep 0.2; echo done", timeout=20)
        assert (response.output, response.exit_code) == ("done\n", 0)

    def test_a_child_in_the_background_does_not_hold_the_answer(self, fs: Driven) -> None:
        began = time.monotonic()
        response = fs.execute("sleep 20 & echo ready")
        assert time.monotonic() - began < 10
        assert (response.output, response.exit_code) == ("ready\n", 0)

    def test_a_flood_of_output_is_cut_and_keeps_its_ends(self, fs: Driven) -> None:
        response = fs.execute("echo first; yes 0123456789 | head -c 40000000; echo; echo last")
        assert response.truncated
        assert len(response.output) < 10_000_000
        assert response.output.startswith("first\n")
        assert response.output.endswith("last\n")

    def test_a_signal_is_told_from_a_status(self, fs: Driven) -> None:
        response = fs.execute("kill -SEGV $$")
        signal = getattr(response, "signal", None)
        assert signal == "SIGSEGV" or response.exit_code in (-11, 139)

    def test_output_is_handed_on_as_it_comes(self, fs: Driven) -> None:
        pieces: list[tuple[float, str]] = []

        def take(text: str) -> None:
            pieces.append((time.monotonic(), text))

        fs.execute("echo one; sleep 1; echo two", on_output=take)
        ended = time.monotonic()
        assert "".join(text for _, text in pieces) == "one\ntwo\n"
        assert pieces[0][0] < ended - 0.5

    def test_commands_at_the_same_time_do_not_wait_for_each_other(self, fs: Driven) -> None:
        began = time.monotonic()
        responses = fs.together(*(("execute", f"sleep 1; echo {n}") for n in range(6)))
        assert [response.output for response in responses] == [f"{n}\n" for n in range(6)]
        assert time.monotonic() - began < 5
