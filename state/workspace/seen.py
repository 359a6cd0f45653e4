"""Which files the agent knows, by a digest of what they held when it last read or wrote them."""

from collections.abc import Mapping

from langgraph_filesystem.state.errors import NotRead
from langgraph_filesystem.state.files import ThreadFiles, digest_of, file_bytes
from langgraph_filesystem.state.paths import is_within

__all__ = ("Seen",)


class Seen:
    """The `seen` channel as one task finds it, and what the task changes in it."""

    def __init__(self, before: Mapping[str, str] | None = None, *, required: bool = True) -> None:
        self._before = before or {}
        self._required = required and before is not None
        self._update: dict[str, str | None] = {}
        self._in_state: set[str] = set()

    def needs_check(self, path: str) -> bool:
        """Say whether a file must be compared with its digest before it is changed."""
        return self._required and path not in self._in_state

    def check(self, path: str, now: str | None) -> None:
        """Refuse to change a file whose content, by its digest, is not known."""
        if now is None:
            return
        known = self._update[path] if path in self._update else self._before.get(path)
        if known is None:
            raise NotRead(path, "it has not been read in this conversation, so it was not changed")
        if known != now:
            raise NotRead(path, "it has changed since it was last read, so it was not changed")

    def mark(self, path: str, digest: str | None) -> None:
        """Remember what a file holds now."""
        self._update[path] = digest

    def mark_in_state(self, path: str) -> None:
        """Remember a file in the state: one digest at the end serves any number of edits."""
        self._in_state.add(path)

    def forget(self, path: str) -> None:
        """Forget a file, or everything below a directory."""
        self._in_state = {known for known in self._in_state if not is_within(known, path)}
        self._update.update(dict.fromkeys(self._known_within(path)))

    def move(self, source: str, destination: str) -> None:
        """Carry what is known of a path over to another one. Call `settle` before the move."""
        known = self._known_within(source)
        self.forget(source)
        self._update.update(
            {destination + path[len(source) :]: digest for path, digest in known.items()}
        )

    def update(self, files: ThreadFiles) -> dict[str, str | None]:
        """Return what the task changes in the channel."""
        self.settle(files)
        return {p: digest for p, digest in self._update.items() if self._before.get(p) != digest}

    def settle(self, files: ThreadFiles) -> None:
        """Take the digests of files in the state."""
        for path in self._in_state:
            file = files.files.get(path)
            self._update[path] = None if file is None else digest_of(file_bytes(file))
        self._in_state.clear()

    def _known_within(self, path: str) -> dict[str, str]:
        known = {**self._before, **self._update}
        return {p: d for p, d in known.items() if d is not None and is_within(p, path)}
