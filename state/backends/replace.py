"""Whole writes: a file has its old content or its new one, whatever happens in between.

The new content goes to a temporary file beside the old one and is renamed over it. The temporary
file's name follows from the file's, so it is the lock as well: whoever has created it and holds a
`flock` on it is the only one who writes that file, in any thread of any process. If its holder is
killed, the lock is free, and the next writer removes what is left.

A program that knows nothing of this may write the file too. So it is compared before it is
replaced, and the change is made again on what the other left.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import random
import stat
import time
from collections.abc import Callable, Iterator
from functools import lru_cache

from langgraph_filesystem.state.backends.jail import TEMPORARY
from langgraph_filesystem.state.backends.renames import rename_new

__all__ = ("Busy", "is_being_written", "locked", "replace", "temporary_name")

_PATIENCE = 10.0
"""Seconds to wait for one writer who does not get on. A write of 50 MB takes less than one."""
_TRIES = 8
"""How often a change is made again because a program without our lock was faster."""
_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_AS_WHO_WRITES = os.access in os.supports_effective_ids
"""Not as who has started the process, where the system can tell the two apart."""

Plan = Callable[[int | None], bytes]
"""From a handle of the file as it is, if there is one, to what it shall hold."""
Begin = Callable[[int | None, int], None]
"""Called with handles of the old and the new file, right before the one takes the other's place."""


class Busy(OSError):
    """Somebody else is writing the file, and does not come to an end."""

    def __init__(self) -> None:
        super().__init__(errno.EBUSY, os.strerror(errno.EBUSY))


@lru_cache(maxsize=256)
def temporary_name(name: str) -> str:
    """Return the name of the temporary file of a file: always short enough."""
    return TEMPORARY + hashlib.sha256(os.fsencode(name)).hexdigest()[:16]


def replace(
    parent: int, name: str, plan: Plan, begin: Begin | None = None, *, flush: bool = False
) -> None:
    """Put what a plan makes of a file in its place, or raise and leave it as it was.

    Without `flush` the host may write the new content to the disk after its new name: then a power
    failure can leave an empty file, but a killed process can't.

    The plan may be carried out several times. A file that was not there is never overwritten when
    it has come up meanwhile: the plan is asked again.
    """
    draft = _take(parent, temporary_name(name))
    is_done = False
    try:
        for _ in range(_TRIES):
            before = _prepare(parent, name, draft, plan, begin, flush)
            is_done = _publish(parent, name, before)
            if is_done:
                return
        raise Busy
    finally:
        _let_go(parent, name, draft, is_done)


@contextlib.contextmanager
def locked(parent: int, name: str) -> Iterator[None]:
    """Be the only one who writes a file."""
    draft = _take(parent, temporary_name(name))
    try:
        yield
    finally:
        _let_go(parent, name, draft, is_renamed=False)


def is_being_written(parent: int, temporary: str) -> bool:
    """Say of a temporary file whether somebody has it now; one that nobody has is removed."""
    if len(temporary) != len(temporary_name("")):
        return False  # what else has such a name is no lock
    return _holder(parent, temporary) is not None


def _let_go(parent: int, name: str, draft: int, is_renamed: bool) -> None:
    temporary = temporary_name(name)
    try:
        if not is_renamed and _is_at(parent, temporary, draft):
            os.unlink(temporary, dir_fd=parent)
    finally:
        os.close(draft)  # the lock goes last: until then nobody else can have the name


def _take(parent: int, temporary: str) -> int:
    """Create the temporary file and lock it, before anybody else does."""
    waiting_for, until = (0, 0), 0.0
    while True:
        try:
            handle = os.open(temporary, _CREATE, 0o666, dir_fd=parent)
        except FileExistsError:
            holder = _holder(parent, temporary)
        else:
            if _is_ours(parent, temporary, handle):
                return handle
            holder = None
        if holder is None:
            continue
        if holder != waiting_for:
            waiting_for, until = holder, time.monotonic() + _PATIENCE
        elif time.monotonic() > until:
            raise Busy
        time.sleep(random.uniform(0.0002, 0.002))


def _is_ours(parent: int, temporary: str, handle: int) -> bool:
    """Lock a file that was just made. Another may have been faster, and taken it for a leftover."""
    is_ours = False
    try:
        is_ours = _lock(handle) and _is_at(parent, temporary, handle)
    finally:
        if not is_ours:
            os.close(handle)
    return is_ours


def _holder(parent: int, temporary: str) -> tuple[int, int] | None:
    """Return what tells who has the temporary file; one that nobody has is removed."""
    try:
        handle = os.open(temporary, _READ, dir_fd=parent)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        os.unlink(temporary, dir_fd=parent)  # somebody put a link there
        return None
    try:
        if _lock(handle):
            if _is_at(parent, temporary, handle):
                os.unlink(temporary, dir_fd=parent)  # its writer was killed
            return None
        status = os.fstat(handle)
        return status.st_ino, status.st_ctime_ns
    finally:
        os.close(handle)


def _lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(parent: int, name: str, handle: int) -> bool:
    try:
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(found, os.fstat(handle))


def _prepare(
    parent: int, name: str, draft: int, plan: Plan, begin: Begin | None, flush: bool
) -> os.stat_result | None:
    """Write down what a plan makes of the file as it is; return what is known of that one."""
    try:
        old: int | None = os.open(name, _READ, dir_fd=parent)
    except FileNotFoundError:
        old = None
    try:
        before = None if old is None else os.fstat(old)
        if before is not None:
            _check_writable(parent, name, before.st_mode)
        _fill(draft, plan(old), before)
        if flush:
            os.fsync(draft)
        if begin:
            begin(old, draft)
        return before
    finally:
        if old is not None:
            os.close(old)


def _check_writable(parent: int, name: str, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise OSError(errno.ENXIO, os.strerror(errno.ENXIO))
    # A rename needs rights on the directory only: a file that is kept from writing stays so.
    if not os.access(name, os.W_OK, dir_fd=parent, effective_ids=_AS_WHO_WRITES):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))


def _fill(draft: int, content: bytes, like: os.stat_result | None) -> None:
    if os.fstat(draft).st_size:
        os.ftruncate(draft, 0)  # it is made again
    if like is not None:
        _resemble(draft, like)
    rest, at = memoryview(content), 0
    while rest:
        written = os.pwrite(draft, rest, at)
        rest, at = rest[written:], at + written
    if like is not None and stat.S_IMODE(like.st_mode) & 0o7000:
        _resemble(draft, like)  # writing has taken these bits away


def _resemble(draft: int, like: os.stat_result) -> None:
    """Give the new file the owner of the old one, where that is allowed, and its mode."""
    own = os.fstat(draft)
    if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid):
        for user in (-1, like.st_uid):
            with contextlib.suppress(OSError):
                os.fchown(draft, user, like.st_gid)
        own = os.fstat(draft)
    mode = stat.S_IMODE(like.st_mode)
    if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid):
        mode &= 0o1777  # it may not run with rights of another owner
    if mode != stat.S_IMODE(own.st_mode):
        os.fchmod(draft, mode)


def _publish(parent: int, name: str, before: os.stat_result | None) -> bool:
    """Let the new file take the place of the old one, if that is still what it was."""
    temporary = temporary_name(name)
    if before is None:
        try:
            rename_new(parent, temporary, parent, name)
        except FileExistsError:
            return False
        return True
    try:
        now = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return False
    if _identity(now) != _identity(before):
        return False
    os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
    return True


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )
