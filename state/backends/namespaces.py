"""Namespaces of a LangGraph store: whose files a run sees."""

from typing import Any, TypeAlias

from langgraph.runtime import Runtime

__all__ = ("OURS", "Namespace", "checked_namespace", "default_namespace")

Namespace: TypeAlias = tuple[str, ...]

OURS = "langgraph-filesystem"
"""First label of what we keep beside the files: no namespace of files begins with it."""


def checked_namespace(namespace: object) -> Namespace:
    """Return a namespace that a store takes, or raise `ValueError`."""
    if not isinstance(namespace, tuple) or not namespace:
        raise ValueError(f"A namespace is a tuple of text, such as ('files',), not {namespace!r}.")
    for label in namespace:
        if not isinstance(label, str) or not label or "." in label or not label.isprintable():
            raise ValueError(
                f"{label!r} can't be a part of a namespace ({namespace!r}): parts are text, not "
                "empty, without '.' and without control characters."
            )
    if namespace[0] in ("langgraph", OURS):
        raise ValueError(f"A namespace can't begin with {namespace[0]!r}: it is reserved.")
    return namespace


def default_namespace(runtime: Runtime[Any]) -> Namespace:
    """Return a namespace for each assistant and user that the server tells us of.

    Without a server the user is the `user_id` of the run's context. A user whom the server has
    authenticated is never another one because the context says so.
    """
    server = runtime.server_info
    user = _identity(server.user) if server is not None else None
    if user is None:
        user = _from_context(runtime.context)
    labels = [_label(user)] if user else []
    if server is not None and server.assistant_id:
        return (_label(server.assistant_id), *labels, "filesystem")
    return ("users", *labels, "filesystem") if labels else ("filesystem",)


def _identity(user: Any) -> str | None:
    identity = getattr(user, "identity", None)
    return str(identity) if identity else None


def _from_context(context: Any) -> str | None:
    found = context.get("user_id") if isinstance(context, dict) else None
    found = found or getattr(context, "user_id", None)
    return str(found) if found else None


def _label(text: str) -> str:
    """Return an identity as a label: a mail address has a `.`, which no label may have."""
    escaped = (f"%{ord(c):02X}" if c in "%." or not c.isprintable() else c for c in text)
    return "".join(escaped)
