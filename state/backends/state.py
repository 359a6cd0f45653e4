"""`StateBackend`: files that live in the `files` channel, as long as the thread."""

import re
from collections.abc import Iterator, Mapping, Sequence

from langgraph_filesystem.state.backends.file_store import (
    Capabilities,
    FileStore,
    Inventory,
    Kind,
    MountContext,
    Query,
    Skip,
)
from langgraph_filesystem.state.backends.protocol import (
    DeleteResult,
    EditResult,
    FileInfo,
    GlobResult,
    GrepResult,
    LsResult,
    MoveResult,
    ReadResult,
    WriteResult,
)
from langgraph_filesystem.state.backends.public import PublicMethods
from langgraph_filesystem.state.backends.search import search
from langgraph_filesystem.state.backends.text_files import (
    encoded,
    file_of,
    not_text,
    page_of,
    size_of,
)
from langgraph_filesystem.state.edits import edited_size, plan_edit
from langgraph_filesystem.state.errors import (
    FileExists,
    FileNotFound,
    FilesystemError,
    FileTooLarge,
    IsDirectory,
    NotDirectory,
    Unsupported,
)
from langgraph_filesystem.state.files import (
    FileData,
    FileEdit,
    Files,
    ThreadFiles,
    current_time,
    digest_of,
    file_bytes,
)
from langgraph_filesystem.state.globs import compile_glob
from langgraph_filesystem.state.io import in_thread
from langgraph_filesystem.state.paths import ancestors, normalize_path

__all__ = ("StateBackend",)

_QUICKLY_SEARCHED = 500_000
"""Characters that are searched for a text on the event loop: in 30 ms if every line matches."""


class StateBackend(PublicMethods):
    """Files in the state of the thread. Mount it: the graph passes it the files when a node runs.

    Args:
        max_file_size_mb: Size up to which operations write a file. Each change of a file is in the
            checkpoints, so one call must not be able to fill them.
    """

    def __init__(self, max_file_size_mb: float = 10) -> None:
        if max_file_size_mb <= 0:
            raise ValueError(f"`max_file_size_mb` must be more than 0, not {max_file_size_mb!r}.")
        self._limit = int(max_file_size_mb * (1 << 20))

    def open(self, context: MountContext) -> "StateStore":
        """Return the store over the files of a running thread."""
        return StateStore(context.files, context.prefix, self._limit)


class StateStore(FileStore):
    """The files of one mount in one node run.

    Keys of the channel are full paths, so that two mounts never share a file. Nothing here is slow
    except a search by regex: everything else runs without a thread.
    """

    capabilities = Capabilities(in_state=True)

    def __init__(self, thread: ThreadFiles | None, prefix: str, limit: int) -> None:
        self._thread = thread
        self._prefix = prefix.rstrip("/")
        self._limit = limit

    async def kind(self, path: str) -> Kind | None:
        """Return what is at a path."""
        if self._key(path) in self._files:
            return "file"
        return "directory" if self._is_directory(path) else None

    async def ls(self, path: str) -> LsResult:
        """List what is directly below a directory."""
        if self._key(path) in self._files:
            raise NotDirectory(path)
        start = self._start(path)
        # One search in all keys at once is faster than asking each. No path has a NUL.
        names = set(re.findall(f"\0{re.escape(start)}([^\0/]+/?)", "\0" + "\0".join(self._files)))
        # Given with the input of a graph, a file may have others below it: it is listed as a file.
        names -= {f"{name}/" for name in names}
        if not names and path != "/":
            raise FileNotFound(path)
        return LsResult(entries=[self._entry(start + name) for name in names])

    async def read(
        self,
        file_path: str,
        offset: int = 0,
        limit: int = 2000,
        *,
        column: int = 0,
        max_characters: int | None = None,
    ) -> ReadResult:
        """Return lines of a text file, or a binary file whole as base64."""
        file = self._file(file_path)
        return page_of(file_path, file, offset, limit, column, max_characters)

    async def write(
        self, file_path: str, content: str, *, overwrite: bool = False, once: str | None = None
    ) -> WriteResult:
        """Create a file, or with `overwrite` replace one."""
        self._check_writable(file_path)
        key = self._key(file_path)
        if key in self._files and not overwrite:
            raise FileExists(file_path, "Change it with `edit_file`, or set `overwrite`.")
        encoded(file_path, content)
        self._change({key: self._dated(file_path, FileData(content=content, encoding="utf-8"))})
        return WriteResult(path=file_path)

    async def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
        *,
        once: str | None = None,
    ) -> EditResult:
        """Replace exact text; the channel stores the edit, not the file."""
        file = self._file(file_path)
        if file.get("encoding", "utf-8") == "base64":
            raise not_text(file_path, file_bytes(file))
        encoded(file_path, new_string)
        plan = plan_edit(file_path, file["content"], old_string, new_string, replace_all)
        # Checked before the text is built, which could be a gigabyte.
        self._check_size(file_path, edited_size(size_of(file), plan))
        self._change(
            {self._key(file_path): FileEdit(edits=[plan.edit], modified_at=current_time())}
        )
        return EditResult(path=file_path, occurrences=plan.count, first_line=plan.first_line)

    async def delete(self, file_path: str, *, once: str | None = None) -> DeleteResult:
        """Delete a file, or everything below a directory."""
        self._change(dict.fromkeys(self._keys_at(file_path)))
        return DeleteResult(path=file_path)

    async def move(self, source: str, destination: str, *, once: str | None = None) -> MoveResult:
        """Rename a file or a directory, to where nothing is."""
        keys = self._keys_at(source)
        self._check_writable(destination)
        if self._key(destination) in self._files:
            raise FileExists(destination, "Delete it first, or choose another destination.")
        update: dict[str, FileData | FileEdit | None] = dict.fromkeys(keys)
        skip = len(source.rstrip("/"))
        for key in keys:
            # Paths below a directory may be too long at the destination.
            moved = normalize_path(destination + self._path(key)[skip:])
            update[self._key(moved)] = self._files[key]
        self._change(update)
        return MoveResult(path=destination, files=len(keys))

    async def glob(
        self, pattern: str, path: str | None = None, *, skips: Skip | None = None
    ) -> GlobResult:
        """Find files below a directory by a pattern."""
        matches = compile_glob(pattern)
        self._check_directory(path or "/")
        start = self._start(path or "/")
        skip = len(start)
        keys = (key for key in self._files if key.startswith(start))
        return GlobResult(matches=[self._info(key) for key in keys if matches(key[skip:])])

    async def grep(
        self,
        query: Query,
        path: str | None = None,
        glob: str | None = None,
        *,
        skips: Skip | None = None,
    ) -> GrepResult:
        """Search the text files below a directory, or one file."""
        texts = [
            (path, text)
            for path, text in self._texts(path or "/", glob, query)
            if skips is None or not skips(path)
        ]
        is_quick = not query.regex and sum(len(text) for _, text in texts) < _QUICKLY_SEARCHED
        return search(texts, query) if is_quick else await in_thread(search, texts, query)

    async def digest(self, file_path: str) -> str | None:
        """Return a digest of the content of a file, or `None` if there is none."""
        file = self._files.get(self._key(file_path))
        return None if file is None else digest_of(file_bytes(file))

    async def inventory(self, path: str) -> Inventory:
        """Return every file at or below a path."""
        return Inventory(files=[self._info(key) for key in self._keys_at(path)])

    async def fetch(self, paths: Sequence[str]) -> list[bytes | FilesystemError]:
        """Return the bytes of each file, or the error."""
        return [self._fetched(path) for path in paths]

    async def put(
        self, files: Mapping[str, bytes], *, overwrite: bool = True, once: str | None = None
    ) -> dict[str, FilesystemError]:
        """Write whole files; return why some of them were not written."""
        taken = dict(self._files)
        # Collected once for many files: searching all paths for each of them takes far longer.
        directories = self._directories() if len(files) > 1 else None
        update: dict[str, FileData | FileEdit | None] = {}
        failed: dict[str, FilesystemError] = {}
        for path, content in files.items():
            key = self._key(path)
            try:
                self._check_writable(path, taken, directories)
                if key in taken and not overwrite:
                    raise FileExists(path)
                taken[key] = update[key] = self._dated(path, file_of(content))
            except FilesystemError as error:
                failed[path] = error
            else:
                if directories is not None:
                    directories.update(ancestors(key))
        self._change(update)
        return failed

    # Paths and keys

    @property
    def _files(self) -> Files:
        if self._thread is None:
            raise Unsupported(
                "`StateBackend` works only in a graph, where its files are in the state of the "
                "thread. Mount it in an agent, or use another backend here."
            )
        return self._thread.files

    def _change(self, update: Mapping[str, FileData | FileEdit | None]) -> None:
        if self._thread is not None:
            self._thread.change(update)

    def _key(self, path: str) -> str:
        return self._prefix + path

    def _path(self, key: str) -> str:
        return key[len(self._prefix) :]

    def _start(self, path: str) -> str:
        """Return the prefix of the keys of all files below a directory."""
        return self._key(path).rstrip("/") + "/"

    def _is_directory(self, path: str) -> bool:
        return path == "/" or "\0" + self._start(path) in "\0" + "\0".join(self._files)

    def _directories(self) -> set[str]:
        """Return the keys of all directories."""
        return {above for key in self._files for above in ancestors(key)}

    def _keys_at(self, path: str) -> list[str]:
        """Return the key of a file, or all keys below a directory."""
        key, start = self._key(path), self._start(path)
        if key in self._files:
            return [key]
        found = [key for key in self._files if key.startswith(start)]
        if not found and path != "/":
            raise FileNotFound(path)
        return found

    def _file(self, path: str) -> FileData:
        file = self._files.get(self._key(path))
        if file is not None:
            return file
        raise IsDirectory(path) if self._is_directory(path) else FileNotFound(path)

    def _fetched(self, path: str) -> bytes | FilesystemError:
        try:
            return file_bytes(self._file(path))
        except FilesystemError as error:
            return error

    def _entry(self, key: str) -> FileInfo:
        if key.endswith("/"):
            return FileInfo(path=self._path(key[:-1]), is_dir=True)
        return self._info(key)

    def _info(self, key: str) -> FileInfo:
        file = self._files[key]
        info = FileInfo(path=self._path(key), is_dir=False, size=size_of(file))
        if "modified_at" in file:
            info["modified_at"] = file["modified_at"]
        return info

    def _texts(self, path: str, glob: str | None, query: Query) -> Iterator[tuple[str, str]]:
        """Yield the texts that may have a match, in the order of their paths."""
        files, key = self._files, self._key(path)
        if key in files:
            keys, skip = [key], len(key.rpartition("/")[0]) + 1
        else:
            self._check_directory(path)
            start = self._start(path)
            keys, skip = [key for key in files if key.startswith(start)], len(start)
        matches = compile_glob(glob) if glob else None
        needle = "" if query.regex or query.ignore_case else query.pattern
        # Before they are sorted: most files don't have the text.
        for found in sorted(key for key in keys if needle in files[key]["content"]):
            file = files[found]
            if file.get("encoding", "utf-8") == "utf-8" and (not matches or matches(found[skip:])):
                yield self._path(found), file["content"]

    # Checks

    def _check_directory(self, path: str) -> None:
        if self._key(path) in self._files:
            raise NotDirectory(path)
        if not self._is_directory(path):
            raise FileNotFound(path)

    def _check_writable(
        self, path: str, files: Files | None = None, directories: set[str] | None = None
    ) -> None:
        """Raise if no file can be at a path: a directory is there, or a file is above it.

        A caller that writes many files passes `files` and the keys of their `directories`.
        """
        files, key = self._files if files is None else files, self._key(path)
        if key in files:
            return
        if self._is_directory(path) if directories is None else path == "/" or key in directories:
            raise IsDirectory(path)
        for above in ancestors(path):
            if self._key(above) in files:
                raise NotDirectory(path, above)

    def _check_size(self, path: str, size: int) -> None:
        if size > self._limit:
            raise FileTooLarge(path, size, self._limit)

    def _dated(self, path: str, file: FileData) -> FileData:
        """Return a file with its times, after a check of its size; `created_at` is kept."""
        self._check_size(path, size_of(file))
        now = current_time()
        old = self._files.get(self._key(path))
        return {
            **file,
            "created_at": old.get("created_at", now) if old else now,
            "modified_at": now,
        }
