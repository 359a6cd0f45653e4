"""Which files the agent knows, by a digest of what they held when it last read or wrote them."""

from collections.abc import Mapping

from langgraph_filesystem.state.backends.state import BoundStateBackend
from langgraph_filesystem.state.errors import NotRead
from langgraph_filesystem.state.mounts import Mount
from langgraph_filesystem.state.paths import is_within
from langgraph_filesystem.state.view import View

__all__ = ("Seen",)


class Seen:
    """The `seen` channel as one task finds it, and what the task adds to it."""

    def __init__(self, view: View, before: Mapping[str, str], *, required: bool) -> None:
        self._view = view
        self._before = before
        self._required = required
        self._update: dict[str, str | None] = {}
        self._undigested: set[str] = set()

    def has_touched(self, path: str) -> bool:
        """Say whether this task has read or written a file of the thread's own."""
        return path in self._undigested

    async def mark(self, mount: Mount, path: str) -> None:
        """Remember what a file holds now as known."""
        if isinstance(self._view.backend_for(mount, path), BoundStateBackend):
            # The view is private to the task: one digest at the end serves any number of edits.
            self._undigested.add(path)
        else:
            self._update[path] = await self._view.digest(mount, path)

    async def check(self, mount: Mount, path: str) -> None:
        """Refuse to go on if a file is there whose content is not known."""
        if path in self._undigested or not self._required:
            return
        now = await self._view.digest(mount, path)
        if now is None:
            return
        known = self._update[path] if path in self._update else self._before.get(path)
        if known is None:
            raise NotRead(path, "it has not been read in this conversation, so it was not changed")
        if known != now:
            raise NotRead(
                path, "it has changed since it was last read, so it was not changed again"
            )

    def forget(self, path: str) -> None:
        """Forget a file, or all that is below a directory."""
        self._undigested = {known for known in self._undigested if not is_within(known, path)}
        self._update.update(dict.fromkeys(self._known_within(path)))

    def move(self, source: str, destination: str) -> None:
        """Know under another path what was known under this one."""
        known = self._known_within(source)
        self.forget(source)
        self._update.update(
            {destination + path[len(source) :]: digest for path, digest in known.items()}
        )

    def copied(self, key: str) -> str:
        """Return how many files the move with a key has copied in an earlier step, or `""`."""
        return self._before.get(_moved(key), "")

    def mark_copied(self, key: str | None, count: str | None) -> None:
        """Remember that the move with a key has copied files, and has not yet deleted them."""
        if key is not None:
            self._update[_moved(key)] = count

    def update(self) -> dict[str, str | None]:
        """Return what the task changes in the channel."""
        state = BoundStateBackend(self._view.files)
        self._update.update({path: state.digest(path) for path in self._undigested})
        self._undigested.clear()
        return {p: digest for p, digest in self._update.items() if self._before.get(p) != digest}

    def _known_within(self, path: str) -> dict[str, str]:
        known = {**self._before, **self._update}
        return {p: d for p, d in known.items() if d is not None and is_within(p, path)}


def _moved(key: str) -> str:
    """Return what stands for a move where paths are: no path, as those begin with `/`."""
    return f"move {key}"
