"""Backends of other people, as small as they can be: dictionaries, shells, and broken ones."""

from collections.abc import Callable
from typing import Any, NoReturn

from langgraph_filesystem.state.backends.protocol import (
    DeleteResult,
    EditResult,
    ExecuteResponse,
    FileDownloadResponse,
    FileInfo,
    FileUploadResponse,
    GlobResult,
    GrepMatch,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from langgraph_filesystem.state.globs import compile_glob


class Shelf:
    """Files in a dictionary, with the methods of the protocol and none of its optional keywords."""

    def __init__(self, **files: str | bytes) -> None:
        self.files: dict[str, bytes] = {}
        for name, content in files.items():
            self.put("/" + name.replace("__", "/"), content)

    def put(self, path: str, content: str | bytes) -> None:
        self.files[path] = content.encode() if isinstance(content, str) else content

    def ls(self, path: str) -> LsResult:
        start = path.rstrip("/") + "/"
        names = {key[len(start) :] for key in self.files if key.startswith(start)}
        if not names and path != "/":
            return LsResult(error="file_not_found")
        directories = {name.partition("/")[0] for name in names if "/" in name}
        entries = [FileInfo(path=f"{start}{name}/", is_dir=True) for name in directories]
        entries += [FileInfo(path=start + name) for name in names if "/" not in name]
        return LsResult(entries=entries)

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        if file_path not in self.files:
            return ReadResult(error="file_not_found")
        lines = self.files[file_path].decode().splitlines(keepends=True)
        return ReadResult(file_data={"content": "".join(lines[offset : offset + limit])})

    def write(self, file_path: str, content: str) -> WriteResult:
        self.put(file_path, content)
        return WriteResult(path=file_path)

    def edit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> EditResult:
        if file_path not in self.files:
            return EditResult(error="file_not_found")
        text = self.files[file_path].decode()
        self.put(file_path, text.replace(old_string, new_string))
        return EditResult(path=file_path, occurrences=text.count(old_string))

    def delete(self, file_path: str) -> DeleteResult:
        gone = [key for key in self.files if key == file_path or key.startswith(f"{file_path}/")]
        for key in gone:
            del self.files[key]
        return DeleteResult(path=file_path, error=None if gone else "file_not_found")

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Find files as shells do: names that begin with a dot are not there."""
        matches, start = compile_glob(pattern), (path or "/").rstrip("/") + "/"
        below = [key for key in self.files if key.startswith(start) and "/." not in key]
        return GlobResult(matches=[FileInfo(path=k) for k in below if matches(k[len(start) :])])

    def grep(self, pattern: str, path: str | None = None, glob: str | None = None) -> GrepResult:
        start = (path or "/").rstrip("/") + "/"
        return GrepResult(
            matches=[
                GrepMatch(path=key, line=number, text=line)
                for key, content in self.files.items()
                if key.startswith(start) and (not glob or compile_glob(glob)(key[len(start) :]))
                for number, line in enumerate(content.decode().split("\n"), 1)
                if pattern in line
            ]
        )

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        self.files.update(files)
        return [FileUploadResponse(path) for path, _ in files]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        return [
            FileDownloadResponse(path, self.files[path])
            if path in self.files
            else FileDownloadResponse(path, error="file_not_found")
            for path in paths
        ]


class Shell(Shelf):
    """A shelf that runs commands: it prints what it was asked for and ends with a status."""

    id = "shell"

    def __init__(self, output: str = "", exit_code: int | None = 0, truncated: bool = False):
        super().__init__()
        self.asked: list[dict[str, Any]] = []
        self.response = ExecuteResponse(output, exit_code, truncated)

    def execute(
        self,
        command: str,
        *,
        timeout: int | None = None,
        on_output: Callable[[str], None] | None = None,
    ) -> ExecuteResponse:
        self.asked.append({"command": command, "timeout": timeout})
        for line in self.response.output.splitlines(keepends=True) if on_output else ():
            assert on_output is not None
            on_output(line)
        return self.response


class PlainShell(Shelf):
    """A shelf that runs commands and takes nothing but the command."""

    def execute(self, command: str) -> ExecuteResponse:
        return ExecuteResponse(f"ran {command}\n", 0)


class Broken:
    """A backend of which every method raises."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def ls(self, path: str) -> NoReturn:
        raise self.error

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("als", "instant", "error") or name[0] == "a":
            raise AttributeError(name)

        def fail(*args: Any, **options: Any) -> NoReturn:
            raise self.error

        return fail
