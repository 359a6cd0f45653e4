"""A chat model that follows a script, and what tests need to run the real graph with it."""

import itertools
from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableLambda
from pydantic import Field

from langgraph_filesystem import create_filesystem_agent

_numbers = itertools.count(1)


class ScriptedModel(BaseChatModel):
    """Plays AI messages in order, one for each turn since the last human message, then ends.

    It counts the messages that it is given and keeps no place of its own, so that a run that is
    resumed or forked goes on where it should.
    """

    script: list[AIMessage]
    bound: list[Any] = Field(default_factory=list)
    """What was bound, in a list that copies of the model share."""
    asked: list[list[BaseMessage]] = Field(default_factory=list)
    """What the model was given at each turn."""

    structured: dict[str, Any] = Field(default_factory=dict)
    """What the model says when it is asked for a schema."""

    def __init__(self, script: Sequence[AIMessage] = (), **fields: Any) -> None:
        fields["script"] = list(script)
        super().__init__(**fields)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        self.bound.extend(tools)
        return self

    def with_structured_output(self, schema: Any, **kwargs: Any) -> Runnable[Any, Any]:
        return RunnableLambda(lambda messages: schema(**self.structured))

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.asked.append(messages)
        turn = 0
        for message in messages:
            turn = 0 if isinstance(message, HumanMessage) else turn + isinstance(message, AIMessage)
        answer = self.script[turn] if turn < len(self.script) else AIMessage("done")
        return ChatResult(generations=[ChatGeneration(message=answer.model_copy(deep=True))])


def call(name: str, id: str | None = None, **args: Any) -> dict[str, Any]:
    """Return a tool call as it stands in an AI message."""
    return {"name": name, "args": args, "id": id or f"call-{next(_numbers)}", "type": "tool_call"}


def says(*calls: dict[str, Any]) -> AIMessage:
    """Return an AI message with these calls."""
    return AIMessage("", tool_calls=list(calls))


def run(*turns: Any, files: Any = None, **options: Any) -> dict[str, Any]:
    """Run an agent whose model sends these calls, each a turn, a list of them in one message, or
    a message."""
    agent, given = _agent_and_input(turns, files, options)
    state: dict[str, Any] = agent.invoke(given)
    return state


async def arun(*turns: Any, files: Any = None, **options: Any) -> dict[str, Any]:
    """Do as `run` in an async graph."""
    agent, given = _agent_and_input(turns, files, options)
    state: dict[str, Any] = await agent.ainvoke(given)
    return state


def answer(*turns: Any, files: Any = None, **options: Any) -> ToolMessage:
    """Run the calls and return the answer to the last of them."""
    return answers(run(*turns, files=files, **options))[-1]


def answers(state: dict[str, Any]) -> list[ToolMessage]:
    """Return the tool messages of a state, in their order."""
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


def _agent_and_input(
    turns: Sequence[Any], files: Any, options: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    script = [
        turn if isinstance(turn, AIMessage) else says(*(turn if isinstance(turn, list) else [turn]))
        for turn in turns
    ]
    given: dict[str, Any] = {"messages": [HumanMessage("go")]}
    if files is not None:
        given["files"] = files
    return create_filesystem_agent(ScriptedModel(script), **options), given
