"""`for_deepagents`: our backends in agents of `deepagents`.

`create_deep_agent(backend=...)` accepts our backends for files. But it runs commands only in
subclasses of its own protocol, its `CompositeBackend` accepts only its own result classes, and its
agents expect a write to replace an existing file. `for_deepagents` adapts all of that:

```python
agent = create_deep_agent(model, backend=for_deepagents(LocalShellBackend("/project")))
```
"""

import importlib
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any

from langgraph_filesystem.state.backends.protocol import Backend
from langgraph_filesystem.state.workspace.composite import CompositeBackend

__all__ = ("for_deepagents",)

_FILES = ("ls", "read", "write", "edit", "glob", "grep", "upload_files", "download_files")


def for_deepagents(backend: Backend) -> Any:
    """Return a backend that `deepagents` (which must be installed) accepts.

    It has `execute` and `delete` if the backend has them.
    """
    try:
        protocol = importlib.import_module("deepagents.backends.protocol")
    except ImportError:
        raise ImportError("`for_deepagents` needs deepagents: pip install deepagents") from None
    whole = backend if isinstance(backend, CompositeBackend) else CompositeBackend(backend)
    runs = hasattr(whole, "execute")
    names = [*_FILES, *(["execute"] if runs else [])]
    names += ["delete"] if callable(getattr(backend, "delete", None)) else []
    members: dict[str, Any] = {"id": property(lambda self: self.composite.id)} if runs else {}
    for name in (twin for plain in names for twin in (plain, f"a{plain}")):
        members[name] = _adapted_method(name, getattr(type(whole), name), protocol)
    base = protocol.SandboxBackendProtocol if runs else protocol.BackendProtocol
    adapted = type(f"{type(backend).__name__}ForDeepagents", (base,), members)()
    adapted.composite = whole
    return adapted


def _adapted_method(name: str, method: Callable[..., Any], protocol: Any) -> Callable[..., Any]:
    always = {"overwrite": True} if name in ("write", "awrite") else {}

    @wraps(method)
    def now(self: Any, *args: Any, **options: Any) -> Any:
        return _to_theirs(getattr(self.composite, name)(*args, **options, **always), protocol)

    @wraps(method)
    async def awaited(self: Any, *args: Any, **options: Any) -> Any:
        return _to_theirs(await getattr(self.composite, name)(*args, **options, **always), protocol)

    return awaited if inspect.iscoroutinefunction(method) else now


def _to_theirs(result: Any, protocol: Any) -> Any:
    """Convert a result, or a list of results, to their class with the same name."""
    if isinstance(result, list):
        return [_to_theirs(one, protocol) for one in result]
    kind = getattr(protocol, type(result).__name__, None)
    if kind is None or not is_dataclass(result):
        return result
    known = {field.name for field in fields(kind)} & {field.name for field in fields(result)}
    given = {name: getattr(result, name) for name in known}
    if "start_line" in given and given["start_line"] is None:
        # Their class has no line numbers for an empty page.
        given.update(end_line=None, next_offset=None, total_lines=None)
    if "matches" in given and (note := getattr(result, "note", None)):
        given.update(_incomplete(kind, given["matches"], str(note)))
    return kind(**given)


def _incomplete(kind: Any, matches: Any, note: str) -> dict[str, Any]:
    """Return how their results say that a search could not look at everything.

    Their `grep` shows an error beside the matches. Their `glob` would show nothing but the error.
    """
    if matches and "truncation_reason" in {field.name for field in fields(kind)}:
        return {"truncated": True, "truncation_reason": "unreadable"}
    return {"truncated": True, "error": note}
