"""Stores on a file: values come back, and batches don't fail beside a busy checkpointer."""

import asyncio
from pathlib import Path
from typing import Any, cast

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.store.base import GetOp, PutOp

from langgraph_filesystem.sqlite import SqlitePersistence, aopen_sqlite, open_sqlite
from tests.graph.saving import CONFIG


def test_the_store_keeps_values_in_the_same_file(file: Path) -> None:
    with open_sqlite(file) as (_, store):
        store.put(("users", "ada"), "likes", {"food": "cake"})
    with open_sqlite(file) as (_, store):
        item = store.get(("users", "ada"), "likes")
        assert item is not None
        assert item.value == {"food": "cake"}


async def test_the_store_keeps_values_in_the_same_file_async(file: Path) -> None:
    async with aopen_sqlite(file) as (_, store):
        await store.aput(("users", "ada"), "likes", {"food": "cake"})
    async with aopen_sqlite(file) as (_, store):
        item = await store.aget(("users", "ada"), "likes")
        assert item is not None
        assert item.value == {"food": "cake"}


def test_a_batch_answers_in_the_order_of_its_operations(opened: SqlitePersistence) -> None:
    store = opened.store
    store.put(("n",), "old", {"v": 1})

    results = store.batch(
        [PutOp(("n",), "new", {"v": 2}), GetOp(("n",), "old"), GetOp(("n",), "new")]
    )

    assert results[0] is None
    assert cast(Any, results[1]).value == {"v": 1}
    assert results[2] is None
    assert cast(Any, store.get(("n",), "new")).value == {"v": 2}


async def test_the_store_reads_and_writes_beside_a_busy_checkpointer(file: Path) -> None:
    async with aopen_sqlite(file) as (checkpointer, store):

        async def checkpoints() -> None:
            for _ in range(200):
                await checkpointer.aput(CONFIG, empty_checkpoint(), {}, {})

        busy = asyncio.create_task(checkpoints())
        while not busy.done():
            await asyncio.gather(store.aget(("n",), "k"), store.aput(("n",), "k", {"v": 1}))
        await busy
