"""What a command may use: limits of the kernel for each process, and a watch over their sum.

The kernel limits single processes, and their number only per user and never for root. So the
supervisor also looks at all processes of a sandbox every now and then, and ends all of them when
the sum is too large. This needs no cgroup, which few programs may create.

Part of the supervisor (see `supervisor.py` for why so little is imported).
"""

import os
import resource

# Relative: the supervisor loads these modules without the packages above them.
from .process_tree import descendants

__all__ = ("Limits", "Watch", "limit_process")

Limits = dict[str, int]
"""Bytes of `memory` and of each written `file`, number of `processes`, seconds of `cpu`."""

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_UTIME, _THREADS, _RESIDENT = 11, 17, 21
_LOOKS_AT_FILES = 5
"""Only every fifth look goes to the open files too, because that takes longer."""


def limit_process(limits: Limits) -> None:
    """Limit this process and its children, each for itself."""
    if "memory" in limits:
        # Not the address space: Node, Go and Java reserve far more of it than they ever use.
        _lower(resource.RLIMIT_DATA, limits["memory"])
        _lower(resource.RLIMIT_CORE, 0)
    if "cpu" in limits:
        _lower(resource.RLIMIT_CPU, limits["cpu"], grace=5)  # to say something at SIGXCPU
    if "file" in limits:
        _lower(resource.RLIMIT_FSIZE, limits["file"])


class Watch:
    """How much the processes below one use together."""

    def __init__(self, root: int, limits: Limits) -> None:
        self._root = root
        self._limits = limits
        self._looks = 0

    def exceeded(self) -> str | None:
        """Return the name of the limit that is exceeded, if one is."""
        found = descendants(self._root)
        threads = ticks = pages = 0
        for fields in found.values():
            # Its own time and that of the children it has waited for.
            ticks += sum(map(int, fields[_UTIME : _UTIME + 4]))
            threads += int(fields[_THREADS])
            pages += int(fields[_RESIDENT])
        if threads > self._limits["processes"]:
            return "processes"
        if ticks > self._limits["cpu"] * _TICKS:
            return "cpu"
        return "memory" if self._is_too_large(list(found), pages * _PAGE) else None

    def _is_too_large(self, pids: list[int], resident: int) -> bool:
        limit = self._limits["memory"]
        self._looks += 1
        if self._looks % _LOOKS_AT_FILES == 0 and _in_memory_files(pids) > limit:
            return True
        # `resident` counts a shared page for each process that has it, so look closer.
        return resident > limit and sum(map(_proportional, pids)) > limit


def _in_memory_files(pids: list[int]) -> int:
    """Return the size of files that exist in memory only and that no other limit counts."""
    sizes: dict[int, int] = {}
    for path in (path for pid in pids for path in _handles_of(pid)):
        try:
            if os.readlink(path).startswith("/memfd:"):
                status = os.stat(path)
                sizes[status.st_ino] = status.st_blocks * 512
        except OSError:  # it was closed
            continue
    return sum(sizes.values())


def _handles_of(pid: int) -> list[str]:
    try:
        return [f"/proc/{pid}/fd/{name}" for name in os.listdir(f"/proc/{pid}/fd")]
    except OSError:  # the process has ended
        return []


def _proportional(pid: int) -> int:
    """Return the memory of a process, with a shared page divided by the processes that share it."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(b"Pss:"))
    except (OSError, StopIteration):
        return 0


def _lower(which: int, limit: int, grace: int = 0) -> None:
    hard = resource.getrlimit(which)[1]
    most = limit + grace if hard == resource.RLIM_INFINITY else min(limit + grace, hard)
    resource.setrlimit(which, (min(limit, most), most))
