"""What is asked of commands, and that a backend can fail it."""

import os
import subprocess
from pathlib import Path
from typing import Any

from langgraph_filesystem.state.backends.protocol import ExecuteResponse
from langgraph_filesystem.testing.commanding import Commanding
from tests.graph.testing.mutants import Reference, failing, unfailing


def test_every_behaviour_can_fail(tmp_path: Path) -> None:
    assert unfailing(Commanding, tmp_path) == []


class Talkative(Reference):
    """Runs commands with the whole environment, and waits for all that is left of them."""

    id = "talkative"

    def execute(
        self, command: str, *, timeout: float | None = None, on_output: Any = None
    ) -> ExecuteResponse:
        try:
            done = subprocess.run(
                ["sh", "-c", command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=dict(os.environ),
                timeout=min(timeout or 2, 2),
            )
        except subprocess.TimeoutExpired:
            return ExecuteResponse("", None)
        return ExecuteResponse(done.stdout.decode(errors="replace"), done.returncode)


def test_a_naive_shell_is_found_out(tmp_path: Path) -> None:
    wrong = [
        "test_a_flood_of_output_is_cut_and_keeps_its_ends",
        "test_a_timeout_ends_a_command_and_keeps_what_it_printed",
        "test_output_is_handed_on_as_it_comes",
        "test_secrets_of_the_environment_are_not_shown",
    ]
    right = ["test_what_goes_to_stderr_is_shown", "test_nobody_types"]
    assert failing(Commanding, Talkative, tmp_path, *wrong, *right) == wrong
