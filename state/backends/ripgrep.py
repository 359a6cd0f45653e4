"""The search engine `rg`: how it is found, asked and understood.

It is started in a directory that is held open, or is handed open files, and never a path of the
host. It takes every byte as it is: no ignore files, no configuration, no guess at an encoding, no
guess at what is binary. What it says of a tree is a hint, not a result (`disk_search.py`).

It reports files over the size limit only among its debug messages. Where these flow too freely (one
for each link), it is asked again without them. Without a limit for the size of files there is one
for its memory: a line of a file may be as long as the file.
"""

import errno
import os
import re
import shutil
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from langgraph_filesystem.state.backends.child_output import output_of
from langgraph_filesystem.state.backends.dialect import Sure, for_ripgrep
from langgraph_filesystem.state.backends.excerpts import Hit
from langgraph_filesystem.state.backends.omissions import Omissions, Tally
from langgraph_filesystem.state.backends.scanning import Matcher

__all__ = ("Ripgrep", "RipgrepFailed", "find_ripgrep")

_BYTES_AS_THEY_ARE = ("--no-config", "--text", "--encoding=none")
_ONE_FORM = ("--color=never", "--no-heading", "--with-filename", "--null")
_EVERY_FILE = ("--no-ignore", "--hidden", "--no-mmap", "--count")
# Only where a line is, and never the line: it is read from the file, through the jail.
_PLACES_ONLY = ("--line-number", "--byte-offset", "--max-columns=1")

_COUNT = re.compile(rb"(([^\0]+)\0(\d+)\n)")
_PLACE = re.compile(rb"(([^\0]+)\0(\d+):(\d+):(?:\[Omitted[^\n]*|[^\n]?)\n)")
_LARGE = re.compile(rb"rg: DEBUG\|ignore::walk\|.*: ignoring (?:\./)?(.+): \d+ bytes", re.DOTALL)
_TROUBLE = re.compile(
    rb"rg: (?:\./)?(.+?): (?:IO error for operation on .*: )?[^:]*\(os error (\d+)\)", re.DOTALL
)
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
_SIMPLE = re.compile(r"(?!.*\*\*)[\w.*-]+", re.ASCII)
"""Patterns for names that mean the same to `rg`."""
_CHATTER = 3_000
"""Debug messages that are listened to. Measured: 20,000 of them took 3 s, the search 0.2 s."""
_LONGEST = 1 << 16
"""Bytes of a message."""
_MEMORY = 128 << 20
"""Bytes for `rg` where files may be of any size. Measured: 12 threads of it have 61 MB."""

Test: TypeAlias = Callable[[str], bool]


def _anything(path: str) -> bool:
    return True


class RipgrepFailed(Exception):
    """`rg` can't do it, or said something that is not understood: Python must."""


class _TooTalkative(Exception):
    """`rg` spends its time on messages."""


@cache
def find_ripgrep() -> str | None:
    """Return the program: that of the extra `search`, or the one that is on the path."""
    for directory in (sysconfig.get_path("scripts"), os.path.dirname(sys.executable), None):
        found = shutil.which("rg", path=directory)
        if found and Path(found).is_absolute():
            return found
    return None


class Ripgrep:
    """A query, put to `rg` until a deadline."""

    def __init__(self, program: str, matcher: Matcher, deadline: float) -> None:
        self._program = program
        self._matcher = matcher
        self._deadline = deadline
        self._pattern, self.sure = _pattern_options(matcher)
        """`sure` is whether it finds what Python finds (`dialect.py`)."""

    def until(self, deadline: float) -> "Ripgrep":
        """Return the same with another deadline."""
        return Ripgrep(self._program, self._matcher, deadline)

    def counts_below(
        self,
        directory: int,
        path: str,
        max_file_size: int | None,
        omissions: Omissions,
        *,
        names: Sequence[str] = (),
        wants: Test = _anything,
        sees: Test = _anything,
    ) -> Iterator[list[tuple[bytes, int]]]:
        """Yield lists of files below an open directory that have lines, and how many; some twice.

        Its path is for the messages. Of large files those are noted that somebody `wants`, and of
        what can't be read what anybody `sees`: both are asked for paths from the directory.
        `names` are patterns one of which the name of a file must match, as far as `rg` has such
        ones: patterns of what it is to leave out cost more than to leave it out afterwards.
        """
        options = list(_EVERY_FILE)
        if all(map(_SIMPLE.fullmatch, names)):
            options += [f"--glob={name}" for name in names]
        listening = partial(_Messages, omissions, path, wants, sees)
        if max_file_size is None:
            output = self._ask(options, ["."], listening(), directory, memory=_MEMORY)
            yield from _counts(output, omissions)
            return
        options.append(f"--max-filesize={max_file_size}")
        try:
            output = self._ask(["--debug", *options], ["."], listening(), directory)
            yield from _counts(output, omissions)
        except _TooTalkative:
            omissions.may_be_large = True
            omissions.unreadable, omissions.unnameable = Tally(), Tally()
            output = self._ask(options, ["."], listening(), directory)
            yield from _counts(output, omissions)

    def counts_of(self, handles: Sequence[int], omissions: Omissions) -> list[int]:
        """Return how many lines of each of these open files match."""
        if not handles:
            return []  # with no file to look at, it would look at all below where it is started
        output = self._ask_of(["--count"], handles, omissions)
        found = dict(chain.from_iterable(_counts(output, omissions)))
        return [found.get(_name(handle), 0) for handle in handles]

    def lines_of(self, handles: Sequence[int], most: int, omissions: Omissions) -> list[list[Hit]]:
        """Return the lines of each of these open files that match, so many of each at the most."""
        if not handles:
            return []
        options = [*_PLACES_ONLY, f"--max-count={most}"]
        found: dict[bytes, list[Hit]] = {}
        output = self._ask_of(options, handles, omissions)
        for _, name, line, offset in chain.from_iterable(_records(_PLACE, output, omissions)):
            found.setdefault(name, []).append((int(line), int(offset)))
        return [found.get(_name(handle), []) for handle in handles]

    def _ask_of(
        self, options: list[str], handles: Sequence[int], omissions: Omissions
    ) -> Iterator[bytes]:
        # One file may be of any size. Mapped, a line of it needs no memory, however long it is.
        memory = "--mmap" if len(handles) == 1 else "--no-mmap"
        paths = [_name(handle).decode() for handle in handles]
        return self._ask([memory, *options], paths, _Messages(omissions), handles=handles)

    def _ask(
        self,
        options: Sequence[str],
        paths: Iterable[str],
        messages: "_Messages",
        directory: int | None = None,
        handles: Sequence[int] = (),
        memory: int | None = None,
    ) -> Iterator[bytes]:
        fixed = (*_BYTES_AS_THEY_ARE, *_ONE_FORM)
        command = [self._program, *fixed, *options, *self._pattern, "--", *paths]
        until, listen = self._deadline, messages.add
        try:
            status = yield from output_of(
                command, directory, handles, deadline=until, on_error=listen, memory=memory
            )
        except TimeoutError:
            messages.omissions.is_late = True
            return
        except OSError as error:
            raise RipgrepFailed(f"it does not start: {error.strerror}") from None
        if messages.unknown or status not in (0, 1, 2 if messages.trouble else 0):
            raise RipgrepFailed(f"status {status}: {messages.unknown!r}")


def _pattern_options(matcher: Matcher) -> tuple[list[str], Sure]:
    if not matcher.is_literal:
        spelled = for_ripgrep(matcher.spelled, ignore_case=matcher.query.ignore_case)
        if spelled is None:
            raise RipgrepFailed("it has no such regexes")
        return ["--case-sensitive", f"--regexp={spelled.text}"], spelled.sure
    pattern = matcher.query.pattern
    if "\0" in pattern:
        raise RipgrepFailed("a NUL can't be an argument")
    return ["--fixed-strings", "--case-sensitive", f"--regexp={pattern}"], "always"


def _name(handle: int) -> bytes:
    return b"/dev/fd/%d" % handle


def _counts(output: Iterable[bytes], omissions: Omissions) -> Iterator[list[tuple[bytes, int]]]:
    for records in _records(_COUNT, output, omissions):
        yield [(name.removeprefix(b"./"), int(count)) for _, name, count in records]


def _records(
    form: re.Pattern[bytes], output: Iterable[bytes], omissions: Omissions
) -> Iterator[list[Any]]:
    """Yield what was printed, cut into records, each right behind the one before."""
    rest = b""
    for piece in output:
        rest += piece
        records = form.findall(rest)
        yield records
        rest = rest[sum(len(record[0]) for record in records) :]
    if rest and not omissions.is_late:
        raise RipgrepFailed(f"it printed {rest[:100]!r}")


class _Messages:
    """What `rg` says beside its results."""

    def __init__(
        self,
        omissions: Omissions,
        path: str = "",
        wants: Test = _anything,
        sees: Test = _anything,
    ) -> None:
        self.omissions = omissions
        self._path = path and path.rstrip("/") + "/"
        self._wants = wants
        self._sees = sees
        self._chatter = 0
        self._rest = b""
        self.trouble = 0
        """How often something could not be read."""
        self.unknown: bytes | None = None
        """The first message that is not understood."""

    def add(self, piece: bytes) -> None:
        """Take in some more of it."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        self._rest = self._rest[:_LONGEST]
        for line in lines:
            self._understand(line)
        if self._chatter > _CHATTER:
            raise _TooTalkative

    def _understand(self, line: bytes) -> None:
        if line.startswith(b"rg: DEBUG|"):
            self._chatter += 1
            if large := _LARGE.fullmatch(line):
                self._note(self.omissions.large, large[1], self._wants)
        elif self._path and (trouble := _TROUBLE.fullmatch(line)):
            self.trouble += 1
            if int(trouble[2]) not in _GONE:
                self._note(self.omissions.unreadable, trouble[1], self._sees)
        elif self.unknown is None:  # it may be the rest of a name with `\n`
            self.unknown = line

    def _note(self, tally: Tally, shown: bytes, is_noted: Test) -> None:
        name = os.fsdecode(shown)
        if is_noted(name):
            tally.add(self._path + name)
