"""Move files and directories on disk, within one root or from one to another.

A move is a rename where that is possible. To another device the tree is copied under a hidden name
beside its destination, in pieces, and renamed when it is complete. Then each file of the source is
compared with its copy and deleted; changed and new files stay.

A move that is interrupted leaves every file at one end or at both. The same move made again goes
on: it compares what is left at the source with the copies.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from langgraph_filesystem.state.backends.disk.delete import (
    delete_copied,
    digests_below,
    remove_tree,
)
from langgraph_filesystem.state.backends.disk.errors import explaining
from langgraph_filesystem.state.backends.disk.jail import Jail, closing_handle
from langgraph_filesystem.state.backends.disk.journal import DiskJournal
from langgraph_filesystem.state.backends.disk.replace import (
    copy_attributes,
    locked,
    remove_if_abandoned,
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
_MAX_COUNTED = 10_000
"""Files that are counted for the answer: some 20 ms."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
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
            if not has_moved:
                return self._result(self._move(place))
            self._remove_lock()
            return self._result(self._delete(place))

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
                self._copy(place, parent, name)
        link = (
            "The symbolic link is replaced by a copy of its target."
            if place.entry.is_link
            else None
        )
        return join_notes(" ", [link, self._delete(place)])

    def _rename(self, place: Place, parent: int, name: str) -> bool:
        """Rename it, or return that it can't be renamed."""
        if place.entry.is_link and self.source is not self.target:
            return False  # a link would lead elsewhere from there
        with contextlib.ExitStack() as stack:
            if not place.entry.is_directory:  # a writer could bring a file back
                stack.enter_context(locked_unless_full(place.parent, place.entry.name))
            self.journal.begin_move(self.once, self.end, place.entry.status)
            try:
                rename_new(place.parent, place.entry.name, parent, name)
            except FileExistsError:
                raise self._taken(parent, name) from None
            except OSError as error:
                if error.errno == errno.EXDEV:
                    return False
                if error.errno == errno.EINVAL:
                    raise self._into_itself() from None
                raise
        return True

    def _copy(self, place: Place, parent: int, name: str) -> None:
        """Copy it to the destination, unless an earlier move has done so."""
        draft = f"{temporary_name(name)}-tree"
        with locked(parent, name):
            _clear(parent, draft)
            if _exists(parent, name):
                if self.source is not self.target and self._is_copied(place):
                    return
                raise self._taken(parent, name)
            try:
                _Copy(self, place).run(parent, draft)
                status = os.stat(draft, dir_fd=parent, follow_symlinks=False)
                self.journal.begin_move(self.once, self.end, status)
                rename_new(parent, draft, parent, name)
            except FileExistsError:
                raise self._taken(parent, name) from None
            finally:
                with contextlib.suppress(OSError):  # the next move to this path removes it
                    _clear(parent, draft)

    def _remove_lock(self) -> None:
        """Remove the lock of the destination, if a move was killed before it released it."""
        copy = find_place(self.target, self.end)
        with closing_handle(copy.parent):
            remove_if_abandoned(copy.parent, temporary_name(copy.entry.name))

    def _is_copied(self, place: Place) -> bool:
        """Say whether all that is left at the source is at the destination as well."""
        found = digests_below(self.source, place, follow=place.entry.is_link)
        return bool(found) and found.items() <= self._copied().items()

    def _copied(self) -> dict[str, str | None]:
        """Return the digests of what is at the destination."""
        copy = find_place(self.target, self.end)
        with closing_handle(copy.parent), explaining(self.end):
            return digests_below(self.target, copy)

    def _delete(self, place: Place) -> Note | None:
        """Delete what is left of a source that has been copied, except what differs from it."""
        copied = self._copied()
        try:
            stay = delete_copied(self.source, place, copied, follow=place.entry.is_link)
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
            ": can't be moved to ",
            PathPart(self.end),
            ", which is the same path or inside it. Choose another destination.",
        )


class _Copy:
    """Copies a file or a tree. A link in a tree stays a link; one alone becomes its target."""

    def __init__(self, move: Move, place: Place) -> None:
        self._move = move
        self._place = place

    def run(self, parent: int, name: str) -> None:
        """Copy everything to a name where nothing is."""
        place = self._place
        if not place.entry.is_directory:
            opened = self._open(place.entry, place.parent, place.path)
            self._copy_file(opened, place.path, parent, name)
            return
        os.mkdir(name, 0o700, dir_fd=parent)
        directories: list[str] = []
        with contextlib.closing(Descent(parent, name)) as copy:
            for level in self._levels():
                directories.append(level.path)
                for entry in level.entries:
                    self._copy_entry(level, entry, copy.go(level.path))
            # Modes and times come when everything is inside, the innermost first.
            with contextlib.closing(Descent(place.parent, place.entry.name)) as source:
                for path in reversed(directories):
                    _finish(source.go(path), copy.go(path))

    def _levels(self) -> Iterator[Level]:
        """Yield the levels of the source, whose errors are not those of the destination."""
        with contextlib.closing(levels(self._move.source, self._place)) as walked:
            while True:
                with self._move.of_source(self._place.path):
                    level = next(walked, None)
                if level is None:
                    return
                yield level

    def _copy_entry(self, level: Level, entry: Entry, here: int) -> None:
        path = f"{self._place.path}/{level.below(entry.name)}"
        if entry.is_directory:
            os.mkdir(entry.name, 0o700, dir_fd=here)
        elif entry.is_link:
            with self._move.of_source(path):
                target = os.readlink(entry.name, dir_fd=level.handle)
            os.symlink(target, entry.name, dir_fd=here)
        else:
            self._copy_file(self._open(entry, level.handle, path), path, here, entry.name)

    def _open(self, entry: Entry, parent: int, path: str) -> int:
        """Open a file of the source, or the one that a link leads to."""
        with self._move.of_source(path):
            if entry.is_link:
                return open_linked(self._move.source, path)[0]
            if not stat.S_ISREG(entry.status.st_mode):
                raise refuse_special(path)
            return os.open(entry.name, _READ, dir_fd=parent)

    def _copy_file(self, handle: int, path: str, here: int, name: str) -> None:
        with (
            closing_handle(handle) as source,
            closing_handle(os.open(name, _CREATE, 0o600, dir_fd=here)) as target,
        ):
            at = 0
            while piece := self._piece(source, at, path):
                write_at(target, at, piece)
                at += len(piece)
            _finish(source, target)
            if self._move.flush:
                os.fsync(target)

    def _piece(self, source: int, at: int, path: str) -> bytes:
        with self._move.of_source(path):
            return os.pread(source, _PIECE, at)


def _finish(source: int, target: int) -> None:
    """Give a copy the attributes, the times and the mode of the original."""
    status = os.fstat(source)
    copy_attributes(source, target, all_or_error=False)
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
    inherited = stat.S_IMODE(os.fstat(target).st_mode) & 0o7000
    with contextlib.suppress(PermissionError):  # not every file system has modes
        os.fchmod(target, stat.S_IMODE(status.st_mode) & 0o777 | inherited)


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
