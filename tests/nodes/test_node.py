"""A node: logic written once, for graphs that block and graphs that await."""

import asyncio
import threading
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableLambda
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from langgraph_filesystem import create_filesystem_agent
from langgraph_filesystem.nodes.node import Edge, Node, invoke
from langgraph_filesystem.state.backends.protocol import ReadResult
from tests.nodes.backends import Shelf
from tests.scripted import ScriptedModel, answers, arun, call, run, says


class State(TypedDict, total=False):
    value: Any


def graph_of(node: Node) -> Any:
    builder = StateGraph(State)
    builder.add_node(node.name or "node", node)
    builder.add_edge(START, node.name or "node")
    return builder.compile()


def acting(act: Any) -> Any:
    """Return a graph whose only node does this."""
    return graph_of(Node("node", act))


async def test_a_runnable_is_invoked_or_awaited() -> None:
    async def awaited(value: str) -> str:
        return f"awaited {value}"

    def blocking(value: str) -> str:
        return f"blocking {value}"

    runnable = RunnableLambda(blocking, awaited)

    async def act(state: Any, config: Any, runtime: Any) -> dict[str, Any]:
        return {"value": await invoke(runnable, "x", config)}

    graph = acting(act)
    assert graph.invoke({})["value"] == "blocking x"
    assert (await graph.ainvoke({}))["value"] == "awaited x"


def test_a_node_that_awaits_in_a_sync_run_is_a_mistake_that_says_so() -> None:
    async def act(state: Any, config: Any, runtime: Any) -> None:
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="awaited something in a sync run"):
        acting(act).invoke({})


async def test_an_error_of_a_node_comes_through() -> None:
    async def act(state: Any, config: Any, runtime: Any) -> None:
        raise LookupError("as it is")

    graph = acting(act)
    with pytest.raises(LookupError, match="as it is"):
        graph.invoke({})
    with pytest.raises(LookupError, match="as it is"):
        await graph.ainvoke({})


async def test_an_edge_chooses_the_same_way_in_both() -> None:
    edge = Edge("edge", lambda state: state["value"])
    assert edge.invoke({"value": "a"}) == await edge.ainvoke({"value": "a"}) == "a"


class Waiting(Shelf):
    """A shelf whose reads wait until they are let go."""

    def __init__(self) -> None:
        super().__init__()
        self.began, self.go = threading.Semaphore(0), threading.Event()

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        self.began.release()
        assert self.go.wait(30)
        return ReadResult(file_data={"content": "read\n"}, total_lines=1)


async def test_the_event_loop_goes_on_while_backends_block() -> None:
    waiting = Waiting()
    running = asyncio.create_task(
        arun(
            [call("read_file", file_path="/a"), call("read_file", file_path="/b")],
            mounts={"/": waiting},
        )
    )
    # Both reads have begun before one of them ends, and this coroutine runs beside them.
    for _ in range(2):
        assert await asyncio.to_thread(waiting.began.acquire, timeout=30)
    assert not running.done()
    waiting.go.set()
    assert [reply.status for reply in answers(await running)] == ["success", "success"]


def test_blocking_calls_overlap_in_sync_graphs() -> None:
    waiting = Waiting()

    def let_go() -> None:
        assert waiting.began.acquire(timeout=30)
        assert waiting.began.acquire(timeout=30)
        waiting.go.set()

    helper = threading.Thread(target=let_go)
    helper.start()
    state = run(
        [call("read_file", file_path="/a"), call("read_file", file_path="/b")],
        mounts={"/": waiting},
    )
    helper.join()
    assert [reply.status for reply in answers(state)] == ["success", "success"]


async def test_a_run_that_is_cancelled_stops() -> None:
    class Endless(Shelf):
        async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
            began.set()
            await asyncio.Event().wait()
            raise AssertionError

    began = asyncio.Event()
    script = [says(call("read_file", file_path="/a"))]
    agent = create_filesystem_agent(ScriptedModel(script), mounts={"/": Endless()})
    running = asyncio.create_task(agent.ainvoke({"messages": [HumanMessage("go")]}))
    await began.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
