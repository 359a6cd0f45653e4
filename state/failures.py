"""Errors into words: the one place where anything that a backend or a tool raises is caught."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from langgraph.errors import GraphBubbleUp

from langgraph_filesystem.state.errors import BackendFailed, FilesystemError
from langgraph_filesystem.state.escapes import escaped

__all__ = ("attempted", "reworded", "said")

T = TypeVar("T")


async def attempted(work: Awaitable[T], what: str) -> tuple[T | None, str | None]:
    """Return the result, or what went wrong. Only what the graph itself raises passes through."""
    try:
        return await work, None
    except FilesystemError as error:
        # A path in it may have a newline, which would begin a line of the answer.
        return None, escaped(str(error))
    except GraphBubbleUp:
        raise
    except Exception as error:
        return None, f"{escaped(what)} failed: {_escaped_lines(said(error))}"


async def reworded(work: Awaitable[T], path: str, reword: Callable[[str], str]) -> T:
    """Return the result; raise what went wrong in other words, where there are any."""
    try:
        return await work
    except (FilesystemError, GraphBubbleUp):
        raise
    except Exception as error:
        text = said(error)
        other = reword(text)
        if other == text:
            raise
        raise BackendFailed(other if path in other else f"{path}: {other}") from None


def said(error: Exception) -> str:
    """Return the kind of an error and what it says, without paths of the host."""
    kind = type(error).__name__
    try:
        text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    except Exception:  # an error may fail to say what it is
        text = ""
    return f"{kind}: {text}" if text else kind


def _escaped_lines(text: str) -> str:
    """Escape a text of several lines, line by line."""
    return "\n".join(escaped(line) for line in text.split("\n"))
