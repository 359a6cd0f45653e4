"""The command line in a real pseudo-terminal."""

import fcntl
import os
import pty
import re
import select
import struct
import termios
import time
from collections.abc import Mapping
from pathlib import Path

from tests import forked

_SECONDS = 120
"""Long enough for a machine that is ten times as slow."""
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


class Terminal:
    """One command in a terminal of its own."""

    def __init__(
        self, *args: str, cwd: Path, env: Mapping[str, str] | None = None, columns: int = 100
    ) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self._process = forked.start(
            "langgraph_filesystem",
            *args,
            streams=(slave, slave, slave),
            cwd=cwd,
            env={**_inherited(), "TERM": "xterm-256color", **(env or {})},
        )
        os.close(slave)
        self.raw = ""
        self._read = 0

    @property
    def text(self) -> str:
        """What was printed, without colours and movements of the cursor."""
        return _CONTROL.sub("", self.raw)

    def expect(self, text: str) -> "Terminal":
        """Wait until a text is printed, behind the one that was expected before."""
        end = time.monotonic() + _SECONDS
        while (found := self.text.find(text, self._read)) < 0:
            if not self._more(end):
                raise AssertionError(f"{text!r} is not in:\n{self.text[self._read :]}")
        self._read = found + len(text)
        return self

    def type(self, text: str) -> "Terminal":
        """Type keys; `\\x03` is Ctrl-C, `\\x04` Ctrl-D."""
        os.write(self._master, text.encode())
        return self

    def exit_code(self) -> int:
        """Wait until the command has ended."""
        end = time.monotonic() + _SECONDS
        while self._more(end):
            pass
        self._process.join(_SECONDS)
        os.close(self._master)
        assert self._process.exitcode is not None
        return self._process.exitcode

    def kill(self) -> None:
        """End the command at once."""
        self._process.kill()
        self.exit_code()

    def _more(self, end: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], max(0, end - time.monotonic()))
        if not ready:
            self._process.kill()
            raise AssertionError(f"Nothing happens any more after:\n{self.text}")
        try:
            got = os.read(self._master, 65_536)
        except OSError:  # the other end is closed
            return False
        self.raw += got.decode(errors="replace")
        return bool(got)


def _inherited() -> dict[str, str]:
    # The size is that of the terminal, whatever the environment says.
    return {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")}
