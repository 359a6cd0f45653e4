"""Models by name: made once, bounded in number, and refused with a reason."""

from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from pydantic import BaseModel

from langgraph_filesystem import create_filesystem_agent
from langgraph_filesystem.nodes import models
from langgraph_filesystem.nodes.choices import Choices
from langgraph_filesystem.nodes.models import Models
from tests.scripted import ScriptedModel

GIVEN: Any = {"messages": [HumanMessage("go")]}


class Loading(Models):
    """Models that are scripted: each says its own name."""

    def __init__(self) -> None:
        super().__init__(ScriptedModel([AIMessage("usual")]))
        self.loaded: list[str] = []

    def load(self, name: str) -> BaseChatModel:
        self.loaded.append(name)
        if name.startswith("bad"):
            raise ConnectionError("no such provider")
        return ScriptedModel([AIMessage(name)])


class Here:
    """Slow things done at once."""

    async def call(self, target: Any, method: str, *args: Any, **_: Any) -> Any:
        return getattr(target, method)(*args)


IO: Any = Here()


async def test_a_model_is_made_once() -> None:
    loading = Loading()
    assert await loading.get("", IO) is loading.usual
    first = await loading.get("one", IO)
    assert await loading.get("one", IO) is first
    assert await loading.get("two", IO) is not first
    assert loading.loaded == ["one", "two"]


async def test_no_more_than_some_stay_loaded() -> None:
    loading = Loading()
    for number in range(models._KEPT + 5):
        await loading.get(f"m{number}", IO)
    await loading.get(f"m{models._KEPT + 4}", IO)
    assert len(loading.loaded) == models._KEPT + 5
    await loading.get("m0", IO)
    assert loading.loaded[-1] == "m0"


async def test_one_that_can_not_be_made_is_refused_with_the_reason() -> None:
    with pytest.raises(ValueError, match=r"The model 'bad' can't be used: .*no such provider"):
        await Loading().get("bad", IO)


class Verdict(BaseModel):
    """What is asked for at the end."""

    good: bool


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_runs_choose_among_models(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[str, Any] = {}

    def load(name: Any) -> Any:
        if not isinstance(name, str):
            return name
        made[name] = ScriptedModel([AIMessage(name)], structured={"good": name == "one"})
        return made[name]

    monkeypatch.setattr(models, "load_model", load)
    usual = ScriptedModel([AIMessage("usual")], structured={"good": False})
    agent = create_filesystem_agent(usual, context_schema=Choices, response_format=Verdict)

    async def said(name: str) -> Any:
        context = {"model": name} if name else {}
        if mode == "async":
            return await agent.ainvoke(GIVEN, context=context)
        return agent.invoke(GIVEN, context=context)

    for name, good in (("one", True), ("two", False), ("", False), ("one", True)):
        state = await said(name)
        assert state["messages"][-1].text == (name or "usual")
        assert state["structured_response"].good is good
    assert set(made) == {"one", "two"}
    assert all(model.bound for model in made.values())
