"""Subagents that work at the same time: nothing that they did is lost, and conflicts are told."""

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatResult

from langgraph_filesystem import aopen_sqlite, create_filesystem_agent
from tests.graph.runs import contents
from tests.scripted import ScriptedModel, answers, call, says

FILES = {"/shared": "one\ntwo\nthree\ncommon\n", "/doomed": "doomed\n", "/still": "still\n"}


class Restless(ScriptedModel):
    """A model that lets others go first, as often as chance will have it."""

    chance: random.Random

    def __init__(self, script: list[AIMessage], chance: random.Random) -> None:
        super().__init__(script, chance=chance)

    async def _agenerate(self, messages: Any, *args: Any, **options: Any) -> ChatResult:
        for _ in range(self.chance.randrange(20)):
            await asyncio.sleep(0)
        return self._generate(messages)


def read(path: str) -> Any:
    return call("read_file", file_path=path)


def edit(path: str, old: str, new: str) -> Any:
    return call("edit_file", file_path=path, old_string=old, new_string=new)


def write(path: str, content: str) -> Any:
    return call("write_file", file_path=path, content=content, overwrite=True)


def delete(path: str) -> Any:
    return call("delete", file_path=path)


class Team:
    """An agent whose subagents all work in one message, each a list of calls."""

    def __init__(self, *scripts: list[Any], seed: int = 0, checkpointer: Any = None) -> None:
        chance = random.Random(seed)
        self.models = [Restless([says(one) for one in script], chance) for script in scripts]
        names = [f"worker-{number}" for number in range(len(scripts))]
        calls = [call("task", description="work", subagent_type=name) for name in names]
        self.main = ScriptedModel([says(*calls)])
        self.agent = create_filesystem_agent(
            self.main,
            subagents=[
                {"name": name, "description": "Works.", "model": model}
                for name, model in zip(names, self.models, strict=True)
            ],
            general_purpose=False,
            checkpointer=checkpointer,
        )

    async def run(self, awaited: bool = True) -> dict[str, Any]:
        """Return the state in the end."""
        given: Any = {"messages": [HumanMessage("go")], "files": FILES}
        config: Any = {"configurable": {"thread_id": "1"}}
        if awaited:
            return await self.agent.ainvoke(given, config)
        return self.agent.invoke(given, config)

    def acknowledged(self, number: int) -> list[Any]:
        """Return the calls of a subagent that were answered without an error."""
        last = self.models[number].asked[-1]
        good = {m.tool_call_id for m in last if isinstance(m, ToolMessage) if m.status != "error"}
        made = [one for m in last if isinstance(m, AIMessage) for one in m.tool_calls]
        return [one for one in made if one["id"] in good]


def conflicts(state: Any) -> dict[str, str]:
    return {p: text for p, text in contents(state).items() if p.startswith("/conflicts/")}


both = pytest.mark.parametrize("awaited", [False, True], ids=["invoked", "awaited"])


@both
async def test_edits_of_different_files_and_places_all_land(awaited: bool) -> None:
    state = await Team(
        [read("/shared"), edit("/shared", "one", "ONE")],
        [read("/shared"), edit("/shared", "three", "THREE")],
        [read("/still"), edit("/still", "still", "moved")],
    ).run(awaited)
    assert contents(state) == {
        **FILES,
        "/shared": "ONE\ntwo\nTHREE\ncommon\n",
        "/still": "moved\n",
    }
    assert [reply.text for reply in answers(state)] == ["done"] * 3


@both
async def test_one_deletes_while_another_reads(awaited: bool) -> None:
    team = Team([delete("/doomed")], [read("/still"), read("/doomed")])
    state = await team.run(awaited)
    assert contents(state) == {path: text for path, text in FILES.items() if path != "/doomed"}
    assert [one["args"]["file_path"] for one in team.acknowledged(1)] == ["/still", "/doomed"]


CONFLICTS = [
    ([read("/shared"), edit("/shared", "common", "B")], "edit", "common\n=======\nB"),
    ([read("/shared"), write("/shared", "B")], "version", "Encoding: utf-8\n\nB"),
    ([delete("/shared")], "deletion", ""),
]


@both
@pytest.mark.parametrize(("second", "what", "kept"), CONFLICTS)
async def test_a_change_that_does_not_fit_is_kept_and_told_in_the_answer(
    awaited: bool, second: Any, what: str, kept: str
) -> None:
    team = Team([read("/shared"), edit("/shared", "common", "A")], second)
    state = await team.run(awaited)
    assert contents(state)["/shared"] == "one\ntwo\nthree\nA\n"
    [(path, text)] = conflicts(state).items()
    assert text.startswith(f"This {what} of /shared could not be applied")
    assert kept in text
    first, told = answers(state)
    assert first.text == "done"
    assert told.text == (
        "done\n\n[1 change could not be applied, because the files were changed in parallel: "
        f"see {path}]"
    )
    assert team.main.asked[-1][-1].text == told.text


async def test_of_two_new_files_with_one_path_neither_is_lost() -> None:
    state = await Team([write("/report", "from A")], [write("/report", "from B")]).run()
    assert contents(state)["/report"] == "from A"
    [text] = conflicts(state).values()
    assert text.endswith("\n\nfrom B")


async def test_the_same_result_twice_is_no_conflict() -> None:
    script = [write("/report", "same"), delete("/doomed")]
    state = await Team(script, script).run()
    assert conflicts(state) == {}
    assert contents(state)["/report"] == "same"


def random_script(chance: random.Random, name: str) -> list[Any]:
    """Return calls that change each file once at most, with a word that nobody else writes."""
    shared = [
        [],
        [edit("/shared", "one", f"{name}-a")],
        [edit("/shared", "two", f"{name}-b")],
        [edit("/shared", "common", f"{name}-c")],
        [edit("/shared", "one", f"{name}-d"), edit("/shared", "three", f"{name}-e")],
        [write("/shared", f"{name}-shared")],
        [delete("/shared")],
    ]
    doomed = [
        [],
        [edit("/doomed", "doomed", f"{name}-f")],
        [write("/doomed", f"{name}-whole")],
        [delete("/doomed")],
        [call("move", source="/doomed", destination=f"/moved-{name}")],
    ]
    parts = [
        [read("/shared"), *chance.choice(shared)],
        [read("/doomed"), *chance.choice(doomed)],
        chance.choice([[], [write("/report", f"{name}-report")]]),
        [write(f"/own-{name}", f"{name}-own"), read("/still")],
    ]
    chance.shuffle(parts)
    return [one for part in parts for one in part]


def check(team: Team, state: Any) -> None:
    """Everything that was acknowledged is in the files, or kept and told."""
    files, kept = contents(state), conflicts(state)
    replies = answers(state)
    for path in kept:
        assert [path in reply.text for reply in replies].count(True) == 1
    for number, reply in enumerate(replies):
        told = "\n".join(text for path, text in kept.items() if path in reply.text)
        for one in team.acknowledged(number):
            args = one["args"]
            if word := args.get("new_string") or args.get("content"):
                landed = [p for p, text in files.items() if word in text and p not in kept]
                assert landed or word in told
            if one["name"] == "delete" and args["file_path"] in files:
                assert f"This deletion of {args['file_path']} could not" in told


async def interleave(database: Path, seed: int) -> None:
    chance = random.Random(seed)
    scripts = [random_script(chance, name) for name in "ABC"[: chance.choice([2, 3])]]
    async with aopen_sqlite(database) as (checkpointer, _):
        team = Team(*scripts, seed=seed, checkpointer=checkpointer)
        state = await team.run()
        check(team, state)
        loaded = await team.agent.aget_state({"configurable": {"thread_id": "1"}})
        assert contents(loaded.values) == contents(state)


@pytest.mark.parametrize("seed", range(30))
async def test_random_interleavings_lose_nothing_and_tell_everything(
    seed: int, tmp_path: Path
) -> None:
    await interleave(tmp_path / "threads.db", seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(30, 300))
async def test_hundreds_of_interleavings_lose_nothing_and_tell_everything(
    seed: int, tmp_path: Path
) -> None:
    await interleave(tmp_path / "threads.db", seed)


@pytest.mark.parametrize("seed", range(300, 305))
async def test_threads_lose_nothing_and_tell_everything_either(seed: int) -> None:
    chance = random.Random(seed)
    team = Team(*(random_script(chance, name) for name in "ABC"), seed=seed)
    check(team, await team.run(awaited=False))
