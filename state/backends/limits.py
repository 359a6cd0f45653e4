"""What a sandbox may use, all of its processes together.

The kernel limits single processes (`RLIMIT_DATA`, `RLIMIT_CPU`), and their number only per user and
never for root. So the supervisor also looks every now and then at the sandbox's own `/proc`, and
ends all of it when the sum is too large. This needs no cgroup, which few programs may make.

Nothing of ours is imported here but `descendants`: it is part of the supervisor.
"""

import contextlib
import os
import re
import resource
from collections.abc import Mapping

from langgraph_filesystem.state.backends.descendants import numbers, stat_fields

__all__ = ("Watch", "limit_children", "limit_process")

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_LOOKS_AT_FILES = 5
"""Every so many looks one goes to the open files too: it takes longer."""


def limit_process(limits: Mapping[str, int]) -> None:
    """Limit this process and its children, each for itself."""
    # Not the address space: Node, Go and Java reserve far more of it than they ever use.
    _lower(resource.RLIMIT_DATA, limits["memory"])
    _lower(resource.RLIMIT_CPU, limits["cpu"], grace=5)  # for what wants to say so at SIGXCPU
    _lower(resource.RLIMIT_CORE, 0)


def limit_children(init: int, limits: Mapping[str, int]) -> None:
    """Limit how many processes a sandbox may have, before it has one.

    Since Linux 5.14 they are counted per user *namespace*, which is new here. Set any earlier, or
    on an older kernel, it would count all processes of the user.
    """
    if _kernel() >= (5, 14):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            resource.prlimit(init, resource.RLIMIT_NPROC, (limits["processes"],) * 2)


class Watch:
    """How much the processes of a sandbox use, seen from outside."""

    def __init__(self, init: int, limits: Mapping[str, int]) -> None:
        self._init = init
        self._limits = limits
        self._root = os.path.join("/proc", str(init), "root", "proc")
        self._proc = -1
        self._looks = 0

    def exceeded(self) -> str | None:
        """Say of what the sandbox uses more than it may."""
        with contextlib.suppress(OSError, ValueError):  # it may end, or not have begun
            if self._proc < 0:
                self._open_proc()
            return self._exceeded(numbers(self._proc)) if self._proc >= 0 else None
        return None

    def _exceeded(self, pids: list[int]) -> str | None:
        threads = ticks = pages = 0
        for pid in pids if len(pids) <= self._limits["processes"] else ():
            with contextlib.suppress(OSError, ValueError):
                fields = stat_fields(f"{pid}/stat", self._proc)
                # Its own time and that of the children it has waited for.
                ticks += sum(map(int, fields[11:15]))
                threads += int(fields[17])
                pages += int(fields[21])
        if max(threads, len(pids)) > self._limits["processes"]:
            return "processes"
        if ticks > self._limits["cpu"] * _TICKS:
            return "cpu"
        return "memory" if self._is_too_large(pids, pages * _PAGE) else None

    def _is_too_large(self, pids: list[int], resident: int) -> bool:
        """Processes share pages, and `resident` counts them for each: look closer if need be."""
        limit = self._limits["memory"]
        self._looks += 1
        if self._looks % _LOOKS_AT_FILES == 0 and self._in_files(pids) > limit:
            return True
        return resident > limit and sum(map(self._proportional, pids)) > limit

    def _in_files(self, pids: list[int]) -> int:
        """Return what files take that are nowhere but in memory, and that nothing else counts."""
        sizes: dict[int, int] = {}
        for pid in pids:
            with contextlib.suppress(OSError):
                for name in os.listdir(f"{self._root}/{pid}/fd"):
                    path = f"{self._root}/{pid}/fd/{name}"
                    with contextlib.suppress(OSError):
                        if os.readlink(path).startswith("/memfd:"):
                            status = os.stat(path)
                            sizes[status.st_ino] = status.st_blocks * 512
        return sum(sizes.values())

    def _proportional(self, pid: int) -> int:
        """Return what a process uses, a shared page divided by those who share it."""
        with contextlib.suppress(OSError):
            handle = os.open(f"{pid}/smaps_rollup", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._proc)
            try:
                found = re.search(rb"^Pss: +(\d+) kB", os.read(handle, 4096), re.MULTILINE)
            finally:
                os.close(handle)
            return int(found[1]) * 1024 if found else 0
        return 0

    def _open_proc(self) -> None:
        """Open the `/proc` that the sandbox sees. Until its root is in place, it is the host's."""
        proc = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if os.readlink("1/ns/pid", dir_fd=proc) == os.readlink(f"/proc/{self._init}/ns/pid"):
            self._proc = proc
        else:
            os.close(proc)


def _lower(which: int, limit: int, grace: int = 0) -> None:
    hard = resource.getrlimit(which)[1]
    most = limit + grace if hard == resource.RLIM_INFINITY else min(limit + grace, hard)
    resource.setrlimit(which, (min(limit, most), most))


def _kernel() -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", os.uname().release)[:2])
