"""A store that says what it was asked for, and how much it gave."""

import json
from collections.abc import Iterable
from typing import Any

from langgraph.store.base import BaseStore, Op, Result


class CountingStore(BaseStore):
    """Hands every call on to another store."""

    def __init__(self, store: BaseStore) -> None:
        self.store = store
        self.given = 0
        """Bytes of the values that were read."""
        self.ops: list[Op] = []
        self.called: set[str] = set()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        self.called.add("batch")
        ops = list(ops)
        return self._counted(ops, self.store.batch(ops))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        self.called.add("abatch")
        ops = list(ops)
        return self._counted(ops, await self.store.abatch(ops))

    def forget(self) -> None:
        """Count from the beginning."""
        self.given, self.ops, self.called = 0, [], set()

    def _counted(self, ops: list[Op], results: list[Result]) -> list[Result]:
        self.ops += ops
        self.given += sum(map(_bytes, results))
        return results


def _bytes(result: Any) -> int:
    items = result if isinstance(result, list) else [result]
    values = [getattr(item, "value", None) for item in items]
    return sum(len(json.dumps(value)) for value in values if value is not None)
