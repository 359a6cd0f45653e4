"""Replace a file as a whole: it has its old content or its new one, whatever happens.

The new content goes to a temporary file beside the old one and is renamed over it. The name of the
temporary file follows from the file's name, so it is the lock as well: whoever has created it and
holds a `flock` on it is the only writer of that file, in any thread of any process. If a writer is
killed its lock is free, and the next writer removes the temporary file.

A program that knows nothing of this may write the file too. So the file is compared before it is
replaced, and if it has changed the change is made again on the new content.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import random
import stat
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Any

from langgraph_filesystem.state.backends.disk.errors import AttributeLost, Busy
from langgraph_filesystem.state.backends.disk.jail import TEMPORARY

__all__ = (
    "copy_attributes",
    "link_new",
    "locked",
    "remove_if_abandoned",
    "rename_new",
    "replace",
    "temporary_name",
    "write_at",
)

_PATIENCE = 10.0
"""Seconds to wait for one writer who makes no progress. Writing 50 MB takes less than one."""
_MAX_TRIES = 8
"""How often a change is made again because a program without our lock was faster."""
_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_EFFECTIVE_IDS = os.access in os.supports_effective_ids
"""Check access for the effective user, where the system can."""
_RENAME_NOREPLACE = 1
_NOT_SUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)
"""Errors of a kernel or a file system without `RENAME_NOREPLACE`."""
_ACCESS_LISTS = frozenset({"system.posix_acl_access", "system.posix_acl_default"})
_OF_THE_CONTENT = frozenset({"security.capability", "security.evm", "security.ima"})
"""Attributes that any change of the content makes invalid: the kernel drops or renews them."""

Plan = Callable[[int | None], bytes]
"""From a handle of the file as it is, if it exists, to its new content."""
Begin = Callable[[int | None, int], None]
"""Called with handles of the old and the new file, right before the one replaces the other."""


@lru_cache(maxsize=256)
def temporary_name(name: str) -> str:
    """Return the name of the temporary file of a file: always short enough."""
    return TEMPORARY + hashlib.sha256(os.fsencode(name)).hexdigest()[:16]


def replace(
    parent: int,
    name: str,
    plan: Plan,
    begin: Begin | None = None,
    *,
    flush: bool = False,
    patience: float = _PATIENCE,
) -> None:
    """Replace the content of a file by the result of a plan, or raise and leave it unchanged.

    Without `flush` the host may write the new content to the disk after the new name: then a power
    failure can leave an empty file, but a killed process can't.

    The plan may be called several times. A file that did not exist is never overwritten when it
    has appeared meanwhile: the plan is called again.
    """
    draft = _take(parent, temporary_name(name), patience)
    is_done = False
    try:
        for _ in range(_MAX_TRIES):
            before = _prepare(parent, name, draft, plan, begin, flush)
            is_done = _publish(parent, name, before)
            if is_done:
                return
        raise Busy
    finally:
        _release(parent, name, draft, is_done)


@contextlib.contextmanager
def locked(parent: int, name: str) -> Iterator[None]:
    """Hold the lock of a file, which makes this its only writer."""
    draft = _take(parent, temporary_name(name), _PATIENCE)
    try:
        yield
    finally:
        _release(parent, name, draft, is_renamed=False)


def remove_if_abandoned(parent: int, temporary: str) -> None:
    """Remove a temporary file, unless a writer holds it now."""
    if len(temporary) == len(temporary_name("")):  # other hidden names are not locks
        _holder(parent, temporary)


def rename_new(source_dir: int, source: str, target_dir: int, target: str) -> None:
    """Rename an entry of one directory into another; raise `FileExistsError` if it is taken."""
    problem = _renameat2(source_dir, source, target_dir, target)
    if problem in _NOT_SUPPORTED:
        link_new(source_dir, source, target_dir, target)
    elif problem:
        raise OSError(problem, os.strerror(problem))


def link_new(source_dir: int, source: str, target_dir: int, target: str) -> None:
    """Do the same where the system has no such call. Only for a file is it atomic."""
    names = {"src_dir_fd": source_dir, "dst_dir_fd": target_dir}
    status = os.stat(source, dir_fd=source_dir, follow_symlinks=False)
    if not stat.S_ISDIR(status.st_mode):
        os.link(source, target, **names, follow_symlinks=False)
        os.unlink(source, dir_fd=source_dir)
        return
    try:
        os.stat(target, dir_fd=target_dir, follow_symlinks=False)
    except FileNotFoundError:
        os.rename(source, target, **names)
    else:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))


def copy_attributes(source: int, target: int, *, all_or_error: bool) -> None:
    """Give an open file the extended attributes of another, its access list among them.

    An access list that can't be kept is always an error: without it the group of the file may get
    rights that it did not have.
    """
    wanted, present = _attributes(source), _attributes(target)
    for name in _ACCESS_LISTS & present.keys() - wanted.keys():
        os.removexattr(target, name)  # it comes from the defaults of the directory
    for name, value in wanted.items():
        if present.get(name) == value:
            continue
        try:
            os.setxattr(target, name, value)
        except OSError as error:
            if all_or_error or name in _ACCESS_LISTS:
                raise AttributeLost(name, error.errno) from None


def write_at(handle: int, at: int, content: bytes) -> None:
    """Write all of the content at a place of a file."""
    rest = memoryview(content)
    while rest:
        written = os.pwrite(handle, rest, at)
        rest, at = rest[written:], at + written


def _attributes(handle: int) -> dict[str, bytes]:
    if sys.platform != "linux":  # Python has no calls for it elsewhere
        return {}
    found = {}
    try:
        for name in os.listxattr(handle):
            if name not in _OF_THE_CONTENT:
                found[name] = os.getxattr(handle, name)
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:
            raise
    return found


def _release(parent: int, name: str, draft: int, is_renamed: bool) -> None:
    temporary = temporary_name(name)
    try:
        if not is_renamed and _is_at(parent, temporary, draft):
            os.unlink(temporary, dir_fd=parent)
    finally:
        os.close(draft)  # the lock goes last: until then nobody else can have the name


def _take(parent: int, temporary: str, patience: float) -> int:
    """Create the temporary file and lock it, before anybody else does."""
    waiting_for, until = (0, 0), 0.0
    while True:
        try:
            handle = os.open(temporary, _CREATE, 0o666, dir_fd=parent)
        except FileExistsError:
            holder = _holder(parent, temporary)
        else:
            if _lock_new(parent, temporary, handle):
                return handle
            holder = None
        if holder is None:
            continue
        if holder != waiting_for:
            waiting_for, until = holder, time.monotonic() + patience
        elif time.monotonic() > until:
            raise Busy
        time.sleep(random.uniform(0.0002, 0.002))


def _lock_new(parent: int, temporary: str, handle: int) -> bool:
    """Lock a file that was just created. Another writer may have removed it as a leftover."""
    is_ours = False
    try:
        is_ours = _lock(handle) and _is_at(parent, temporary, handle)
    finally:
        if not is_ours:
            os.close(handle)
    return is_ours


def _holder(parent: int, temporary: str) -> tuple[int, int] | None:
    """Return what identifies the holder of a temporary file; if nobody holds it, remove it."""
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
    """Write the result of a plan to the draft; return the status of the old file."""
    try:
        old: int | None = os.open(name, _READ, dir_fd=parent)
    except FileNotFoundError:
        old = None
    try:
        before = None if old is None else os.fstat(old)
        if before is not None:
            _check_writable(parent, name, before.st_mode)
        _fill(draft, plan(old), old, before)
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
    # A rename needs rights on the directory only, but a read-only file must stay as it is.
    if not os.access(name, os.W_OK, dir_fd=parent, effective_ids=_EFFECTIVE_IDS):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))


def _fill(draft: int, content: bytes, old: int | None, before: os.stat_result | None) -> None:
    if os.fstat(draft).st_size:
        os.ftruncate(draft, 0)  # this is another try
    if old is not None and before is not None:
        # In this order: with the mode alone the group may have more rights for a moment.
        copy_attributes(old, draft, all_or_error=True)
        _set_owner_and_mode(draft, before)
    write_at(draft, 0, content)
    if before is not None and stat.S_IMODE(before.st_mode) & 0o7000:
        _set_owner_and_mode(draft, before)  # writing has cleared these bits


def _set_owner_and_mode(draft: int, like: os.stat_result) -> None:
    """Give a file the mode of another and, where that is allowed, its owner."""
    own = os.fstat(draft)
    if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid):
        for user in (-1, like.st_uid):
            with contextlib.suppress(OSError):
                os.fchown(draft, user, like.st_gid)
        own = os.fstat(draft)
    mode = stat.S_IMODE(like.st_mode)
    if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid):
        mode &= 0o1777  # it must not run with the rights of another owner
    if mode != stat.S_IMODE(own.st_mode):
        os.fchmod(draft, mode)


def _publish(parent: int, name: str, before: os.stat_result | None) -> bool:
    """Let the new file replace the old one, if that has not changed."""
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
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _renameat2(source_dir: int, source: str, target_dir: int, target: str) -> int:
    """Return the number of the error, or 0."""
    call, get_errno = _libc_renameat2()
    if call is None:
        return errno.ENOSYS
    names = os.fsencode(source), os.fsencode(target)
    failed = call(source_dir, names[0], target_dir, names[1], _RENAME_NOREPLACE)
    return int(get_errno()) if failed else 0


@cache
def _libc_renameat2() -> tuple[Any, Any]:
    if sys.platform != "linux":
        return None, None
    import ctypes

    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is not None:
        name = ctypes.c_char_p
        call.argtypes = (ctypes.c_int, name, ctypes.c_int, name, ctypes.c_uint)
    return call, ctypes.get_errno
