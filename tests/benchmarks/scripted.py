"""The chat model of every contestant: it says what it was told, and binds tools as others do."""

import time
from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr

__all__ = ("Call", "ScriptedModel", "call")

Call = tuple[str, dict[str, Any]]
"""A tool and its arguments: one turn."""


def call(name: str, **args: Any) -> Call:
    """Return a turn."""
    return name, args


class ScriptedModel(BaseChatModel):
    """A model that makes one call a turn and then says that it is done."""

    turns: Sequence[Call]
    _said: int = PrivateAttr(default=0)
    _asked_first: float = PrivateAttr(default=0.0)

    @property
    def asked_first(self) -> float:
        """When the run came to the model, by `time.perf_counter`."""
        return self._asked_first

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        """Convert the tools to schemas, as every provider's model does when tools are bound."""
        return self.bind(tools=[convert_to_openai_tool(item) for item in tools])

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        if not self._said:
            self._asked_first = time.perf_counter()
        message = self._message(self._said)
        self._said += 1
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _message(self, number: int) -> AIMessage:
        if number >= len(self.turns):
            return AIMessage("Done.")
        name, args = self.turns[number]
        made = {"name": name, "args": dict(args), "id": f"call_{number:024}", "type": "tool_call"}
        return AIMessage("", tool_calls=[made])
