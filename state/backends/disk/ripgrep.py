"""Ask `rg` which files of a tree may have matching lines.

Its answer is only a hint: `rg` works with paths, and somebody may swap a directory for a link while
it runs. So each file is opened through the jail afterwards and searched in Python, which also makes
the lines the same with and without `rg`. `rg` only has to find every file that may match:

- A literal is looked for in the bytes.
- A regex, or a literal with `ignore_case`, is given to `rg` if it means the same there for ASCII
  (`_SAME_MEANING`). Files with other bytes are always among the results.
- Every other pattern is for Python alone.

`rg` names files over the size limit only in its debug messages.
"""

import errno
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import IO, Any

from langgraph_filesystem.state.backends.file_store import Query

__all__ = ("RipgrepFailed", "find_candidates", "find_ripgrep", "understands")

_EVERY_FILE = ("--no-config", "--no-ignore", "--hidden", "--text", "--encoding=none")
_NAMES = ("--files-with-matches", "--null", "--color=never", "--debug")

_SAME_MEANING = re.compile(
    r"""(?:
      [^\\\[\](){}*+?|^$.]                                          # a character that means itself
    | [.^$|)] | \((?!\?) | \(\?:
    | \\[dDsSwWbB] | \\[^0-9A-Za-z<>]
    | \[\^?(?:[^\\\[\]] | \\[dDsSwW] | \\[^0-9A-Za-z<>])+\]
    | (?:[*+?] | \{[0-9]{1,3}(?:,[0-9]{0,3})?\}) \?? (?![*+?{])     # greedy or lazy
    )+""",
    re.VERBOSE,
)
_OPERATORS = ("&&", "--", "~~")
"""Operators in a character class that only `rg` knows."""
_OTHER_BYTES = r"[\x1c-\x1f\x80-\xff]"
"""Bytes beyond ASCII, and four that are white space to Python only."""

_MAX_OUTPUT = 16 << 20
"""Bytes of names. With more matching files than this, Python finds enough matches itself."""
_DEBUG = re.compile(rb"(?:rg: )?DEBUG\|.*")
_LARGE = re.compile(rb"(?:rg: )?DEBUG\|ignore::walk\|.*?: ignoring (?:\./)?(.+): \d+ bytes")
_ERROR = re.compile(rb"rg: (?:\./)?(.+?): .*\(os error (\d+)\)")
_DENIED = (errno.EACCES, errno.EPERM)
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


class RipgrepFailed(Exception):
    """`rg` failed, or its output is not understood: Python must search."""


@dataclass
class Candidates:
    """The output of `rg`, with paths relative to the top of the tree."""

    names: list[str] = field(default_factory=list)
    large: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    is_late: bool = False


def find_ripgrep() -> str | None:
    """Return the program: the one of the extra `search`, or one on the `PATH`."""
    for directory in (sysconfig.get_path("scripts"), os.path.dirname(sys.executable), None):
        found = shutil.which("rg", path=directory)
        if found and os.path.isabs(found):
            return found
    return None


def understands(query: Query) -> bool:
    """Say whether `rg` finds at least every file that Python would find."""
    if query.is_literal:
        return "\0" not in query.pattern
    if not (query.pattern.isascii() and query.pattern.isprintable()):
        return False
    if not query.regex:
        return True
    has_operator = any(operator in query.pattern for operator in _OPERATORS)
    return not has_operator and _SAME_MEANING.fullmatch(query.pattern) is not None


def find_candidates(
    program: str, query: Query, directory: int, max_file_size: int, seconds: float
) -> Candidates:
    """Return the files below an open directory that may have lines that match."""
    command = [program, *_EVERY_FILE, *_NAMES, f"--max-filesize={max_file_size}"]
    command += [*_pattern(query), "--", "."]
    try:
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as messages:
            status, is_late = _run(command, directory, output, messages, seconds)
            found = Candidates(is_late=is_late)
            has_errors = _understand(messages, found)
            if not (is_late or status in (0, 1) or (status == 2 and has_errors)):
                raise RipgrepFailed(f"it ended with status {status}")
            found.names = _names(output, is_late)
            return found
    except OSError as error:
        raise RipgrepFailed(str(error)) from None


def _pattern(query: Query) -> list[str]:
    if query.is_literal:
        return ["--case-sensitive", "--fixed-strings", f"--regexp={query.pattern}"]
    case = "--ignore-case" if query.ignore_case else "--case-sensitive"
    pattern = query.pattern if query.regex else re.escape(query.pattern)
    return ["--no-unicode", case, f"--regexp={pattern}", f"--regexp={_OTHER_BYTES}"]


def _run(
    command: Sequence[str], directory: int, output: IO[bytes], messages: IO[bytes], seconds: float
) -> tuple[int, bool]:
    """Run `rg` in a directory; return its status and whether its time was up."""
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=messages,
        env={"LC_ALL": "C"},
        **_in_directory(directory),
    )
    late = threading.Event()

    def end() -> None:
        late.set()
        child.kill()

    timer = threading.Timer(seconds, end)
    timer.start()
    try:
        status = child.wait()
    finally:
        timer.cancel()
        child.kill()
        timer.join()
        child.wait()
    return status, late.is_set() and status < 0


def _in_directory(handle: int) -> dict[str, Any]:
    if os.path.isdir("/proc/self/fd"):
        return {"cwd": f"/proc/self/fd/{handle}"}
    return {"preexec_fn": partial(os.fchdir, handle)}


def _understand(messages: IO[bytes], found: Candidates) -> bool:
    """Read the messages of `rg` on stderr; return whether there were errors."""
    messages.seek(0)
    has_errors = False
    for line in messages:
        line = line.rstrip(b"\n")
        if large := _LARGE.fullmatch(line):
            found.large.append(os.fsdecode(large[1]))
        elif error := _ERROR.fullmatch(line):
            has_errors = True
            if int(error[2]) in _DENIED:
                found.unreadable.append(os.fsdecode(error[1]))
            elif int(error[2]) not in _GONE:
                raise RipgrepFailed(f"it says {line!r}")
        elif not _DEBUG.fullmatch(line):
            # The rest of a name with a newline, perhaps, or something about the pattern.
            raise RipgrepFailed(f"it says {line!r}")
    return has_errors


def _names(output: IO[bytes], is_late: bool) -> list[str]:
    if os.fstat(output.fileno()).st_size > _MAX_OUTPUT:
        raise RipgrepFailed("it found too many files")
    output.seek(0)
    *names, rest = output.read().split(b"\0")
    if rest and not is_late:
        raise RipgrepFailed(f"it printed {rest[:100]!r}")
    return sorted({os.fsdecode(name.removeprefix(b"./")) for name in names})
