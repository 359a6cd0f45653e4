"""Calls of an `fsspec` filesystem: in the right thread, on the right loop, never from memory."""

import asyncio
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem.state.backends.fsspec_client import FsspecClient
from tests.state.backends import buckets


@pytest.fixture
def path() -> str:
    return f"/{uuid.uuid4()}/a"


@pytest.mark.parametrize("asynchronous", [None, False, True])
async def test_a_method_is_awaited_whatever_the_filesystem_is(
    asynchronous: bool | None, path: str
) -> None:
    filesystem = buckets.memory() if asynchronous is None else buckets.awaited_memory(asynchronous)
    client = FsspecClient(filesystem)
    await client.ado("pipe_file", path, b"12345")
    assert await client.ado("cat_file", path, 1, 3) == b"23"
    with pytest.raises(FileNotFoundError):
        await client.ado("info", f"{path}/nothing")


@pytest.mark.parametrize("asynchronous", [None, False])
def test_a_method_is_called_whatever_the_filesystem_is(
    asynchronous: bool | None, path: str
) -> None:
    filesystem = buckets.memory() if asynchronous is None else buckets.awaited_memory(asynchronous)
    client = FsspecClient(filesystem)
    client.do("pipe_file", path, b"12345")
    assert client.do("cat_file", path) == b"12345"


def where() -> tuple[int, int | None]:
    """Return the thread and the loop that this runs in."""
    try:
        loop: int | None = id(asyncio.get_running_loop())
    except RuntimeError:
        loop = None
    return threading.get_ident(), loop


async def test_what_blocks_is_called_in_another_thread(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = buckets.memory()
    monkeypatch.setattr(memory, "created", lambda _: where(), raising=False)
    thread, loop = await FsspecClient(memory).ado("created", path)
    assert (thread != threading.get_ident(), loop) == (True, None)


@pytest.mark.parametrize("asynchronous", [True, False])
async def test_a_coroutine_runs_on_the_loop_that_it_belongs_to(
    asynchronous: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def _where() -> tuple[int, int | None]:
        return where()

    filesystem = buckets.awaited_memory(asynchronous)
    monkeypatch.setattr(filesystem, "_where", _where, raising=False)
    _, loop = await FsspecClient(filesystem).ado("where")
    assert loop == id(asyncio.get_running_loop() if asynchronous else filesystem.loop)


async def test_what_was_remembered_is_forgotten_before_each_call(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    for filesystem in (buckets.memory(), buckets.awaited_memory(asynchronous=True)):
        monkeypatch.setattr(filesystem, "invalidate_cache", lambda *_: calls.append("forget"))
        client = FsspecClient(filesystem)
        calls.clear()
        await client.ado("exists", path)
        assert calls == ["forget"]
    FsspecClient(buckets.memory()).do("exists", path)
    assert calls == ["forget", "forget"]


def test_it_knows_what_kind_of_filesystem_it_has(tmp_path: Path) -> None:
    def kind(filesystem: Any) -> tuple[bool, bool]:
        client = FsspecClient(filesystem)
        return client.is_local, client.has_directories

    assert kind(buckets.disk()) == (True, True)
    assert kind(buckets.directory(tmp_path)) == (True, True)  # of what it wraps
    assert kind(buckets.memory()) == (False, True)
