"""Giving an entry another name without replacing what has that name already."""

import errno
import os
import stat
import sys
from functools import cache
from typing import Any

__all__ = ("link_new", "rename_new")

_NO_REPLACE = 1
_UNKNOWN = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)
"""What a kernel or a file system says that can't do it."""


def rename_new(source_dir: int, source: str, target_dir: int, target: str) -> None:
    """Rename an entry of one directory into another; raise `FileExistsError` if it is taken."""
    problem = _renameat2(source_dir, source, target_dir, target)
    if problem in _UNKNOWN:
        link_new(source_dir, source, target_dir, target)
    elif problem:
        raise OSError(problem, os.strerror(problem))


def link_new(source_dir: int, source: str, target_dir: int, target: str) -> None:
    """Do the same where the system has no such call. Only for a file is it one step."""
    status = os.stat(source, dir_fd=source_dir, follow_symlinks=False)
    if stat.S_ISDIR(status.st_mode):
        _rename_directory(source_dir, source, target_dir, target)
    else:
        names = {"src_dir_fd": source_dir, "dst_dir_fd": target_dir}
        os.link(source, target, **names, follow_symlinks=False)
        os.unlink(source, dir_fd=source_dir)


def _rename_directory(source_dir: int, source: str, target_dir: int, target: str) -> None:
    try:
        os.stat(target, dir_fd=target_dir, follow_symlinks=False)
    except FileNotFoundError:
        os.rename(source, target, src_dir_fd=source_dir, dst_dir_fd=target_dir)
    else:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))


def _renameat2(source_dir: int, source: str, target_dir: int, target: str) -> int:
    """Return the number of what went wrong, or 0."""
    call, get_errno = _libc_renameat2()
    if call is None:
        return errno.ENOSYS
    names = os.fsencode(source), os.fsencode(target)
    failed = call(source_dir, names[0], target_dir, names[1], _NO_REPLACE)
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
