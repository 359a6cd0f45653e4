"""With the documented environment the server connects to nobody but its clients.

The kernel counts: in a network namespace of its own, with nothing but loopback, whatever is sent
elsewhere has no route. That is how libraries are seen too that don't open sockets through Python.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.serving import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's")


def counted(scenario: str, directory: Path) -> dict[str, int]:
    """Return how often a scenario tried to reach something outside."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.server.isolated", scenario, str(directory)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    attempts: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return attempts


def test_a_connection_or_a_name_that_is_looked_up_is_counted(tmp_path: Path) -> None:
    assert counted("connect", tmp_path)["sent"] >= 1
    assert counted("resolve", tmp_path)["sent"] >= 1


def test_a_server_and_its_runs_try_none(tmp_path: Path) -> None:
    attempts = counted("serve", tmp_path)
    assert attempts == {"runs": 3, "sent": 0}
