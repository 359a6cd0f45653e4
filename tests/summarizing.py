"""A chat model for long conversations, which remembers nothing but what it is sent."""

import json
import re
from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from pydantic import Field

from tests.scripted import call, says

_STEP = re.compile(r"\bc(\d+)\b")


class Worker(BaseChatModel):
    """Writes, reads and lists files, a step a turn, and writes notes when it is asked for them.

    It finds its place in what it is sent: in the ids of its calls, or in its notes. So a run that
    is resumed or forked goes on where it should.
    """

    steps: int
    large: bool = False
    """Whether some of the files that it writes and reads are larger than its window."""
    asked: list[list[BaseMessage]] = Field(default_factory=list)
    """What it was sent at each call, in a list that copies of the model share."""
    bound: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "worker"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        self.bound[:] = tools
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.asked.append(messages)
        answer = self._notes(messages) if is_for_notes(messages) else self._step(messages)
        return ChatResult(generations=[ChatGeneration(message=answer)])

    def _notes(self, messages: list[BaseMessage]) -> AIMessage:
        return AIMessage(f"Notes: everything up to c{_last_step(messages)} is done.")

    def _step(self, messages: list[BaseMessage]) -> AIMessage:
        step = _last_step(messages) + 1
        if step > self.steps:
            return AIMessage("done")
        return says(
            call("write_file", f"c{step}", file_path=f"/f{step}.txt", content=text_of(step, self)),
            call("read_file", f"r{step}", file_path=f"/f{step - step % 2}.txt"),
            call("ls", f"l{step}", path="/nowhere"),
        )


def text_of(step: int, worker: Worker) -> str:
    """Return what is written in a step."""
    lines = 2_000 if worker.large and step % 7 == 0 else 5 + step % 40
    return "".join(f"step {step}, line {line}\n" for line in range(lines))


def is_for_notes(messages: Sequence[BaseMessage]) -> bool:
    """Say whether a model is asked for a summary."""
    return isinstance(messages[0], SystemMessage) and "You write the notes" in messages[0].text


def tokens(model: Worker, messages: Sequence[BaseMessage]) -> int:
    """Return about how many tokens a call takes, counted by LangChain."""
    schemas = "" if is_for_notes(messages) else json.dumps(model.bound)
    return count_tokens_approximately(messages) + len(schemas) // 4


def unpaired(messages: Sequence[BaseMessage]) -> list[str]:
    """Return the ids of calls without answers and of answers without calls."""
    wanted: list[str] = []
    problems: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage) and message.tool_call_id in wanted:
            wanted.remove(message.tool_call_id)
        elif isinstance(message, ToolMessage):
            problems.append(message.tool_call_id)
        else:
            problems += wanted
            calls = message.tool_calls if isinstance(message, AIMessage) else []
            wanted = [str(one["id"]) for one in calls]
    return problems + wanted


def _last_step(messages: Sequence[BaseMessage]) -> int:
    ids = [c["id"] for m in messages if isinstance(m, AIMessage) for c in m.tool_calls]
    said = [m.text for m in messages if not isinstance(m, SystemMessage | ToolMessage)]
    found = _STEP.findall("\n".join([*map(str, ids), *said]))
    return max(map(int, found), default=0)
