"""What a server asks of a checkpointer, as tests that run on each of ours."""

from abc import abstractmethod
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.types import Overwrite

from langgraph_filesystem import create_filesystem_agent
from tests.scripted import ScriptedModel, call, says


def config_of(thread: str = "1", run: str = "") -> Any:
    """Return the configuration of a run, as a server names it."""
    return {"configurable": {"thread_id": thread}, "metadata": {"run_id": run} if run else {}}


def agent_on(saver: Any, *turns: Any, **options: Any) -> Any:
    """Return an agent whose model makes these calls."""
    return create_filesystem_agent(ScriptedModel(turns), checkpointer=saver, **options)


def writes(*names: str) -> Any:
    """Return a turn that writes files, all at once."""
    return says(*(call("write_file", file_path=f"/{name}", content=name) for name in names))


def asked(text: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


async def history_of(agent: Any, thread: str = "1") -> list[Any]:
    return [snapshot async for snapshot in agent.aget_state_history(config_of(thread))]


async def everything(saver: Any, thread: str = "1") -> str:
    """Return all that is stored of a thread."""
    return str([found async for found in saver.alist(config_of(thread))])


class ServedSaverSuite:
    """Inherited for each saver."""

    @abstractmethod
    def opened(self, path: Path) -> AbstractAsyncContextManager[Any]:
        """Open the saver."""

    async def test_a_run_that_is_taken_back_leaves_nothing(self, tmp_path: Path) -> None:
        async with self.opened(tmp_path / "db") as saver:
            first = agent_on(saver, writes("a", "b"))
            await first.ainvoke(asked("first"), config_of(run="r1"))
            before = await history_of(first)
            second = agent_on(saver, writes("secret"), says(call("ls")), interrupt_before=["ls"])
            await second.ainvoke(asked("secret question"), config_of(run="r2"))
            assert "secret" in await everything(saver)
            await saver.adelete_for_runs(["r2"])
            after = await history_of(first)
            assert [then.values for then in after] == [then.values for then in before]
            assert "secret" not in await everything(saver)
            third = agent_on(saver, writes("c"))
            state = await third.ainvoke(asked("third"), config_of(run="r3"))
            assert set(state["files"]) == {"/a", "/b", "/c"}
            said = [m.text for m in state["messages"] if m.type == "human"]
            assert said == ["first", "third"]
            stored = (await third.aget_state(config_of())).values
            assert {key: stored[key] for key in state} == state

    async def test_the_first_run_of_a_thread_can_be_taken_back(self, tmp_path: Path) -> None:
        async with self.opened(tmp_path / "db") as saver:
            agent = agent_on(saver, writes("a"))
            await agent.ainvoke(asked("first"), config_of(run="r1"))
            await agent.ainvoke(asked("other"), config_of("2", run="r9"))
            await saver.adelete_for_runs(["r1"])
            assert await history_of(agent) == []
            state = await agent.ainvoke(asked("again"), config_of(run="r2"))
            assert [m.text for m in state["messages"] if m.type == "human"] == ["again"]
            assert (await history_of(agent, "2"))[0].values["files"].keys() == {"/a"}

    async def test_what_a_later_run_is_built_on_stays(self, tmp_path: Path) -> None:
        async with self.opened(tmp_path / "db") as saver:
            await agent_on(saver, writes("a")).ainvoke(asked("first"), config_of(run="r1"))
            agent = agent_on(saver, writes("b"))
            await agent.ainvoke(asked("second"), config_of(run="r2"))
            before = [then.values for then in await history_of(agent)]
            await saver.adelete_for_runs(["r1", "r-unknown"])
            assert [then.values for then in await history_of(agent)] == before

    async def test_a_copy_is_the_thread_with_its_order(self, tmp_path: Path) -> None:
        async with self.opened(tmp_path / "db") as saver:
            names = [f"f{n}" for n in range(6)]
            agent = agent_on(saver, writes(*names), says(call("ls")))
            for text in ("one", "two"):
                await agent.ainvoke(asked(text), config_of(run=text))
            await saver.acopy_thread("1", "copy")
            source, target = await history_of(agent), await history_of(agent, "copy")
            assert [then.values for then in target] == [then.values for then in source]
            assert {then.config["configurable"]["thread_id"] for then in target} == {"copy"}
            assert [then.next for then in target] == [then.next for then in source]
            more = agent_on(saver, writes("more"))
            state = await more.ainvoke(asked("three"), config_of("copy"))
            assert "/more" in state["files"]
            assert await history_of(agent) == source

    async def test_pruning_keeps_the_present_and_drops_the_past(self, tmp_path: Path) -> None:
        async with self.opened(tmp_path / "db") as saver:
            for number in range(3):
                agent = agent_on(saver, writes(f"f{number}", f"g{number}"))
                await agent.ainvoke(asked(f"{number}"), config_of())
            whole = (await agent.aget_state(config_of())).values
            # Written as a whole, a channel is stored as a whole: the past is not needed any more.
            update = {key: Overwrite(whole[key]) for key in ("messages", "files", "seen")}
            await agent.aupdate_state(config_of(), update, as_node="evict")
            await agent_on(saver, writes("last")).ainvoke(asked("last"), config_of())
            await agent.ainvoke(asked("other"), config_of("2"))
            before = await history_of(agent)
            await saver.aprune(["1"], strategy="keep_latest")
            after = await history_of(agent)
            assert after[0].values == before[0].values
            assert len(after[0].values["files"]) == 7
            assert len(after) < len(before) / 2
            state = await agent_on(saver, writes("more")).ainvoke(asked("on"), config_of())
            assert len(state["files"]) == 8
            assert len(state["messages"]) == len(before[0].values["messages"]) + 4
            assert await history_of(agent, "2")

    async def test_pruning_keeps_what_the_present_is_rebuilt_from(self, tmp_path: Path) -> None:
        async with self.opened(tmp_path / "db") as saver:
            for number in range(3):
                agent = agent_on(saver, writes(f"f{number}"))
                await agent.ainvoke(asked(f"{number}"), config_of())
            before = await history_of(agent)
            await saver.aprune(["1"], strategy="keep_latest")
            assert (await history_of(agent))[0].values == before[0].values

    @pytest.mark.parametrize("strategy", ["delete", "delete_all"])
    async def test_pruning_can_delete_whole_threads(self, tmp_path: Path, strategy: str) -> None:
        async with self.opened(tmp_path / "db") as saver:
            agent = agent_on(saver, writes("a"))
            await agent.ainvoke(asked("x"), config_of("1"))
            await agent.ainvoke(asked("x"), config_of("2"))
            await saver.aprune(["1"], strategy=strategy)
            assert await history_of(agent, "1") == []
            assert await history_of(agent, "2")

    async def test_a_strategy_that_there_is_not_is_refused(self, tmp_path: Path) -> None:
        async with self.opened(tmp_path / "db") as saver:
            with pytest.raises(ValueError, match="no strategy 'half'"):
                await saver.aprune(["1"], strategy="half")
