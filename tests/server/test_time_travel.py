"""History, forks, edits, stops and double texting through the API, in state and on disk."""

import asyncio
import os
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from langgraph_sdk.client import LangGraphClient

from langgraph_filesystem import deploy
from tests.server.driving import new_thread, run, typed
from tests.server.serving import Server

COMMANDS = """\
write_file {place}/a.txt "one two"
write_file {place}/b.txt x

edit_file {place}/a.txt one ONE
edit_file {place}/a.txt two TWO
delete {place}/b.txt
ls {place}/
"""
CALLS = 6
NODES = sorted(deploy.graph.get_graph().nodes.keys() - {"__start__", "__end__"})


class Case:
    """A graph with the place where its files are."""

    def __init__(self, graph: str, server: Server) -> None:
        self.graph = graph
        self.name = uuid4().hex[:8]
        self.place = f"/{'disk/' if graph == 'disk' else ''}{self.name}"
        self._directory = server.directory / "disk" / self.name

    @property
    def commands(self) -> str:
        return COMMANDS.format(place=self.place)

    def check(self, state: dict[str, Any], *extra: str) -> None:
        """Check that every call is answered once, and that the files of the thread are right."""
        check_answers(state)
        assert state["messages"][-1]["type"] == "ai"
        if self.graph == "disk":
            assert set(state.get("files", {})) == set(extra)
        else:
            assert set(state["files"]) == {f"{self.place}/a.txt", *extra}
            assert state["files"][f"{self.place}/a.txt"]["content"] == "ONE TWO"

    def check_disk(self) -> None:
        """Check that the files on disk are right: when all is done, as forks share them."""
        if self.graph == "disk":
            assert (self._directory / "a.txt").read_text() == "ONE TWO"
            assert [path.name for path in self._directory.glob("[!.]*")] == ["a.txt"]


def check_answers(state: dict[str, Any], calls: int = CALLS) -> None:
    messages = state["messages"]
    asked = [c["id"] for m in messages if m["type"] == "ai" for c in m["tool_calls"]]
    answered = [m["tool_call_id"] for m in messages if m["type"] == "tool"]
    assert Counter(answered) == Counter(asked)
    assert len(set(answered)) == len(answered) == calls
    assert all(m["id"] for m in messages)


@pytest.fixture(params=["agent", "disk"])
def case(request: pytest.FixtureRequest, server: Server) -> Case:
    return Case(request.param, server)


async def first_run(client: LangGraphClient, case: Case) -> tuple[str, list[Any]]:
    """Run the commands, and return the thread and its history."""
    thread = await new_thread(client)
    case.check(await run(client, thread, case.commands, case.graph))
    case.check_disk()
    history = await client.threads.get_history(thread, limit=100)
    assert len(history) > 12
    return thread, history


async def copy_of(client: LangGraphClient, thread: str) -> str:
    threads: Any = client.threads  # it does not say that it returns the copy
    return str((await threads.copy(thread))["thread_id"])


async def go_on(client: LangGraphClient, thread: str, case: Case, **options: Any) -> Any:
    """Let a thread run on and return its state; raise if that fails."""
    await client.runs.wait(thread, case.graph, input=None, **options)
    return await state_of(client, thread)


async def state_of(client: LangGraphClient, thread: str) -> Any:
    return await client.threads.get_state(thread)


async def test_history_tells_every_state_and_can_be_gone_back_to(
    client: LangGraphClient, case: Case
) -> None:
    thread, history = await first_run(client, case)
    states = [
        await client.threads.get_state(thread, checkpoint=then["checkpoint"]) for then in history
    ]
    assert [state["values"] for state in states] == [then["values"] for then in history]
    assert [state["next"] for state in states] == [then["next"] for then in history]
    assert {name for then in history for name in then["next"]} >= {"edit_file", "ls", "delete"}
    # A new question asked in the middle is a fork from there.
    middle = next(then for then in history if "edit_file" in then["next"])
    options = {"checkpoint": middle["checkpoint"]}
    asked: Any = await run(client, thread, f"ls {case.place}", case.graph, **options)
    assert not any("Deleted" in message["content"] for message in asked["messages"])
    assert "a.txt" in asked["messages"][-1]["content"]
    if case.graph == "agent":
        assert asked["files"][f"{case.place}/a.txt"]["content"] == "one two"
    gone_on = await client.threads.get_history(thread, limit=100)
    assert len(gone_on) > len(history)


@pytest.mark.parametrize(
    ("graph", "as_nodes"),
    [("agent", [None, "prepare", "evict", "router", "model"]), ("disk", [None, "evict"])],
)
async def test_the_state_can_be_edited_at_every_checkpoint(
    client: LangGraphClient, server: Server, graph: str, as_nodes: list[str | None]
) -> None:
    case = Case(graph, server)
    thread, history = await first_run(client, case)

    async def edited(then: Any, as_node: str | None) -> None:
        fork = await copy_of(client, thread)
        update = {"files": {"/by/hand.txt": "edited"}}
        await client.threads.update_state(
            fork, update, as_node=as_node, checkpoint_id=then["checkpoint"]["checkpoint_id"]
        )
        state = await go_on(client, fork, case)
        assert state["next"] == []
        assert state["values"]["files"]["/by/hand.txt"]["content"] == "edited"
        ends = as_node == "model" and not finished(state["values"])
        if then["next"] != ["__start__"] and not ends:
            # An edit before the input takes its place, and one in the name of a model that has
            # said nothing yet ends the run.
            case.check(state["values"], "/by/hand.txt")

    await gathered(edited(then, as_node) for then in history for as_node in as_nodes)
    case.check_disk()


def finished(values: dict[str, Any]) -> bool:
    answered = [m for m in values.get("messages", []) if m["type"] == "tool"]
    return len(answered) == CALLS


async def test_a_fork_of_every_checkpoint_ends_like_the_first_run(
    client: LangGraphClient, case: Case
) -> None:
    thread, history = await first_run(client, case)

    async def forked(then: Any) -> None:
        fork = await copy_of(client, thread)
        checkpoint = {**then["checkpoint"], "thread_id": fork}
        state = await go_on(client, fork, case, checkpoint=checkpoint)
        assert state["next"] == []
        case.check(state["values"])

    await gathered(forked(then) for then in history)
    case.check_disk()


async def test_a_run_can_be_stopped_at_any_node_or_at_every_step(
    client: LangGraphClient, server: Server
) -> None:
    async def stopped(when: str, node: str, graph: str = "agent") -> tuple[str, int]:
        case, thread = Case(graph, server), await new_thread(client)
        where = {when: node if node == "*" else [node]}
        await run(client, thread, case.commands, graph, **where)
        stops, state = 0, await state_of(client, thread)
        while state["next"]:
            stops += 1
            assert stops < 40
            assert when == "interrupt_after" or node in ("*", *state["next"])
            state = await go_on(client, thread, case, **where)
        case.check(state["values"])
        case.check_disk()
        return node, stops

    # Until a mount that is made for each run is opened once, the router lets more calls wait.
    await first_run(client, Case("agent", server))
    before, after, (_, steps), (_, steps_on_disk) = await gathered(
        [
            gathered(stopped("interrupt_before", node) for node in NODES),
            gathered(stopped("interrupt_after", node) for node in NODES),
            stopped("interrupt_before", "*"),
            stopped("interrupt_after", "*", "disk"),
        ]
    )
    assert min(steps, steps_on_disk) >= 10
    once = dict.fromkeys(["prepare", "edit_file", "delete", "ls", "write_file"], 1)
    never = dict.fromkeys(["move", "read_file", "glob", "grep", "write_todos", "review"], 0)
    # Behind the last word of the model there is nothing to stop before.
    assert dict(before) == {**once, **never, "router": 3, "evict": 4, "model": 3}
    assert dict(after) == {**once, **never, "router": 3, "evict": 4, "model": 2}


async def test_a_copied_thread_goes_its_own_way(client: LangGraphClient, case: Case) -> None:
    thread, history = await first_run(client, case)
    copied = await copy_of(client, thread)
    told = await client.threads.get_history(copied, limit=100)
    assert [then["values"] for then in told] == [then["values"] for then in history]
    await run(client, copied, "write_file /only/here.txt x", case.graph)
    before, after = await state_of(client, thread), await state_of(client, copied)
    assert "/only/here.txt" not in before["values"].get("files", {})
    assert "/only/here.txt" in after["values"]["files"]


@pytest.mark.parametrize("action", ["interrupt", "rollback"])
async def test_a_run_is_cancelled_in_the_middle_of_a_command(
    client: LangGraphClient, server: Server, action: Any
) -> None:
    thread = await new_thread(client)
    await run(client, thread, "write_file /kept.txt before", "shell")
    mark = f"{uuid4().int % 10**9}"
    command = typed(f'write_file /new.txt x\n\nexecute "echo begun; sleep 30.{mark}"')
    created: Any = await client.runs.create(
        thread, "shell", input=command, stream_mode=["custom"], stream_resumable=True
    )
    async for part in client.runs.join_stream(thread, created["run_id"], stream_mode=["custom"]):
        if "begun" in str(part.data):
            break
    await until(lambda: sleeping(mark))
    await client.runs.cancel(thread, created["run_id"], wait=True, action=action)
    await until(lambda: not sleeping(mark))
    state = await run(client, thread, "ls /", "shell")
    texts = [message["content"] for message in state["messages"]]
    if action == "interrupt":
        assert "/new.txt" in state["files"]
        assert any("cancelled" in text for text in texts)
        check_answers(state, calls=4)
    else:
        assert set(state["files"]) == {"/kept.txt"}
        check_answers(state, calls=2)


async def until(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < give_up
        await asyncio.sleep(0.05)


def sleeping(mark: str) -> bool:
    """Say whether the command is still alive."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"sleep", f"30.{mark}".encode()] and process.name != str(os.getpid()):
            return True
    return False


async def two_texts(client: LangGraphClient, strategy: Any) -> tuple[str, Any]:
    """Send a second message while the first run waits, and return the thread and its end."""
    thread = await new_thread(client)
    first: Any = await client.runs.create(
        thread, "disk", input=typed("write_file /first.txt x\n\nwait 4"), stream_mode=["updates"]
    )
    async for part in client.runs.join_stream(thread, first["run_id"], stream_mode=["updates"]):
        if part.event == "updates" and "'wait'" in str(part.data.get("model")):
            break
    second = typed("write_file /second.txt y")
    await client.runs.wait(thread, "disk", input=second, multitask_strategy=strategy)
    return thread, await client.threads.get_state(thread)


async def test_a_second_message_can_be_refused(client: LangGraphClient) -> None:
    with pytest.raises(httpx.HTTPStatusError) as refused:
        await two_texts(client, "reject")
    assert refused.value.response.status_code == 409


async def test_a_second_message_can_wait(client: LangGraphClient) -> None:
    _, state = await two_texts(client, "enqueue")
    assert set(state["values"]["files"]) == {"/first.txt", "/second.txt"}
    check_answers(state["values"], calls=3)
    assert any("waited 4" in m["content"] for m in state["values"]["messages"])


async def test_a_second_message_can_interrupt_the_first(client: LangGraphClient) -> None:
    _, state = await two_texts(client, "interrupt")
    assert set(state["values"]["files"]) == {"/first.txt", "/second.txt"}
    check_answers(state["values"], calls=3)
    assert any("cancelled" in m["content"] for m in state["values"]["messages"])


async def test_a_second_message_can_take_the_place_of_the_first(client: LangGraphClient) -> None:
    thread, state = await two_texts(client, "rollback")
    assert set(state["values"]["files"]) == {"/second.txt"}
    check_answers(state["values"], calls=1)
    history: Any = await client.threads.get_history(thread, limit=100)
    told = [m["content"] for then in history for m in then["values"].get("messages", [])]
    assert not any("first.txt" in text for text in told)


async def test_a_stream_can_be_joined_again_where_it_was_left(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    words = "\n\n".join(f"write_file /n{n}.txt x\nwait 0.2" for n in range(5))
    created: Any = await client.runs.create(
        thread, "disk", input=typed(words), stream_mode=["updates"], stream_resumable=True
    )
    heard: list[Any] = []
    async for part in client.runs.join_stream(thread, created["run_id"], stream_mode=["updates"]):
        heard.append(part)
        if part.event == "updates" and "write_file" in part.data:
            break
    assert heard[-1].id
    rest = [
        part
        async for part in client.runs.join_stream(
            thread, created["run_id"], stream_mode=["updates"], last_event_id=heard[-1].id
        )
    ]
    updates = [part for part in [*heard, *rest] if part.event == "updates"]
    wrote = [part.data["write_file"] for part in updates if "write_file" in part.data]
    assert [next(iter(update["files"])) for update in wrote] == [f"/n{n}.txt" for n in range(5)]
    assert len({part.id for part in updates}) == len(updates)
    assert set(dict(await client.runs.join(thread, created["run_id"]))["files"]) == {
        f"/n{n}.txt" for n in range(5)
    }


async def gathered(works: Any) -> list[Any]:
    """Do things at once: a server that is idle looks for a run only twice a second."""
    tasks: list[Coroutine[Any, Any, Any]] = list(works)
    return await asyncio.gather(*tasks)
