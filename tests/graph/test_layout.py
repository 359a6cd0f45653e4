"""The checkpointer's tables are views: what is deleted from them must go from every table."""

from pathlib import Path

from langchain_core.runnables import RunnableConfig

from langgraph_filesystem.sqlite import SqlitePersistence, aopen_sqlite
from tests.graph.saving import CONFIG, arun, looped, rows, run


def test_a_deleted_thread_leaves_nothing_and_the_others_alone(
    file: Path, opened: SqlitePersistence
) -> None:
    checkpointer = opened.checkpointer
    run(checkpointer, thread="one")
    kept = run(checkpointer, thread="two")["messages"]
    # Writes whose checkpoint never came, as after a crash.
    checkpointer.put_writes(
        {"configurable": {"thread_id": "one", "checkpoint_ns": "", "checkpoint_id": "lost"}},
        [("messages", "lost")],
        "task",
    )

    checkpointer.delete_thread("one")

    assert rows(file, "SELECT thread_id FROM compact_threads") == [("two",)]
    for table, parent in (("tasks", "checkpoints"), ("writes", "tasks")):
        orphans = f"WHERE {parent[:-1]} NOT IN (SELECT id FROM compact_{parent})"
        assert rows(file, f"SELECT 1 FROM compact_{table} {orphans}") == []
    assert rows(file, "SELECT count(DISTINCT thread) FROM compact_checkpoints") == [(1,)]
    config: RunnableConfig = {"configurable": {"thread_id": "two"}}
    assert looped(checkpointer).get_state(config).values["messages"] == kept


async def test_a_deleted_thread_leaves_nothing_async(file: Path) -> None:
    async with aopen_sqlite(file) as (checkpointer, _):
        await arun(checkpointer)
        await checkpointer.adelete_thread("thread")
        assert await checkpointer.aget_tuple(CONFIG) is None
    for table in ("threads", "checkpoints", "tasks", "writes"):
        assert rows(file, f"SELECT count(*) FROM compact_{table}") == [(0,)]
