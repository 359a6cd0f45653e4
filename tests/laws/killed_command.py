"""A program that runs a command over an overlay, and is killed while it runs or when it has ended.

Run by `test_overlay_commands.py`.
"""

import glob
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from langgraph_filesystem import OverlayBackend, SandboxBackend
from tests.databases import open_database
from tests.graph.history.obedient import obedient, told
from tests.graph.runs import THREAD
from tests.scripted import call


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_while_it_runs() -> None:
    """Wait until the command has written something."""
    while not glob.glob(f"{os.environ['XDG_DATA_HOME']}/**/upper/out", recursive=True):
        time.sleep(0.01)
    die()


def main() -> None:
    database, root, moment = sys.argv[1:]
    with open_database(Path(database)) as opened:
        saver: Any = opened.checkpointer
        put_writes = saver.put_writes

        def put_or_die(config: Any, writes: Any, *args: Any) -> None:
            if moment == "ended" and any(channel == "files" for channel, _ in writes):
                die()
            put_writes(config, writes, *args)

        saver.put_writes = put_or_die
        wait = ""
        if moment == "running":
            threading.Thread(target=die_while_it_runs, daemon=True).start()
            wait = "; sleep 600"
        agent = obedient({"/": OverlayBackend(SandboxBackend(root))}, saver)
        agent.invoke(told(call("execute", command=f"date +%s%N >>out{wait}")), THREAD)


if __name__ == "__main__":
    main()
