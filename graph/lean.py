"""Checkpoint events that do not repeat files.

The streams `debug` and `checkpoints` report every checkpoint with the whole state: measured, a run
of ten turns beside 1 MB of files was 44 MB of events. Here the first and the last event of a run
have all files; one between them has those that changed since the event before it, in the form in
which `files` are taken as input: what was deleted is `None`.
"""

from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import aclosing, closing
from typing import Any, cast

__all__ = ("alean", "lean", "reports_checkpoints")

_MODES = frozenset({"debug", "checkpoints"})


def reports_checkpoints(modes: str | Collection[str]) -> bool:
    """Say whether a stream of these modes has checkpoint events."""
    return bool(_MODES & ({modes} if isinstance(modes, str) else set(modes)))


def lean(events: Iterator[Any], mode: str | Collection[str]) -> Iterator[Any]:
    """Yield the events of a run, lean ones in the place of checkpoint events."""
    thinner = _Thinner(mode)
    with closing(cast("Any", events)):
        try:
            for event in events:
                yield thinner.thinned(event)
        finally:
            thinner.complete()


async def alean(events: AsyncIterator[Any], mode: str | Collection[str]) -> AsyncIterator[Any]:
    """Do as `lean` for a run that is awaited."""
    thinner = _Thinner(mode)
    async with aclosing(cast("Any", events)):
        try:
            async for event in events:
                yield thinner.thinned(event)
        finally:
            thinner.complete()


class _Thinner:
    """What was reported so far, for each graph and its subgraphs."""

    def __init__(self, mode: str | Collection[str]) -> None:
        self._only = mode if isinstance(mode, str) else ""
        self._known: dict[str, Mapping[str, Any]] = {}
        self._latest: dict[str, tuple[dict[str, Any], Any]] = {}

    def thinned(self, event: Any) -> Any:
        """Return the event, or a lean one in its place."""
        if isinstance(event, tuple):
            mode = event[-2] if isinstance(event[-2], str) else self._only
            return (*event[:-1], self._data(mode, event[-1]))
        if isinstance(event, dict) and event.keys() >= {"type", "ns", "data"}:
            return {**event, "data": self._data(event["type"], event["data"])}
        return self._data(self._only, event)

    def complete(self) -> None:
        """Put all files into the latest event of a run that ends here.

        A server shows it as the values of the thread, also of one that was stopped halfway.
        """
        for values, files in self._latest.values():
            values["files"] = files

    def _data(self, mode: str, data: Any) -> Any:
        if mode == "checkpoints":
            return self._payload(data)
        if mode == "debug" and data.get("type") == "checkpoint":
            return {**data, "payload": self._payload(data["payload"])}
        return data

    def _payload(self, payload: dict[str, Any]) -> dict[str, Any]:
        files = (payload.get("values") or {}).get("files")
        if not isinstance(files, dict):
            return payload
        namespace = payload["config"]["configurable"].get("checkpoint_ns", "")
        before = self._known.get(namespace)
        self._known[namespace] = files
        self._latest.pop(namespace, None)
        if before is None or not payload["next"]:
            return payload
        values = {**payload["values"], "files": _changes(before, files)}
        self._latest[namespace] = (values, files)
        return {**payload, "values": values}


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    if before is after:
        return {}
    gone: dict[str, Any] = {path: None for path in before if path not in after}
    return {p: file for p, file in after.items() if before.get(p) is not file} | gone
