"""`respond`: the last answer in the form of a schema."""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.tools import tool
from pydantic import BaseModel

from langgraph_filesystem import create_filesystem_agent
from tests.scripted import ScriptedModel, call, says


class Report(BaseModel):
    """What was done."""

    files: int


class Structured(ScriptedModel):
    """A scripted model that fills in a schema from what it was told."""

    told: list[Sequence[BaseMessage]]

    def with_structured_output(self, schema: Any, **_: Any) -> Runnable[Any, Any]:
        def fill(messages: Sequence[BaseMessage]) -> Any:
            self.told.append(messages)
            return {"files": 2} if isinstance(schema, dict) else schema(files=2)

        return RunnableLambda(fill)


@pytest.mark.parametrize(
    ("response_format", "response", "prompt"),
    [
        (Report, Report(files=2), None),
        (("Count the files.", Report), Report(files=2), "Count the files."),
        ({"title": "Report", "type": "object"}, {"files": 2}, None),
    ],
)
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_the_response_has_the_form_that_was_asked_for(
    response_format: Any, response: Any, prompt: str | None, mode: str
) -> None:
    model = Structured(script=[says(call("ls"))], told=[])
    agent = create_filesystem_agent(model, response_format=response_format)
    given: Any = {"messages": [HumanMessage("go")]}
    state = await agent.ainvoke(given) if mode == "async" else agent.invoke(given)
    assert state["structured_response"] == response
    [told] = model.told
    systems = [message.text for message in told if isinstance(message, SystemMessage)]
    assert systems == ([prompt] if prompt else [])
    assert isinstance(told[-1], AIMessage)
    assert told[-1].text == "done"


def test_without_a_form_there_is_no_node() -> None:
    assert "respond" not in create_filesystem_agent(ScriptedModel()).get_graph().nodes


def test_the_answer_of_a_tool_that_returns_directly_gets_the_form_too() -> None:
    @tool(return_direct=True)
    def final() -> str:
        """Give the last word."""
        return "the last word"

    model = Structured(script=[says(call("final"))], told=[])
    agent = create_filesystem_agent(model, [final], response_format=Report)
    state = agent.invoke({"messages": [HumanMessage("go")]})
    assert state["structured_response"] == Report(files=2)
    assert model.told[0][-1].text == "the last word"
