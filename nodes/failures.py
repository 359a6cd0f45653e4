"""Errors into words: the one place where anything that a backend or a tool raises is caught."""

from collections.abc import Awaitable
from typing import TypeVar

from langgraph.errors import GraphBubbleUp

from langgraph_filesystem.nodes.answers import escaped
from langgraph_filesystem.state.errors import FilesystemError

__all__ = ("attempted",)

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
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return None, f"{escaped(what)} failed: {_escaped_lines(reason)}"


def _escaped_lines(text: str) -> str:
    """Escape a text of several lines, line by line."""
    return "\n".join(escaped(line) for line in text.split("\n"))
