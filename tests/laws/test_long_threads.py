"""How a thread grows: a turn costs the same however many came before it, and so does loading."""

import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from langgraph_filesystem import create_filesystem_agent
from tests import forked
from tests.databases import open_database, size_of
from tests.graph.runs import contents
from tests.scripted import call, says

CHANNELS = ("messages", "files", "seen")
CONFIG: Any = {"configurable": {"thread_id": "1"}, "recursion_limit": 1_000_000}


class Editor(BaseChatModel):
    """Makes one small edit a turn, of one file after the other, from the turn that it is told."""

    files: int
    turns: int
    """How many turns it goes on."""

    @property
    def _llm_type(self) -> str:
        return "editor"

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **options: Any,
    ) -> ChatResult:
        done = 0
        for message in reversed(messages):
            if isinstance(message, HumanMessage):
                break
            done += isinstance(message, AIMessage)
        answer = self._edit(int(message.text) + done) if done < self.turns else AIMessage("done")
        return ChatResult(generations=[ChatGeneration(message=answer)])

    def _edit(self, turn: int) -> AIMessage:
        path, edits = f"/f{turn % self.files}.txt", turn // self.files
        new = f"line {turn} of text <{edits + 1}>"
        return says(call("edit_file", file_path=path, old_string=f"<{edits}>", new_string=new))


class Thread:
    """A thread that is opened anew for each of its runs."""

    def __init__(self, database: Path, *, files: int, size: int, turns: int) -> None:
        self.database = database
        self.files = files
        self.turns = turns
        """How many of them a run has."""
        self.length = 0
        self._begun = {f"/f{n}.txt": "x" * size + "<0>" for n in range(files)}

    def go_on(self) -> None:
        """Run once more, on a new connection."""
        given: dict[str, Any] = {"messages": [HumanMessage(str(self.length))]}
        if not self.length:
            given["files"] = self._begun
        with open_database(self.database) as (checkpointer, _):
            self._agent(checkpointer).invoke(given, CONFIG, durability="async")
        self.length += self.turns

    def go_on_until(self, length: int) -> None:
        while self.length < length:
            self.go_on()

    def replayed(self) -> dict[str, int]:
        """Return how many writes are replayed to load each channel."""
        with open_database(self.database) as (checkpointer, _):
            found = checkpointer.get_delta_channel_history(config=CONFIG_OF_ROOT, channels=CHANNELS)
        return {channel: len(history["writes"]) for channel, history in found.items()}

    def check(self) -> None:
        """Load the thread, and look at all that it holds."""
        values = self.load()
        assert contents(values) == self._expected()
        runs = self.length // self.turns
        assert len(values["messages"]) == 2 * self.length + 2 * runs
        answers = [m for m in values["messages"] if isinstance(m, ToolMessage)]
        assert len(answers) == self.length
        assert all(answer.status == "success" for answer in answers)

    def load(self) -> dict[str, Any]:
        with open_database(self.database) as (checkpointer, _):
            values: dict[str, Any] = self._agent(checkpointer).get_state(CONFIG).values
        return values

    def _agent(self, checkpointer: Any) -> Any:
        editor = Editor(files=self.files, turns=self.turns)
        return create_filesystem_agent(editor, checkpointer=checkpointer, read_before_edit=False)

    def _expected(self) -> dict[str, str]:
        return {
            f"/f{n}.txt": self._begun[f"/f{n}.txt"].removesuffix("<0>")
            + "".join(f"line {turn} of text " for turn in range(n, self.length, self.files))
            + f"<{len(range(n, self.length, self.files))}>"
            for n in range(self.files)
        }


CONFIG_OF_ROOT: Any = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}


@pytest.mark.usefixtures("database")
def test_a_turn_costs_the_same_in_a_long_thread(tmp_path: Path) -> None:
    thread = Thread(tmp_path / "db", files=5, size=5_000, turns=25)
    sizes, replayed = [], []
    while thread.length < 175:
        thread.go_on()
        sizes.append(size_of(thread.database))
        replayed.append(thread.replayed())
    # Snapshots fall on different turns, so stretches of 50 turns are compared.
    first, second = sizes[2] - sizes[0], sizes[6] - sizes[4]
    assert second < 1.25 * first, sizes
    # A channel this small has a snapshot long before its 100th update.
    assert max(max(counts.values()) for counts in replayed) <= 104, replayed
    # None of this would say anything if no snapshot had come, or nothing were replayed.
    assert any(later["messages"] < sooner["messages"] for sooner, later in pairwise(replayed))
    assert any(later["files"] < sooner["files"] for sooner, later in pairwise(replayed))
    thread.check()
    assert in_new_process(thread) == 175


def in_new_process(thread: Thread) -> int:
    """Return how many edits of the thread a process finds that knows nothing of it."""
    return forked.call(edits_in, thread.database)


def edits_in(database: Path) -> int:
    values = Thread(database, files=1, size=1, turns=1).load()
    return sum(file["content"].count("line ") for file in values["files"].values())


def test_snapshots_are_spaced_by_size(tmp_path: Path) -> None:
    """A channel of many characters is not stored as a whole after a few updates."""
    thread = Thread(tmp_path / "db", files=2, size=300_000, turns=30)
    thread.go_on_until(180)
    replayed = thread.replayed()
    # 600,000 characters at 1,536 an update are 390 updates; messages are much smaller.
    assert replayed["files"] > 170
    assert replayed["messages"] <= 104
    thread.check()


@pytest.mark.soak
def test_the_10_000th_turn_costs_what_the_first_ones_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    thread = Thread(tmp_path / "db", files=20, size=80_000, turns=100)
    sizes = {}
    # Time of the processor, as a run of many minutes may be held up.
    for length in (100, 1_000, 2_500, 5_000, 7_500, 10_000):
        began, since = time.process_time(), thread.length
        thread.go_on_until(length)
        turn = (time.process_time() - began) / (length - since)
        sizes[length] = size_of(thread.database)
        began = time.process_time()
        values = thread.load()
        took = time.process_time() - began
        with capsys.disabled():
            print(
                f"\n{length:,} turns: {sizes[length] / 1e6:.1f} MB,"
                f" {sizes[length] / length:,.0f} bytes a turn, {1000 * turn:.0f} ms a turn,"
                f" loaded in {took:.2f} s, {len(values['messages']):,} messages,"
                f" replayed {thread.replayed()}"
            )
    thread.check()
    # Measured: 17,700, of which the versions of LangGraph's channels are a third.
    assert sizes[10_000] / 10_000 < 20_000
    assert sizes[10_000] - sizes[5_000] < 1.3 * (sizes[5_000] - sizes[100])
    # As many characters for each update as `state/channels.py` says, whatever the length.
    written = sum(len(str(message.content)) for message in values["messages"])
    assert thread.replayed()["messages"] <= max(100, written // 100)
    assert in_new_process(thread) == 10_000
