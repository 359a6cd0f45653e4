"""Layers: where commands over an overlay write, while the directory itself stays as it is.

A layer is an upper directory of the kernel's overlay file system, over a lower directory that is
only read. A deleted file is a "whiteout" in it, a device with the number 0. A directory that hides
the lower directory at its path has the attribute `user.overlay.opaque`. Both can be made by an
ordinary user.

Layers are in the data directory of the user. Each command gets its own, to which the changes of the
thread are written first. Its record says how the command ended: whoever makes the same call again
after a crash finds the result there, or that the command was started.
"""

import contextlib
import errno
import fcntl
import functools
import json
import os
import re
import shutil
import stat
import sys
import tempfile
import time
import uuid
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from langgraph_filesystem.state.backends.disk.jail import Jail, closing_handle
from langgraph_filesystem.state.backends.execution.process import run_blocking
from langgraph_filesystem.state.backends.execution.sandbox import SandboxBackend, SandboxUnavailable
from langgraph_filesystem.state.backends.file_store import MountContext
from langgraph_filesystem.state.backends.journal import split_key
from langgraph_filesystem.state.errors import BackendFailed, FilesystemError
from langgraph_filesystem.state.paths import ancestors

__all__ = ("CommandRun", "Node", "Signature", "UpperDirectory", "data_directory", "overlay_support")

Signature = tuple[int, ...]
"""Changes when an entry is touched."""

_OPAQUE = "user.overlay.opaque"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")
_RECENT = 3_600
"""Seconds after which a later command of the same thread may remove the record of a command."""
_LONGEST = 30 * 24 * 3_600
"""Seconds after which any command may remove all that another one left."""
_FIX = (
    "Commands need Linux 5.11 or newer, bubblewrap 0.11 or newer, and a data directory on a file "
    "system that can hold the upper layer of an overlay, such as ext4, xfs or btrfs: the disk of a "
    "container can't. Set XDG_DATA_HOME to a directory on a volume."
)


def data_directory() -> str:
    """Return the directory for data of this user."""
    usual = "~/Library/Application Support" if sys.platform == "darwin" else "~/.local/share"
    home = os.environ.get("XDG_DATA_HOME") or os.path.expanduser(usual)
    return os.path.join(os.path.abspath(home), "langgraph-filesystem")


class Node(NamedTuple):
    """An entry of a layer."""

    kind: Literal["file", "directory", "link", "whiteout", "special"]
    status: os.stat_result
    opaque: bool = False
    """Whether a directory hides the lower directory at its path."""
    target: str = ""

    @property
    def mode(self) -> int:
        """The permissions."""
        return stat.S_IMODE(self.status.st_mode)

    @property
    def signature(self) -> Signature:
        """Changes when the entry is touched.

        For a directory only inode, mode and opaque flag count, not its content.
        """
        one = self.status
        if self.kind == "directory":
            return (one.st_ino, one.st_mode, self.opaque)
        return (one.st_ino, one.st_mode, one.st_size, one.st_mtime_ns, one.st_ctime_ns)


class UpperDirectory:
    """The upper directory of one command, over a directory that is only read."""

    def __init__(self, path: str, lower: Jail) -> None:
        self._top = path
        self._lower = lower
        self._modes: dict[str, int] = {}
        """Modes to set when the work on directories and files is done."""

    def put_file(self, path: str, content: bytes, mode: int, modified: float | None) -> None:
        """Write a file."""
        self._make_parents(path)
        self.remove(path)
        with open(os.open(self._top + path, _WRITE, 0o600), "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), mode)
        if modified is not None:
            os.utime(self._top + path, (modified, modified))

    def put_link(self, path: str, target: str) -> None:
        """Make a symbolic link."""
        self._make_parents(path)
        self.remove(path)
        os.symlink(target, self._top + path)

    def put_directory(self, path: str, mode: int) -> None:
        """Make a directory that hides the lower directory at its path."""
        self._make_parents(path)
        self._make_directory(path, mode)
        if self._lower_status(path) is not None:
            os.setxattr(self._top + path, _OPAQUE, b"y", follow_symlinks=False)

    def hide(self, path: str) -> None:
        """Hide the lower entry at a path."""
        self.remove(path)
        # In an opaque directory nothing needs hiding, and the whiteout itself would be listed.
        is_shown = not any(self._is_opaque(above) for above in ancestors(path))
        if is_shown and self._lower_status(path) is not None:
            self._make_parents(path)
            os.mknod(self._top + path, stat.S_IFCHR, 0)

    def remove(self, path: str) -> None:
        """Remove what the layer has at a path."""
        try:
            os.unlink(self._top + path)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            if error.errno not in (errno.EISDIR, errno.EPERM):
                raise
            _remove(self._top + path)

    def lower_root(self) -> str:
        """Return the path of the lower directory on the host."""
        return os.readlink(f"/proc/self/fd/{self._lower.root}")

    def lower_mode(self, path: str) -> int | None:
        """Return the mode of the lower file or directory."""
        status = self._lower_status(path)
        return None if status is None else stat.S_IMODE(status.st_mode)

    def lower_file_mode(self, path: str, default: int) -> int:
        """Return the mode of the lower file, or a default if there is no file."""
        status = self._lower_status(path)
        is_file = status is not None and stat.S_ISREG(status.st_mode)
        return stat.S_IMODE(status.st_mode) if status is not None and is_file else default

    def has_lower_directory(self, path: str) -> bool:
        """Say whether the lower directory has a directory at a path."""
        status = self._lower_status(path)
        return status is not None and stat.S_ISDIR(status.st_mode)

    def nodes(self, pruned: Collection[str] = ()) -> dict[str, Node]:
        """Return every entry, parents first, without the content of pruned directories."""
        found: dict[str, Node] = {}
        pending = [""]
        while pending:
            above = pending.pop()
            for name in sorted(os.listdir(self._top + above)):
                path = f"{above}/{name}"
                found[path] = node = self._node(path)
                if node.kind == "directory" and path not in pruned:
                    self._unlock(path, node.status, 0o700)
                    pending.append(path)
        return dict(sorted(found.items(), key=lambda item: item[0].split("/")))

    def read(self, path: str, node: Node) -> bytes:
        """Return the content of a file."""
        self._unlock(path, node.status, 0o400)
        with open(os.open(self._top + path, _READ), "rb") as file:
            return file.read()

    def strip(self, kept: Collection[str]) -> None:
        """Remove everything except some entries and their parent directories."""
        above = {one for path in kept for one in ancestors(path)}
        for path, node in self.nodes(kept).items():
            if path in above and node.kind == "directory":
                with contextlib.suppress(OSError):  # it was not opaque
                    os.removexattr(self._top + path, _OPAQUE)
            elif path not in kept:
                self.remove(path)

    def finish(self) -> None:
        """Set the final modes of directories and files."""
        for path, mode in sorted(self._modes.items(), reverse=True):
            with contextlib.suppress(FileNotFoundError):
                os.chmod(self._top + path, mode)
        self._modes.clear()

    def _node(self, path: str) -> Node:
        status = os.lstat(self._top + path)
        mode = status.st_mode
        if stat.S_ISDIR(mode):
            return Node("directory", status, self._is_opaque(path))
        if stat.S_ISLNK(mode):
            return Node("link", status, target=os.readlink(self._top + path))
        if stat.S_ISCHR(mode) and status.st_rdev == 0:
            return Node("whiteout", status)
        return Node("file" if stat.S_ISREG(mode) else "special", status)

    def _is_opaque(self, path: str) -> bool:
        try:
            return os.getxattr(self._top + path, _OPAQUE, follow_symlinks=False) == b"y"
        except OSError:
            return False

    def _lower_status(self, path: str) -> os.stat_result | None:
        try:
            return self._lower.lstat(path)
        except FilesystemError:
            return None

    def _make_parents(self, path: str) -> None:
        for above in reversed([*ancestors(path)]):
            if not _is_directory(self._top + above):
                mode = self.lower_mode(above) if self.has_lower_directory(above) else None
                self._make_directory(above, 0o755 if mode is None else mode)

    def _make_directory(self, path: str, mode: int) -> None:
        if not _is_directory(self._top + path):
            self.remove(path)
            os.mkdir(self._top + path)
        # Entries may have to be written into it first.
        os.chmod(self._top + path, mode | 0o700)
        self._modes[path] = mode

    def _unlock(self, path: str, status: os.stat_result, bits: int) -> None:
        """Make an entry accessible that a command has locked; `finish` locks it again."""
        if status.st_mode & bits != bits:
            self._modes.setdefault(path, stat.S_IMODE(status.st_mode))
            os.chmod(self._top + path, stat.S_IMODE(status.st_mode) | bits)


class CommandRun:
    """One command of a thread: its layer, and the record of how it ended.

    The directory is locked for as long as the command runs.
    """

    def __init__(self, key: str | None, version: str) -> None:
        scope, name = split_key(key or f"unsaved.{uuid.uuid4().hex}")
        self.token = f"{_checked(scope)}.{_checked(f'{name}.{version}')}"
        """Names the run in the state of the thread."""
        self.upper: str
        self.work: str
        self.result: dict[str, Any] | None = None
        """The result of the call, if it was made before."""
        self.is_begun = False
        """Whether the command was started before, and nobody knows how it ended."""
        self._is_recorded = key is not None
        self._claimed: str | None = None
        self._place = _place(self.token)
        self.upper, self.work = f"{self._place}/upper", f"{self._place}/work"
        self._lock = -1

    def begin(self) -> None:
        """Record that the command is about to run, unless it was started before."""
        os.makedirs(os.path.dirname(self._place), mode=0o700, exist_ok=True)
        try:
            os.mkdir(self._place, 0o700)
        except FileExistsError:
            self.result = _read_json(f"{self._place}/result.json")
            self.is_begun = self.result is None
            return
        self._lock = os.open(self._place, _DIRECTORY)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _tidy(os.path.dirname(self._place), os.path.basename(self._place))
        os.mkdir(self.work)

    def claim(self, token: str | None) -> dict[str, str]:
        """Take over the scratch files of an earlier command; return their paths and versions.

        The first branch of a thread that asks gets them; others start without.
        """
        found: dict[str, str] | None = None
        if token is not None and _NAME.fullmatch(token) and "." in token:
            place = _place(token)
            with contextlib.suppress(OSError):
                os.rename(f"{place}/upper", self.upper)
                self._claimed = token
                found = _read_json(f"{place}/scratch.json")
        if found is None:
            os.makedirs(self.upper, exist_ok=True)
        return found or {}

    def end(self, result: Mapping[str, Any], scratch: Mapping[str, str]) -> None:
        """Record how the command ended, and its scratch files for the next one."""
        if scratch:
            _write_json(f"{self._place}/scratch.json", scratch)
        else:
            _remove(self.upper)
        _remove(self.work)
        _remove(f"{self._place}/paths")
        if self._is_recorded:
            _write_json(f"{self._place}/result.json", result)
        elif not scratch:
            _remove(self._place)
        self._unlock()

    def abandon(self, upper: UpperDirectory, scratch: Collection[str]) -> None:
        """Give back the claimed scratch files, after the command has failed or was cancelled."""
        with contextlib.suppress(OSError):
            if self._claimed is not None and scratch:
                upper.strip(scratch)
                upper.finish()
                os.rename(self.upper, f"{_place(self._claimed)}/upper")
            _remove(self.upper)
            _remove(self.work)
            if not self._is_recorded:
                _remove(self._place)
        self._unlock()

    def write_list(self, paths: Collection[str]) -> str:
        """Write paths to a file for a command to read, and return where it is."""
        path = f"{self._place}/paths"
        with open(path, "wb") as file:
            file.write(b"".join(os.fsencode(one) + b"\0" for one in paths))
        return path

    def _unlock(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def overlay_support() -> str | None:
    """Return why commands can't run over an overlay on this machine; `None` if they can.

    It mounts a real overlay to find out, once per process.
    """
    return _overlay_support(data_directory())


@functools.cache
def _overlay_support(data: str) -> str | None:
    try:
        os.makedirs(data, mode=0o700, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=data) as place:
            return _tried(place)
    except SandboxUnavailable as error:
        return str(error)
    except OSError as error:
        return f"{data!r} can't be used: {error.strerror}. {_FIX}"


def _tried(place: str) -> str | None:
    """Delete a file and replace a directory in an overlay, then check the layer."""
    lower = f"{place}/lower"
    for path in (f"{lower}/directory", f"{place}/upper", f"{place}/work"):
        os.makedirs(path)
    for path in ("kept", "deleted", "directory/file"):
        open(f"{lower}/{path}", "wb").close()
    upper = UpperDirectory(f"{place}/upper", Jail(lower))
    upper.hide("/kept")
    store = SandboxBackend(lower).open(MountContext()).over(f"{place}/upper", f"{place}/work")
    command = "test ! -e kept && rm -r deleted directory && mkdir directory"
    try:
        response = run_blocking(lambda: store.execute(command, timeout=30))
    except BackendFailed as error:
        return f"{error} {_FIX}"
    finally:
        _remove(f"{place}/work")
    found = {path: (node.kind, node.opaque) for path, node in upper.nodes().items()}
    gone = ("whiteout", False)
    if found == {"/deleted": gone, "/directory": ("directory", True), "/kept": gone}:
        return None
    return f"The kernel's overlay doesn't work here: {response.output.strip()}. {_FIX}"


def _place(token: str) -> str:
    scope, name = split_key(token)
    return os.path.join(data_directory(), "layers", scope, name)


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} can't be a part of the key of a call.")
    return name


def _tidy(scope: str, own: str) -> None:
    """Remove old records of the thread, and everything of any thread that is very old."""
    layers, now = os.path.dirname(scope), time.time()
    for other in _directories(layers):
        for name in _directories(f"{layers}/{other}"):
            place = f"{layers}/{other}/{name}"
            age = now - os.stat(place).st_mtime
            is_ours = f"{layers}/{other}" == scope
            is_answered = is_ours and name.split(".")[0] != own.split(".")[0]
            if (age > _RECENT and is_answered) or age > _LONGEST:
                with contextlib.suppress(OSError), closing_handle(_locked(place)):
                    if age <= _LONGEST and os.path.exists(f"{place}/upper"):
                        _remove(f"{place}/result.json")
                    else:
                        _remove(place)


def _directories(path: str) -> Iterator[str]:
    with contextlib.suppress(OSError):
        yield from os.listdir(path)


def _locked(place: str) -> int:
    handle = os.open(place, _DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise
    return handle


def _remove(path: str) -> None:
    """Remove a file or a tree, whatever its modes, if it exists."""
    if not _is_directory(path):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        return
    os.chmod(path, 0o700)
    for above, names, _ in os.walk(path):
        for name in names:
            if _is_directory(f"{above}/{name}"):
                os.chmod(f"{above}/{name}", 0o700)
    shutil.rmtree(path)


def _is_directory(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _read_json(path: str) -> Any:
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def _write_json(path: str, value: Any) -> None:
    """Write a file whole or not at all."""
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        json.dump(value, file)
    os.replace(f"{path}.new", path)
