"""Errors of object stores, without addresses, credentials or paths of the host.

The message of a client may contain all of these. Only the error code of the store is shown, such as
`AccessDenied`.
"""

import re
import sys
from collections.abc import Iterator

from langgraph_filesystem.state.errors import (
    BackendFailed,
    FilesystemError,
    PathRefused,
    PermissionDenied,
)
from langgraph_filesystem.state.text import PathPart

__all__ = ("ChangedMeanwhile", "client_errors", "explain")


class ChangedMeanwhile(BackendFailed):
    """Another writer changed a file during an operation on it."""

    def __init__(self, path: str) -> None:
        super().__init__(
            PathPart(path), ": another writer changed it at the same time. Read it again."
        )


class _Denied(PermissionDenied):
    def __init__(self, path: str, code: str) -> None:
        FilesystemError.__init__(
            self,
            PathPart(path),
            f": permission denied by the remote store{code}. Choose another path, or ask for "
            "permission.",
        )


_CLIENT_ERRORS = {
    "aiohttp": "ClientError",
    "azure.core.exceptions": "AzureError",
    "botocore.exceptions": "BotoCoreError ClientError",
    "gcsfs.retry": "HttpError",
    "google.auth.exceptions": "GoogleAuthError",
    "paramiko": "SSHException",
    "smbprotocol.exceptions": "SMBException",
}
"""Errors of clients behind `fsspec` that are not an `OSError`."""

_CODES = (
    re.compile(r"<Code>(\w{1,60})</Code>"),
    re.compile(r"\((\w{1,60})\) when calling"),
    re.compile(r"\b([45]\d\d) [A-Z][a-z]"),
)
_REASONS = (
    (("NoSuchBucket", "NoSuchContainer"), "the bucket does not exist. Ask for it to be created"),
    (("timed out", "TimedOut", "Timeout"), "the remote store did not answer. Try again later"),
    (
        ("error sending request", "Connect", "dns error", "resolve"),
        "the remote store can't be reached. Try again later",
    ),
    (
        ("invalid path",),
        "the bucket has a key here that is not a path (it has `//`, `.` or `..` in it), which "
        "obstore can't list. List another directory, or use the bucket through fsspec",
    ),
)
_DENIALS = ("PermissionDenied", "Unauthenticated", "PermissionError", "AccessDenied", "Forbidden")


def client_errors() -> tuple[type[Exception], ...]:
    """Return the errors that a client may raise, of the clients that are loaded."""
    return (OSError, ValueError, *_loaded())


def explain(path: str, error: BaseException) -> FilesystemError:
    """Return our own error for a client's error at a path."""
    text, kind = str(error), type(error).__name__
    if isinstance(error, ValueError):
        return PathRefused(path, "the remote store does not allow such a name.")
    if any(word in text for word in ("KeyTooLong", "File name too long")):
        return PathRefused(path, "it is longer than the remote store allows.")
    codes = (found[1] for pattern in _CODES if (found := pattern.search(text)))
    code = next((f" ({code})" for code in codes), "")
    if any(word in kind or word in code for word in _DENIALS):
        return _Denied(path, code)
    for words, reason in _REASONS:
        if any(word in text or word in kind for word in words):
            return BackendFailed(PathPart(path), f": {reason}.")
    return BackendFailed(
        PathPart(path),
        f": the remote store failed{code or f' ({kind})'}. Try again, or choose another path.",
    )


def _loaded() -> Iterator[type[Exception]]:
    for module, names in _CLIENT_ERRORS.items():
        for name in names.split():
            found = getattr(sys.modules.get(module), name, None)
            if isinstance(found, type) and issubclass(found, Exception):
                yield found
