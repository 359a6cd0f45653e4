"""Calls to a backend that is not ours: methods, keywords and errors.

Such a backend may lack methods, keywords and async twins, and it reports errors as text. Here the
text becomes one of our errors, whose paths can be renamed.
"""

import inspect
import os
import re
from collections.abc import Callable
from dataclasses import fields
from functools import lru_cache, partial
from typing import Any, TypeVar, cast

from langgraph.errors import GraphBubbleUp

from langgraph_filesystem.state.backends.public import CHANGING_METHODS
from langgraph_filesystem.state.errors import (
    BackendFailed,
    FileExists,
    FileNotFound,
    FilesystemError,
    IsDirectory,
    NotDirectory,
    OffsetPastEnd,
    PermissionDenied,
    TextNotFound,
    TextNotUnique,
    Unsupported,
)
from langgraph_filesystem.state.files import ThreadFiles, checked_update
from langgraph_filesystem.state.io import change_in_thread, in_own_thread, in_thread, is_sync
from langgraph_filesystem.state.paths import ancestors
from langgraph_filesystem.state.text import Note, PathPart

__all__ = ("ForeignCalls", "takes")

R = TypeVar("R")

_EDIT_ERRORS: tuple[tuple[re.Pattern[str], type[FilesystemError]], ...] = (
    (re.compile(r"string\b.*\bnot found|string_not_found|old_string ends", re.S), TextNotFound),
    (re.compile(r"string\b.* appears |multiple_occurrences", re.S), TextNotUnique),
)
"""These errors keep the message of the backend, which has more details than ours."""
_PATH_ERRORS: tuple[tuple[re.Pattern[str], Callable[[str], FilesystemError]], ...] = (
    (re.compile(r"not_a_directory"), NotDirectory),
    (re.compile(r"is a directory|is_directory"), IsDirectory),
    (re.compile(r"permission[ _]denied"), PermissionDenied),
    (re.compile(r"already exists|file[ _]exists"), FileExists),
    (
        re.compile(r"_not_found|(file|path|directory|')\W*(not found|does not exist)|no such file"),
        FileNotFound,
    ),
)
_OFFSET_ERROR = re.compile(r"offset (\d+) exceeds file length \((\d+)")
_RAISED: dict[type[Exception], Callable[[str], FilesystemError]] = {
    FileNotFoundError: FileNotFound,
    FileExistsError: FileExists,
    IsADirectoryError: IsDirectory,
    PermissionError: PermissionDenied,
}
_PATH = r"/(?:[^\s'\",:]*[^\s'\",:.])?"
"""Matches what looks like a path in a text."""
_NOTHING = "(?!)"


class ForeignCalls:
    """The methods of a foreign backend, called in sync and async runs.

    Args:
        backend: The backend.
        thread: The files of the thread, which a result with `files_update` changes.
    """

    def __init__(self, backend: Any, thread: ThreadFiles | None) -> None:
        self._backend = backend
        self._thread = thread
        cwd = getattr(backend, "cwd", None)
        path = os.fspath(cwd) if isinstance(cwd, str | os.PathLike) else None
        self.directory = path if isinstance(path, str) and path.startswith("/") else None
        """The directory of the host that a backend of `deepagents` works in."""
        is_virtual = self.directory != "/" and getattr(backend, "virtual_mode", False) is True
        self.hidden_root = self.directory if is_virtual else None
        """The same if the backend calls it `/`: then no message may show where it is."""

    def has(self, name: str) -> bool:
        """Say whether there is a method; it may still raise `NotImplementedError`."""
        return self._method(name)[0] is not None

    def takes(self, name: str, *keywords: str) -> bool:
        """Say whether a method takes keywords."""
        method, _ = self._method(name)
        return method is not None and takes(method, *keywords)

    def declares(self, name: str, keyword: str) -> bool:
        """Say whether a method names a keyword; with `**kwargs` it might ignore the keyword."""
        method, _ = self._method(name)
        return method is not None and keyword in _parameters(method)[0]

    async def call(self, name: str, path: str, *args: Any, **options: Any) -> Any:
        """Call a method with the keywords that it takes; return its result unchanged."""
        method, is_twin = self._method(name)
        if method is None:
            raise _unsupported(name, path)
        work = partial(method, *args, **_taken(method, options))
        try:
            if is_twin:
                result = await work()
            elif name == "execute":
                result = await in_own_thread(work)
            elif name in CHANGING_METHODS:
                result = await change_in_thread(work)
            else:
                result = await in_thread(work)
        except NotImplementedError:  # inherited from an abstract class
            raise _unsupported(name, path) from None
        except (FilesystemError, GraphBubbleUp):
            raise
        except Exception as error:  # anybody's code may raise anything
            raise self._raised(error, path) from error
        for one in result if isinstance(result, list) else [result]:
            if (update := getattr(one, "files_update", None)) and self._thread is not None:
                self._thread.change(checked_update(update))
        return result

    async def result(
        self, kind: type[R], name: str, paths: tuple[str, ...], *args: Any, **options: Any
    ) -> R:
        """Call a method and return its result as one of our classes; raise its error.

        If a list or a search reports an error but also has results, the error becomes a note.
        """
        result = await self.call(name, paths[0], *args, **options)
        names = [field.name for field in fields(cast("Any", kind)) if hasattr(result, field.name)]
        if not names:
            found = f"{type(result).__name__}, not {kind.__name__}"
            raise BackendFailed(PathPart(paths[0]), f": `{name}` of the backend returned {found}.")
        given = {name: getattr(result, name) for name in names}
        given.pop("files_update", None)
        error, note = given.pop("error", None), given.get("note")
        if error:
            if not given.get("matches") and not given.get("entries"):
                raise self.error(str(error), *paths)
            note = str(error)
        if note:
            given["note"] = self._note(str(note), *paths)
        return kind(**given)

    def error(self, text: str, *paths: str) -> FilesystemError:
        """Return the error that a backend reports as text, about one of these paths."""
        about = next((path for path in paths if path in text), paths[0])
        message = text.removeprefix("Error: ")
        plain = message.replace(about, "").lower()
        for pattern, kind in _EDIT_ERRORS:
            if pattern.match(plain):
                return kind(self._naming(message, about))
        if beyond := _OFFSET_ERROR.search(plain):
            return OffsetPastEnd(about, int(beyond[1]), int(beyond[2]))
        if plain == "invalid_path":
            return BackendFailed(PathPart(about), ": the backend does not accept this path.")
        if "\n" not in message:  # else it is about several files
            for pattern, made in _PATH_ERRORS:
                if pattern.search(plain):
                    return made(about)
        return BackendFailed(self._naming(message, *paths))

    def _method(self, name: str) -> tuple[Callable[..., Any] | None, bool]:
        """Return a method, or its async twin in an async run, and whether it is the twin."""
        twin = None if is_sync() else getattr(self._backend, f"a{name}", None)
        if callable(twin):
            return twin, True
        method = getattr(self._backend, name, None)
        return (method if callable(method) else None), False

    def _raised(self, error: Exception, path: str) -> FilesystemError:
        if made := next((made for kind, made in _RAISED.items() if isinstance(error, kind)), None):
            return made(path)
        try:
            # The text of an `OSError` shows the path that the host knows.
            text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        except Exception:  # `__str__` of an error may fail itself
            text = ""
        name = type(error).__name__
        return BackendFailed(self._naming(f"{name}: {text}" if text else name, path))

    def _naming(self, text: str, *paths: str) -> Note:
        """Return a text that names its path, once."""
        note = self._note(text, *paths)
        if any(isinstance(part, PathPart) and part in paths for part in note.parts):
            return note
        return Note(PathPart(paths[0]), ": ", note)

    def _note(self, text: str, *paths: str) -> Note:
        """Return a text with its paths marked: the given ones, those above them, those in a list.

        A path of the host below the directory that the backend calls `/` becomes a path of the
        backend.
        """
        known = {name for path in paths for name in (path, *ancestors(path))}
        exact = [re.escape(path) for path in sorted(paths, key=len, reverse=True) if path != "/"]
        host = re.escape(self.hidden_root) if self.hidden_root else _NOTHING
        pattern = (
            rf"(?<![\w/.-])(?:(?P<host>{host}(?P<below>{_PATH})?)(?![\w/-])"
            rf"|(?P<exact>{'|'.join(exact) or _NOTHING})(?![\w/-])|{_PATH})"
        )
        parts: list[str] = []
        end = 0
        for found in re.finditer(pattern, text):
            is_listed = text.endswith("\n- ", 0, found.start())
            if found["host"] or found["exact"] or is_listed or found[0] in known:
                path = found["below"] or "/" if found["host"] else found[0]
                parts += [text[end : found.start()], PathPart(path)]
                end = found.end()
        return Note(*parts, text[end:])


def takes(method: Callable[..., Any], *keywords: str) -> bool:
    """Say whether a method takes keywords."""
    return len(_taken(method, dict.fromkeys(keywords))) == len(keywords)


def _unsupported(name: str, path: str) -> Unsupported:
    return Unsupported(PathPart(path), f": the backend there can't {name.replace('_', ' ')}.")


def _taken(method: Callable[..., Any], options: dict[str, Any]) -> dict[str, Any]:
    """Keep the keywords that a method takes."""
    names, takes_any = _parameters(method)
    return options if takes_any else {k: v for k, v in options.items() if k in names}


def _parameters(method: Callable[..., Any]) -> tuple[frozenset[str], bool]:
    return _signature(getattr(method, "__func__", method))


@lru_cache(maxsize=256)
def _signature(function: Callable[..., Any]) -> tuple[frozenset[str], bool]:
    """Return the names of the parameters, and whether any other keyword is taken."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return frozenset(), False
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    return frozenset(parameter.name for parameter in parameters), takes_any
