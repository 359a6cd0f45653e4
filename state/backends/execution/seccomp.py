"""A filter of system calls for the sandbox, as the small program that the kernel runs on each.

A file that a command leaves in the directory is there for everybody on the host, so it must not be
set-uid or set-gid: whoever runs such a file gets the rights of the agent's user. Mounting the
directory `nosuid` makes it harmless in the sandbox only, and looking through the whole directory
after each command takes too long. So the system calls that set a mode are refused if it has one of
these bits. Two others could do the same unseen (`openat2` takes the mode through a pointer,
`io_uring` makes calls that are never filtered): programs are told that this kernel doesn't have
them, and fall back. The same goes for the kernel's keyrings, which would be the user's own.

A machine that is neither x86 nor ARM has no filter.
"""

import errno
import functools
import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

__all__ = ("seccomp_filter",)

_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
"""Where the kernel puts them for a filter; an argument takes eight bytes, the low half first."""
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_REFUSE, _MISSING = _ERROR | errno.EPERM, _ERROR | errno.ENOSYS
_SET_ID = 0o6000
_CREATES = 0o100 | 0o20000000
"""`O_CREAT` and `O_TMPFILE`: only with one of them does `open` look at the mode."""
_X32 = 0x40000000
"""From here on x86-64 has the same calls once more, for 32-bit pointers."""


@dataclass(frozen=True)
class _Calls:
    """The numbers of system calls on one architecture."""

    architecture: int
    with_mode: Mapping[int, int]
    """`chmod`, `fchmod`, `creat`, `mknod` (mode in argument 1); `fchmodat`, `mknodat`,
    `fchmodat2` (in argument 2)."""
    opening: Mapping[int, int]
    """`open` and `openat`: the argument with the flags, before that with the mode."""
    missing: tuple[int, ...]
    """`openat2`, `io_uring_setup`, `add_key`, `request_key`, `keyctl`."""


_X86_64 = _Calls(
    0xC000003E,
    {90: 1, 91: 1, 85: 1, 133: 1, 268: 2, 259: 2, 452: 2},
    {2: 1, 257: 2},
    (437, 425, 248, 249, 250),
)
_I386 = _Calls(
    0x40000003,
    {15: 1, 94: 1, 8: 1, 14: 1, 306: 2, 297: 2, 452: 2},
    {5: 1, 295: 2},
    (437, 425, 286, 287, 288),
)
_AARCH64 = _Calls(0xC00000B7, {52: 1, 53: 2, 33: 2, 452: 2}, {56: 2}, (437, 425, 217, 218, 219))
_ARM = _Calls(
    0x40000028,
    {15: 1, 94: 1, 8: 1, 14: 1, 333: 2, 324: 2, 452: 2},
    {5: 1, 322: 2},
    (437, 425, 309, 310, 311),
)
_MACHINES = {"x86_64": (_X86_64, _I386), "aarch64": (_AARCH64, _ARM)}

Step = tuple[int, int, int, int]
"""An instruction: what to do, how many to skip if true, how many if not, with which value."""


@functools.cache
def seccomp_filter(machine: str = os.uname().machine) -> bytes | None:
    """Return the filter for a machine, as bubblewrap takes it; `None` if there is none for it."""
    if machine not in _MACHINES:
        return None
    steps: list[Step] = [(_LOAD, 0, 0, _ARCHITECTURE)]
    for calls in _MACHINES[machine]:
        steps += _block(_IF_EQUAL, calls.architecture, list(_section(calls)))
    steps.append((_RETURN, 0, 0, _MISSING))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _section(calls: _Calls) -> Iterator[Step]:
    yield (_LOAD, 0, 0, _NUMBER)
    if calls is _X86_64:
        yield from _block(_IF_AT_LEAST, _X32, [(_RETURN, 0, 0, _MISSING)])
    for number in calls.missing:
        yield from _block(_IF_EQUAL, number, [(_RETURN, 0, 0, _MISSING)])
    for number, argument in calls.with_mode.items():
        yield from _block(_IF_EQUAL, number, _checking(argument))
    for number, argument in calls.opening.items():
        creating = _block(_IF_ANY_BIT, _CREATES, _checking(argument + 1))
        yield from _block(_IF_EQUAL, number, [_argument(argument), *creating, _ALLOWED])
    yield _ALLOWED


_ALLOWED: Step = (_RETURN, 0, 0, _ALLOW)


def _block(condition: int, value: int, steps: list[Step]) -> list[Step]:
    """Do these steps if the condition holds, else go on behind them."""
    return [(condition, 0, len(steps), value), *steps]


def _checking(argument: int) -> list[Step]:
    """Refuse the call if the mode has a bit that it must not have."""
    refuse = _block(_IF_ANY_BIT, _SET_ID, [(_RETURN, 0, 0, _REFUSE)])
    return [_argument(argument), *refuse, _ALLOWED]


def _argument(number: int) -> Step:
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * number)
