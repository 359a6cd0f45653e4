"""How a command ends: exit codes, and errors as one sentence that says what to do."""

import os
import sqlite3

from langgraph_filesystem.state.errors import FilesystemError

__all__ = (
    "CONFLICTS",
    "DEBUG_VARIABLE",
    "ERROR",
    "INTERRUPTED",
    "OK",
    "WAITING",
    "Failure",
    "explained",
)

DEBUG_VARIABLE = "LANGGRAPH_FILESYSTEM_DEBUG"
"""If this environment variable is set, errors that end a command show their traceback."""

OK, ERROR, CONFLICTS, WAITING, INTERRUPTED = 0, 1, 3, 4, 130
"""Exit codes. 2 is wrong usage, which click reports."""


class Failure(Exception):
    """A command can't do what it was asked to. The message is for the person who asked."""

    def __init__(self, message: str, code: int = ERROR) -> None:
        super().__init__(message)
        self.code = code


_SQLITE = {
    sqlite3.SQLITE_BUSY: "is locked by another program. Try again when that has ended.",
    sqlite3.SQLITE_LOCKED: "is locked by another program. Try again when that has ended.",
    sqlite3.SQLITE_FULL: "can't grow: the disk is full. Make room, then try again.",
    sqlite3.SQLITE_READONLY: "is read-only. Check its permissions, or use --db.",
    sqlite3.SQLITE_CANTOPEN: "can't be opened. Check its permissions, or use --db.",
    sqlite3.SQLITE_NOTADB: "is not a SQLite database. Choose another one with --db.",
    sqlite3.SQLITE_CORRUPT: "is damaged. Restore a copy, or choose another with --db.",
    sqlite3.SQLITE_IOERR: "can't be read or written. Check the disk, then try again.",
}


def explained(error: Exception, database: str) -> str:
    """Return an error as a sentence that says what to do."""
    if isinstance(error, Failure | FilesystemError):
        return getattr(error, "message", str(error))
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", None)
        return f"The database {database} " + _SQLITE.get(
            (code or 0) & 0xFF, f"can't be used: {error}."
        )
    if isinstance(error, OSError) and error.strerror:
        place = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        return f"{place}{error.strerror}."
    first, *_ = str(error).strip().splitlines() or [type(error).__name__]
    if type(error).__module__.partition(".")[0].startswith("psycopg"):
        return f"The PostgreSQL database can't be used: {first}"
    if isinstance(error, ValueError | ImportError) and str(error):
        return str(error)
    return (
        f"Something unexpected went wrong: {type(error).__name__}: {first}. With the variable "
        f"{DEBUG_VARIABLE}=1 you see where, for a report."
    )
