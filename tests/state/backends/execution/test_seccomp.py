"""The filter of system calls, run as the kernel would run it, for machines that are not here."""

import errno
import struct

import pytest

from langgraph_filesystem.state.backends.execution.seccomp import seccomp_filter

ALLOW = 0x7FFF0000
REFUSE, MISSING = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
X86_64, I386, AARCH64, ARM = 0xC000003E, 0x40000003, 0xC00000B7, 0x40000028


def verdict(machine: str, architecture: int, number: int, *arguments: int) -> int:
    """Return what the filter says of a call."""
    program = seccomp_filter(machine)
    assert program is not None
    steps = list(struct.iter_unpack("=HBBI", program))
    call = struct.pack("=IIQ6Q", number, architecture, 0, *arguments, *[0] * (6 - len(arguments)))
    at = value = 0
    while True:
        code, if_true, if_false, operand = steps[at]
        at += 1
        match code:
            case 0x20:
                (value,) = struct.unpack_from("=I", call, operand)
            case 0x06:
                return int(operand)
            case 0x15:
                at += if_true if value == operand else if_false
            case 0x35:
                at += if_true if value >= operand else if_false
            case 0x45:
                at += if_true if value & operand else if_false


CHMOD = {  # with their mode as argument 1, and those with it as argument 2
    ("x86_64", X86_64): ((90, 91, 85, 133), (268, 259, 452)),
    ("x86_64", I386): ((15, 94, 8, 14), (306, 297, 452)),
    ("aarch64", AARCH64): ((52,), (53, 33, 452)),
    ("aarch64", ARM): ((15, 94, 8, 14), (333, 324, 452)),
}
OPEN = {  # with their flags as argument 1 or 2, and the mode behind them
    ("x86_64", X86_64): {2: 1, 257: 2},
    ("x86_64", I386): {5: 1, 295: 2},
    ("aarch64", AARCH64): {56: 2},
    ("aarch64", ARM): {5: 1, 322: 2},
}


@pytest.mark.parametrize(("machine", "architecture"), CHMOD)
def test_a_mode_with_set_uid_or_set_gid_is_refused(machine: str, architecture: int) -> None:
    first, second = CHMOD[machine, architecture]
    for number in (*first, *second):
        before = (1,) if number in first else (1, 2)
        for mode, expected in ((0o1777, ALLOW), (0o4755, REFUSE), (0o2755, REFUSE)):
            assert verdict(machine, architecture, number, *before, mode) == expected, number
        # A mode that stands elsewhere is none.
        assert verdict(machine, architecture, number, 0o4755) == ALLOW


@pytest.mark.parametrize(("machine", "architecture"), OPEN)
def test_open_is_refused_only_where_it_looks_at_the_mode(machine: str, architecture: int) -> None:
    for number, argument in OPEN[machine, architecture].items():
        before = [0] * argument
        for flags, mode, expected in (
            (0o100, 0o4755, REFUSE),
            (0o20000000 | 0o200000, 0o2755, REFUSE),
            (0o101, 0o755, ALLOW),
            (0, 0o4755, ALLOW),
        ):
            assert verdict(machine, architecture, number, *before, flags, mode) == expected


def test_what_could_not_be_filtered_is_missing() -> None:
    for machine, architecture in CHMOD:
        assert verdict(machine, architecture, 437) == MISSING
        assert verdict(machine, architecture, 425) == MISSING
        assert verdict(machine, architecture, 1) == ALLOW
    assert verdict("x86_64", X86_64, 0x40000000 + 90, 0, 0o755) == MISSING
    assert verdict("x86_64", AARCH64, 1) == MISSING


def test_a_machine_that_is_not_known_has_no_filter() -> None:
    assert seccomp_filter("riscv64") is None
