"""What a thread changed, read from its checkpoints: see it, take it back, or apply it.

```python
from langgraph_filesystem import history

config = {"configurable": {"thread_id": "1"}}
print(history.changes(agent, config))  # each change: step, node, call, path, lines
print(history.diff(agent, config))     # all of them, as a unified diff
history.undo(agent, config)            # takes back the last step; another `undo` reverts that
print(history.apply(agent, config))    # writes changes in overlays to their lower backends
```

It covers the files of the thread and every `OverlayBackend`. A mount that is written directly has
no history: mount it under an overlay to have one. Each function has an async twin: `achanges`,
`adiff`, `aundo`, `adiscard`, `aapply`.
"""

import functools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from langgraph_filesystem.history import applying, compare, restore
from langgraph_filesystem.history.applying import ApplyResult, Conflict
from langgraph_filesystem.history.compare import Change, Changes
from langgraph_filesystem.state.io import awaiting, run_sync

__all__ = (
    "ApplyResult",
    "Change",
    "Changes",
    "Conflict",
    "aapply",
    "achanges",
    "adiff",
    "adiscard",
    "apply",
    "aundo",
    "changes",
    "diff",
    "discard",
    "undo",
)

P = ParamSpec("P")
R = TypeVar("R")


def _twins(
    work: Callable[P, Coroutine[Any, Any, R]],
) -> tuple[Callable[P, R], Callable[P, Coroutine[Any, Any, R]]]:
    """Return a sync function and its async twin."""

    @functools.wraps(work)
    def sync(*args: P.args, **options: P.kwargs) -> R:
        return run_sync(work(*args, **options))

    @functools.wraps(work)
    async def twin(*args: P.args, **options: P.kwargs) -> R:
        with awaiting():
            return await work(*args, **options)

    twin.__name__ = twin.__qualname__ = f"a{work.__name__}"
    return sync, twin


changes, achanges = _twins(compare.changes)
diff, adiff = _twins(compare.diff)
undo, aundo = _twins(restore.undo)
discard, adiscard = _twins(restore.discard)
apply, aapply = _twins(applying.apply)
