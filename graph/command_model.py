"""`CommandModel`: a chat model without a key, which turns typed commands into tool calls.

`commands.py` describes the commands.
"""

import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    ToolCall,
    ToolMessage,
)
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from langgraph_filesystem.commands import (
    Call,
    Command,
    Unreadable,
    bound_commands,
    excerpt,
    manual,
    read_calls,
)
from langgraph_filesystem.nodes.tools import describes_function

__all__ = ("CommandModel",)

_SHOWN_LINES = 20
"""Lines of an answer in the summary at the end."""
_TOKEN = re.compile(r"\s*\S+|\s+")


class CommandModel(BaseChatModel):
    """A chat model that sends the commands in the last human message, and reports the answers.

    It has no state: the number of AI messages after the human one says which group of commands is
    next. So a run can be resumed and forked as with any other model.
    """

    @property
    def _llm_type(self) -> str:
        return "command"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Offer these tools as commands. `tool_choice` is ignored: the person chooses.

        Tools that a provider would run have no command, as there is no provider.
        """
        typed = [tool for tool in tools if not isinstance(tool, dict) or describes_function(tool)]
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in typed], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        reply = _reply(messages, bound_commands(kwargs.get("tools")))
        return ChatResult(generations=[ChatGeneration(message=reply)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        # The inherited method would use a worker thread for pure computation.
        return self._generate(messages, **kwargs)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in _chunks(_reply(messages, bound_commands(kwargs.get("tools")))):
            yield ChatGenerationChunk(message=chunk)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._stream(messages, **kwargs):
            yield chunk


def _reply(messages: Sequence[BaseMessage], commands: Mapping[str, Command]) -> AIMessage:
    """Return the next group of commands, or the summary that ends the run."""
    request, since = _last_request(messages)
    if request.split(maxsplit=1)[:1] in ([], ["help"]) and "help" not in commands:
        return AIMessage(manual(commands))
    try:
        groups = read_calls(request, commands)
    except Unreadable as error:
        return AIMessage(f"{error}\n\n{manual(commands)}")
    sent = sum(isinstance(message, AIMessage) for message in since)
    if sent < len(groups):
        return AIMessage("", tool_calls=[_tool_call(call) for call in groups[sent]])
    return AIMessage(_summary(since) if groups else manual(commands))


def _last_request(messages: Sequence[BaseMessage]) -> tuple[str, Sequence[BaseMessage]]:
    """Return the text of the last human message, and the messages after it."""
    for place in range(len(messages) - 1, -1, -1):
        if isinstance(messages[place], HumanMessage):
            return _text(messages[place].content), messages[place + 1 :]
    return "", ()


def _text(content: Any) -> str:
    # `BaseMessage.text` joins blocks without a newline, which would join two commands.
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else ()
    texts = (block.get("text") if isinstance(block, dict) else block for block in blocks)
    return "\n".join(text for text in texts if isinstance(text, str))


def _tool_call(call: Call) -> ToolCall:
    made = f"call_{uuid4().hex}"
    return ToolCall(name=call.name, args=call.args, id=made, type="tool_call")


def _summary(since: Sequence[BaseMessage]) -> str:
    answers = [message for message in since if isinstance(message, ToolMessage)]
    return "\n".join(map(_outcome, answers)) or "Done, but no tool has answered."


def _outcome(answer: ToolMessage) -> str:
    outcome = "error" if answer.status == "error" else "ok"
    lines = [excerpt(line) for line in _text(answer.content).strip().split("\n")]
    shown = lines[:_SHOWN_LINES]
    if len(lines) > len(shown):
        shown.append(f"[{len(lines) - len(shown):,} more lines]")
    name = f"- `{answer.name or answer.tool_call_id}` {outcome}"
    if len(shown) == 1:
        return f"{name}: {shown[0]}" if shown[0] else name
    return "\n".join([f"{name}:", *(f"      {line}" for line in shown)])


def _chunks(reply: AIMessage) -> Iterator[AIMessageChunk]:
    for token in _TOKEN.findall(str(reply.content)):
        yield AIMessageChunk(content=token)
    for index, call in enumerate(reply.tool_calls):
        args = json.dumps(call["args"])
        piece = tool_call_chunk(name=call["name"], args=args, id=call["id"], index=index)
        yield AIMessageChunk(content="", tool_call_chunks=[piece])
