"""Move files and directories on disk, within one root or from one to another.

A move is a rename where that is possible. To another device the tree is copied under a hidden name
beside its destination, in pieces, and renamed when it is complete. Then each file of the source is
deleted if it has not changed since it was copied; changed and new files stay.

A move that is interrupted leaves every file at one end or at both. The same move made again goes
on: it compares what is left at the source with the copies.
"""

import contextlib
import errno
import os
import stat
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from langgraph_filesystem.state.backends.disk.delete import (
    IsSame,
    delete_unchanged,
    entry_digest,
    remove_tree,
)
from langgraph_filesystem.state.backends.disk.errors import explaining
from langgraph_filesystem.state.backends.disk.jail import Jail, closing_handle
from langgraph_filesystem.state.backends.disk.journal import DiskJournal
from langgraph_filesystem.state.backends.disk.replace import (
    copy_attributes,
    locked,
    rename_new,
    temporary_name,
    write_at,
)
from langgraph_filesystem.state.backends.disk.tree import (
    Descent,
    Entry,
    Level,
    Place,
    files_below,
    find_place,
    is_movable_link,
    levels,
    open_linked,
    refuse_special,
)
from langgraph_filesystem.state.backends.disk.write import (
    check_not_root,
    locked_unless_full,
    new_parents,
)
from langgraph_filesystem.state.backends.protocol import MoveResult
from langgraph_filesystem.state.errors import (
    BackendFailed,
    FileExists,
    FileNotFound,
    FilesystemError,
    IsDirectory,
)
from langgraph_filesystem.state.paths import is_within
from langgraph_filesystem.state.text import Note, PathPart, Rename, escaped, join_notes

__all__ = ("Move",)

_PIECE = 1 << 20
_TICK = 20_000_000
"""Nanoseconds in which a file can change twice and keep its time: clocks of file systems tick."""
_MAX_COUNTED = 10_000
"""Files that are counted for the answer: some 20 ms."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_EFFECTIVE_IDS = os.access in os.supports_effective_ids


@dataclass
class Move:
    """One move of a file or a directory to a path where nothing is."""

    source: Jail
    start: str
    target: Jail
    end: str
    journal: DiskJournal
    """Of the target."""
    once: str | None = None
    flush: bool = False
    name_source: Rename = str
    """Names a path of the source for the reader: messages show it as plain text."""
    stopped: threading.Event = field(default_factory=threading.Event)
    """Set by a caller who does not want the copy any more. Then nothing is moved."""

    def run(self) -> MoveResult:
        """Move it, or go on with a move that was interrupted."""
        self._check_paths()
        has_moved = self.journal.has_moved(self.once, self.end)
        if self.once is not None and has_moved and self.journal.recall(self.once):
            return self._result(None)  # it has ended: what is at the source now is new
        try:
            with self.of_source(self.start):
                place = find_place(self.source, self.start)
        except FileNotFound:
            if not has_moved:
                raise
            return self._result(None)
        with closing_handle(place.parent):
            return self._result(self._go_on(place) if has_moved else self._move(place))

    @contextlib.contextmanager
    def of_source(self, path: str) -> Iterator[None]:
        """Name the paths in errors as paths of the source."""
        try:
            with explaining(path):
                yield
        except FilesystemError as error:
            shown = error.renamed(str)
            shown.message = Note(*map(self.part, error.message.parts))
            raise shown from None

    def part(self, part: str) -> str:
        """Return a part of a message about the source, for a reader who knows the target's paths.

        Within one root, paths stay marked: the caller renames them like those of the target.
        """
        if not isinstance(part, PathPart) or self.source is self.target:
            return part
        return escaped(self.name_source(part))

    def _check_paths(self) -> None:
        with self.of_source(self.start):
            check_not_root(self.source, self.start)
        check_not_root(self.target, self.end)
        if self.source is self.target and is_within(self.end, self.start):
            raise self._into_itself()

    def _move(self, place: Place) -> Note | None:
        self._check_deletable(place)
        with new_parents(self.target, self.end):
            parent, name = self.target.open_entry(self.end)
            with closing_handle(parent), explaining(self.end):
                if self._rename(place, parent, name):
                    return None
                copy = self._copy(place, parent, name)
        if copy is None:
            return self._go_on(place)
        return join_notes(" ", [copy.note(), self._delete(place, copy.is_same)])

    def _go_on(self, place: Place) -> Note | None:
        """Delete what is left of a source that has been copied."""
        return self._delete(place, self._comparison())

    def _rename(self, place: Place, parent: int, name: str) -> bool:
        """Rename it, or return that it can't be renamed."""
        if stat.S_ISLNK(place.status.st_mode) and self.source is not self.target:
            return False  # a link would lead elsewhere from there
        with contextlib.ExitStack() as stack:
            if not place.is_directory:  # a writer could bring a file back
                stack.enter_context(locked_unless_full(place.parent, place.name))
            self.journal.begin_move(self.once, self.end, place.status)
            try:
                rename_new(place.parent, place.name, parent, name)
            except FileExistsError:
                raise self._taken(parent, name) from None
            except OSError as error:
                if error.errno == errno.EXDEV:
                    return False
                if error.errno == errno.EINVAL:
                    raise self._into_itself() from None
                raise
        return True

    def _copy(self, place: Place, parent: int, name: str) -> "_Copy | None":
        """Copy it to the destination; return `None` if an earlier move has done so."""
        draft = f"{temporary_name(name)}-tree"
        with locked(parent, name):
            _clear(parent, draft)
            if _exists(parent, name):
                if self.source is not self.target and self._is_copied(place):
                    return None
                raise self._taken(parent, name)
            copy = _Copy(self, place)
            try:
                copy.run(parent, draft)
                status = os.stat(draft, dir_fd=parent, follow_symlinks=False)
                self.journal.begin_move(self.once, self.end, status)
                rename_new(parent, draft, parent, name)
            except FileExistsError:
                raise self._taken(parent, name) from None
            finally:
                with contextlib.suppress(OSError):  # the next move to this path removes it
                    _clear(parent, draft)
        return copy

    def _is_copied(self, place: Place) -> bool:
        """Say whether all that is left at the source is at the destination as well."""
        is_same = self._comparison()
        same = [
            is_same(path, entry.status, parent, entry.name)
            for path, entry, parent in files_below(self.source, place)
        ]
        return bool(same) and all(same)

    def _comparison(self) -> IsSame:
        """Return what compares the files of the source with those at the destination."""
        copy = find_place(self.target, self.end)
        with closing_handle(copy.parent), explaining(self.end):
            copied = {
                path: _fingerprint(self.target, self.end, path, entry.status, parent, entry.name)
                for path, entry, parent in files_below(self.target, copy)
            }

        def is_same(path: str, status: os.stat_result, parent: int, name: str) -> bool:
            known = copied.get(path)
            found = _fingerprint(self.source, self.start, path, status, parent, name)
            return known is not None and known == found

        return is_same

    def _delete(self, place: Place, is_same: IsSame) -> Note | None:
        try:
            stay = delete_unchanged(self.source, place, is_same)
        except FilesystemError as error:
            raise BackendFailed(
                *("Copied to ", PathPart(self.end), ", but the source could not be deleted: "),
                *map(self.part, error.message.parts),
            ) from None
        if not stay:
            return None
        shown = join_notes(", ", [self.part(PathPart(path)) for path in stay[:3]])
        more = f" and {len(stay) - 3:,} more" if len(stay) > 3 else ""
        return Note(
            "Changed or added during the move, and therefore still at the source: ",
            *(shown or "", f"{more}. Compare with the copy, then delete one of them."),
        )

    def _result(self, note: Note | None) -> MoveResult:
        self.journal.end_move(self.once, self.end)
        files, leading_out = self._count()
        if leading_out and self.source is not self.target:
            links = f"{leading_out:,} symbolic links in it" if leading_out > 1 else "A link in it"
            note = join_notes(" ", [note, f"{links} may lead elsewhere now, or to nothing."])
        if files is None:
            note = join_notes(" ", [note, f"It has more than {_MAX_COUNTED:,} files."])
        return MoveResult(path=self.end, files=files, note=note)

    def _count(self) -> tuple[int | None, int]:
        """Return how many files were moved, if not too many, and links that lead out of them."""
        count = leading_out = 0
        with contextlib.suppress(FilesystemError, OSError):  # it is moved: the answer does without
            place = find_place(self.target, self.end)
            with closing_handle(place.parent):
                for path, entry, parent in files_below(self.target, place):
                    count += 1
                    if count > _MAX_COUNTED:
                        return None, leading_out
                    if entry.is_link and path:
                        target = os.readlink(entry.name, dir_fd=parent)
                        leading_out += not is_movable_link(path.rpartition("/")[0], target)
        return count, leading_out

    def _check_deletable(self, place: Place) -> None:
        """Raise if the source can't be deleted in the end: don't copy gigabytes before."""
        rights = os.W_OK | os.X_OK
        if not os.access(".", rights, dir_fd=place.parent, effective_ids=_EFFECTIVE_IDS):
            with self.of_source(place.path):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    def _taken(self, parent: int, name: str) -> FilesystemError:
        with contextlib.suppress(OSError):
            if stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
                return IsDirectory(self.end)
        return FileExists(self.end, "Delete it first, or choose another destination.")

    def _into_itself(self) -> FilesystemError:
        return FilesystemError(
            self.part(PathPart(self.start)),
            *(": can't be moved to ", PathPart(self.end), ", which is itself or inside of it."),
        )


class _Copy:
    """Copies a tree, and remembers the identity of each file before it was copied."""

    def __init__(self, move: Move, place: Place) -> None:
        self._move = move
        self._place = place
        self._followed = 0
        self._identities: dict[str, tuple[tuple[int, ...], int | None]] = {}
        """By relative path. The time of a hard link's last change changes with the others'."""

    def is_same(self, path: str, status: os.stat_result, parent: int, name: str) -> bool:
        """Say whether an entry is the one that was copied, and has not changed since."""
        identity, changed = self._identities.get(path, ((), None))
        now = os.stat(name, dir_fd=parent, follow_symlinks=False)  # it has been renamed since
        is_known = identity == _identity(status) == _identity(now)
        return is_known and changed in (None, status.st_ctime_ns)

    def note(self) -> Note | None:
        """Say what is not at the destination as it was."""
        if not self._followed:
            return None
        what = "1 symbolic link is" if self._followed == 1 else f"{self._followed:,} links are"
        return Note(f"{what} replaced by a copy of the target.")

    def run(self, parent: int, name: str) -> None:
        """Copy everything to a name where nothing is."""
        place = self._place
        self._copy_entry(None, Entry(place.name, place.status), parent, name)
        if not place.is_directory:
            return
        directories: list[tuple[str, os.stat_result]] = []
        with contextlib.closing(Descent(parent, name)) as copy:
            for level in self._levels():
                here = copy.go(level.path)
                for entry in level.entries:
                    self._copy_entry(level, entry, here, entry.name)
                    if entry.is_directory:
                        directories.append((level.below(entry.name), entry.status))
            # Modes and times come when everything is inside, the innermost first.
            with contextlib.closing(Descent(place.parent, place.name)) as source:
                for path, status in reversed(directories):
                    above, _, last = path.rpartition("/")
                    opened = os.open(last, _DIRECTORY, dir_fd=copy.go(above))
                    with closing_handle(opened) as target:
                        _finish(source.go(path), target, status)
                _finish(source.go(""), copy.go(""), place.status)

    def _levels(self) -> Iterator[Level]:
        """Yield the levels of the source, whose errors are not those of the destination."""
        with contextlib.closing(levels(self._move.source, self._place)) as walked:
            while True:
                with self._move.of_source(self._place.path):
                    level = next(walked, None)
                if level is None:
                    return
                yield level

    def _copy_entry(self, level: Level | None, entry: Entry, here: int, name: str) -> None:
        path = level.below(entry.name) if level else ""
        parent = level.handle if level else self._place.parent
        if entry.is_directory:
            os.mkdir(name, stat.S_IMODE(entry.status.st_mode) & 0o777 | 0o700, dir_fd=here)
            return
        link = self._kept_link(level, entry)
        if link is not None:
            os.symlink(link, name, dir_fd=here)
            status = entry.status
        else:
            with closing_handle(self._open(entry, parent, path)) as source:
                status = self._copy_file(source, path, here, name)
            status = entry.status if entry.is_link else status
        changed = status.st_ctime_ns if status.st_nlink == 1 else None
        self._identities[path] = _identity(status), changed

    def _kept_link(self, level: Level | None, entry: Entry) -> str | None:
        """Return the target of a link that is the same in the copy, as it stays in the tree."""
        if level is None or not entry.is_link:
            return None
        with self._move.of_source(self._full(level.below(entry.name))):
            target = os.readlink(entry.name, dir_fd=level.handle)
        return target if is_movable_link(level.path, target) else None

    def _open(self, entry: Entry, parent: int, path: str) -> int:
        """Open a file of the source, or the one that a link leads to."""
        with self._move.of_source(self._full(path)):
            if entry.is_link:
                self._followed += 1
                return open_linked(self._move.source, self._full(path))[0]
            if not stat.S_ISREG(entry.status.st_mode):
                raise refuse_special(self._full(path))
            return os.open(entry.name, _READ, dir_fd=parent)

    def _copy_file(self, source: int, path: str, here: int, name: str) -> os.stat_result:
        status = _settled_status(source)
        with closing_handle(os.open(name, _CREATE, 0o600, dir_fd=here)) as target:
            for at, piece in self._pieces(source, status.st_size, path):
                write_at(target, at, piece)
            os.ftruncate(target, status.st_size)
            _finish(source, target, status)
            if self._move.flush:
                os.fsync(target)
        now = os.fstat(source)
        if (_identity(now), now.st_ctime_ns) != (_identity(status), status.st_ctime_ns):
            shown = self._move.part(PathPart(self._full(path)))
            raise BackendFailed(shown, ": changed while it was copied. Nothing was moved; retry.")
        return status

    def _pieces(self, source: int, size: int, path: str) -> Iterator[tuple[int, bytes]]:
        """Yield what a file holds: where, and what; not the zeros of holes."""
        for at, end in _data_ranges(source, size):
            while at < end:
                if self._move.stopped.is_set():
                    raise OSError(errno.ECANCELED, os.strerror(errno.ECANCELED))
                with self._move.of_source(self._full(path)):
                    piece = os.pread(source, min(_PIECE, end - at), at)
                if not piece:
                    return
                yield at, piece
                at += len(piece)

    def _full(self, path: str) -> str:
        return f"{self._place.path}/{path}" if path else self._place.path


def _fingerprint(
    jail: Jail, top: str, path: str, status: os.stat_result, parent: int, name: str
) -> str | None:
    """Return what is the same for a file and its copy, or for a link that was kept."""
    if stat.S_ISLNK(status.st_mode):
        target = os.readlink(name, dir_fd=parent)
        if path and is_movable_link(path.rpartition("/")[0], target):
            return f"-> {target}"
    with contextlib.suppress(FilesystemError, OSError):
        return entry_digest(jail, f"{top}/{path}" if path else top, status, parent, name)
    return None


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return status.st_ino, status.st_size, status.st_mtime_ns


def _settled_status(handle: int) -> os.stat_result:
    """Return the status of a file; of one that has just changed, after the next tick of a clock.

    Otherwise the next change might not be seen in its times.
    """
    status = os.fstat(handle)
    if abs(time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns)) < _TICK:
        time.sleep(_TICK / 1_000_000_000)
        status = os.fstat(handle)
    return status


def _finish(source: int, target: int, status: os.stat_result) -> None:
    """Give a copy the attributes, the times and the mode of the original."""
    copy_attributes(source, target, all_or_error=False)
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
    inherited = stat.S_IMODE(os.fstat(target).st_mode) & 0o7000
    with contextlib.suppress(PermissionError):  # not every file system has modes
        os.fchmod(target, stat.S_IMODE(status.st_mode) & 0o777 | inherited)


def _data_ranges(handle: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a file that are not holes."""
    at = 0
    while at < size:
        try:
            start = os.lseek(handle, at, os.SEEK_DATA)
            end = os.lseek(handle, start, os.SEEK_HOLE)
        except OSError as error:
            if error.errno == errno.ENXIO:  # the rest is a hole
                return
            start, end = at, size  # the file system does not know
        yield start, min(end, size)
        at = end


def _exists(parent: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _clear(parent: int, draft: str) -> None:
    """Remove the copy of a move that did not finish."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISDIR(os.stat(draft, dir_fd=parent, follow_symlinks=False).st_mode):
            remove_tree(parent, draft, force=True)
        else:
            os.unlink(draft, dir_fd=parent)
