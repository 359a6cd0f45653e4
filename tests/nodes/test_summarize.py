"""`summarize`: a conversation of any length fits into the window, and nothing of it is lost."""

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph, add_messages
from typing_extensions import TypedDict

from langgraph_filesystem import (
    FileData,
    FilesystemBackend,
    FilesystemState,
    Summarize,
    create_filesystem_agent,
    filesystem_node,
    merge_files,
)
from tests.graph.runs import THREAD, contents, opened_runs
from tests.nodes.backends import Shelf
from tests.scripted import ScriptedModel, answers, call, says
from tests.snapshots import assert_snapshot
from tests.summarizing import Worker, is_for_notes, text_of, tokens, unpaired

GO: Any = {"messages": [HumanMessage("Do every step.", id="go")]}
WINDOW = 6_000
HISTORY = "/conversation_history/1.md"


def worker(steps: int, **options: Any) -> Worker:
    return Worker(steps=steps, profile={"max_input_tokens": WINDOW}, **options)


def is_summary(message: BaseMessage) -> bool:
    return "summarized_to" in message.additional_kwargs


def notes_asked(model: Any) -> list[list[BaseMessage]]:
    return [messages for messages in model.asked if is_for_notes(messages)]


def check_calls(model: Worker) -> None:
    for messages in model.asked:
        assert unpaired(messages) == []
        assert tokens(model, messages) <= WINDOW


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"keep": 0.9}, "must keep less than 0.8"),
        ({"over": 100, "keep": 100}, "must keep less than 100"),
        ({"over": True}, "`over` of `summarize`"),
        ({"keep": -1}, "`keep` of `summarize`"),
        ({"prompt": 5}, "must be text"),
    ],
)
def test_limits_that_make_no_sense_are_refused(options: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Summarize(**options)


def test_tokens_kept_are_compared_with_a_share_of_the_window() -> None:
    with pytest.raises(ValueError, match="must keep less than 4,800 tokens, not 5,000"):
        create_filesystem_agent(worker(1), summarize=Summarize(over=0.8, keep=5_000))


# A long conversation.


@pytest.mark.parametrize(("awaited", "mount"), [(False, "state"), (True, "disk")])
async def test_a_long_run_fits_into_a_small_window_and_can_be_read_back(
    awaited: bool, mount: str, tmp_path: Path
) -> None:
    await check_long_run(100, awaited, mount, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("mount", ["state", "disk"])
async def test_300_turns_fit_into_a_small_window_and_can_be_read_back(
    awaited: bool, mount: str, tmp_path: Path
) -> None:
    await check_long_run(300, awaited, mount, tmp_path)


async def check_long_run(turns: int, awaited: bool, mount: str, tmp_path: Path) -> None:
    model = worker(turns, large=mount == "disk")
    (tmp_path / "disk").mkdir()
    mounts = {"/": FilesystemBackend(tmp_path / "disk")} if mount == "disk" else None
    async with opened_runs(tmp_path / "db", awaited) as runs:
        agent = create_filesystem_agent(
            model, mounts=mounts, summarize=True, checkpointer=runs.checkpointer
        )
        state = await runs.invoke(agent, GO)
    check_calls(model)
    assert len(notes_asked(model)) > turns // 30
    assert state["messages"][-1].text == "done"
    assert is_summary(state["messages"][0])
    if mount == "disk":
        history = (tmp_path / "disk" / HISTORY[1:]).read_text()
    else:
        history = contents(state)[HISTORY]
    left = {one["id"] for m in state["messages"] for one in getattr(m, "tool_calls", ())}
    gone = [step for step in range(1, turns + 1) if f"c{step}" not in left]
    assert len(gone) > turns - 20
    for step in gone:
        assert f"Calls `write_file` (c{step}):" in history
        assert text_of(step, model) in history
        for id in (f"c{step}", f"r{step}", f"l{step}"):
            assert f"({id})" in history.partition(f"(c{step}):")[2]
    assert history.startswith("# History of a conversation\n\n## User\n\nDo every step.\n")


def test_a_summary_costs_as_much_late_in_a_thread_as_early(tmp_path: Path) -> None:
    from tests.databases import open_database, size_of

    sizes = []
    for turns in (50, 100, 150):
        path = tmp_path / f"{turns}.db"
        with open_database(path) as (checkpointer, _):
            agent = create_filesystem_agent(
                worker(turns), summarize=True, checkpointer=checkpointer
            )
            agent.invoke(GO, THREAD)
        sizes.append(size_of(path))
    assert sizes[2] - sizes[1] < 1.5 * (sizes[1] - sizes[0])


def test_a_fork_from_before_a_summary_has_every_turn() -> None:
    agent = create_filesystem_agent(worker(40), summarize=True, checkpointer=InMemorySaver())
    agent.invoke(GO, THREAD)
    states = list(agent.get_state_history(THREAD))
    whole = next(
        s for s in states if s.next == ("summarize",) and s.values["messages"][0].id == "go"
    )
    assert len(answers(whole.values)) > 10
    assert whole.values["messages"][0].text == "Do every step."
    assert HISTORY not in whole.values["files"]
    again = agent.invoke(None, whole.config)
    assert is_summary(again["messages"][0])
    assert "(c1):" in contents(again)[HISTORY]


# What the model reads.


def test_the_summary_tells_what_it_is_and_the_next_one_builds_on_it() -> None:
    model = worker(40)
    agent = create_filesystem_agent(model, summarize=True, checkpointer=InMemorySaver())
    state = agent.invoke(GO, THREAD)
    [first, second, *_] = notes_asked(model)
    assert_snapshot("summary_request.txt", f"{first[0].text}\n\n{first[1].text[:700]}\n...\n")
    assert "Do every step." in first[1].text
    assert second[1].text.startswith("## Summary of the turns before\n\n[Older turns")
    assert "Notes: everything up to c" in second[1].text
    summary = state["messages"][0]
    assert summary.type == "human"
    assert_snapshot("summary.txt", summary.text + "\n")
    assert sum(map(is_summary, state["messages"])) == 1


def test_a_prompt_of_your_own_is_used() -> None:
    class Clerk(Worker):
        def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> ChatResult:
            if "Write a haiku." in messages[0].text:
                said.append(messages[0].text)
            return super()._generate(messages, *args, **options)

    said: list[str] = []
    model = Clerk(steps=20, profile={"max_input_tokens": WINDOW})
    chosen = Summarize(over=4_000, keep=500, prompt="Write a haiku.")
    create_filesystem_agent(model, summarize=chosen).invoke(GO)
    assert said


def test_a_request_that_is_still_there_is_not_repeated_and_a_new_one_takes_its_place() -> None:
    agent = create_filesystem_agent(worker(15), summarize=True, checkpointer=InMemorySaver())
    agent.invoke(GO, THREAD)
    more = agent.invoke({"messages": [HumanMessage("And c0 the rest.")]}, THREAD)
    [summary] = [m for m in more["messages"] if is_summary(m)]
    assert "Do every step." in summary.text
    ended = create_filesystem_agent(worker(60), summarize=True, checkpointer=agent.checkpointer)
    last = ended.invoke({"messages": [HumanMessage("Now the others.")]}, THREAD)
    assert "[The user's last request:]\n\nNow the others." in last["messages"][0].text
    assert "Do every step." not in last["messages"][0].text


def test_a_request_keeps_its_media() -> None:
    png = base64.b64encode(b"\x89PNG\r\n\x1a\n\xff").decode()
    image = {"type": "image", "base64": png, "mime_type": "image/png"}
    model = Worker(steps=150, profile={"max_input_tokens": 20_000})
    request: Any = [{"type": "text", "text": "Draw this."}, image]
    agent = create_filesystem_agent(model, summarize=True)
    state = agent.invoke({"messages": [HumanMessage(request)]})
    assert len(notes_asked(model)) > 1
    assert state["messages"][0].content[1:] == [image]
    assert "Draw this.\n[image/png]\n" in contents(state)["/conversation_history/conversation.md"]


def test_the_tokens_of_a_summary_are_not_streamed() -> None:
    model = worker(40)
    agent = create_filesystem_agent(model, summarize=True)
    streamed = [m for m, _ in agent.stream(GO, stream_mode="messages") if isinstance(m, AIMessage)]
    assert notes_asked(model)
    assert not [message for message in streamed if "Notes:" in message.text]


# What goes first, and what is cut.


def writing(size: int, count: int) -> list[AnyMessage]:
    """Return a conversation that has written some files."""
    messages: list[AnyMessage] = [HumanMessage("Write.", id="h")]
    for n in range(count):
        args = {"file_path": f"/{n}", "content": f"<{n}>" + "x" * size}
        messages.append(AIMessage("", tool_calls=[call("write_file", f"w{n}", **args)], id=f"a{n}"))
        messages.append(ToolMessage("Wrote it.", tool_call_id=f"w{n}", id=f"t{n}"))
    return messages


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_arguments_of_old_writes_are_cut_first_without_a_model(mode: str) -> None:
    model = ScriptedModel(profile={"max_input_tokens": 10_000})
    agent = create_filesystem_agent(model, summarize=True, checkpointer=InMemorySaver())
    messages = writing(3_000, 10)
    # A provider's own copies of the arguments.
    messages[1].content = [{"type": "tool_use", "id": "w0", "name": "write_file", "input": {}}]
    args = messages[1].tool_calls[0]["args"]  # type: ignore[union-attr]
    messages[1].content[0]["input"] = args  # type: ignore[index]
    given: Any = {"messages": messages}
    state = await agent.ainvoke(given, THREAD) if mode == "async" else agent.invoke(given, THREAD)
    assert len(model.asked) == 1
    calls = [m.tool_calls[0] for m in state["messages"] if getattr(m, "tool_calls", None)]
    assert [one["id"] for one in calls] == [f"w{n}" for n in range(10)]
    assert [m.id for m in state["messages"][:-1]] == [m.id for m in messages]
    texts = [one["args"]["content"] for one in calls]
    assert len(texts[0]) <= 400
    assert f"of 3,003 characters the middle is left out; all of it is in {HISTORY}" in texts[0]
    assert state["messages"][1].content[0]["input"]["content"] == texts[0]
    assert texts[-1] == "<9>" + "x" * 3_000, "the newest stay as they are"
    history = contents(state)[HISTORY]
    assert "## Cut in the conversation" in history
    assert "<0>" + "x" * 3_000 in history
    assert unpaired(model.asked[0]) == []


def test_an_answer_that_is_larger_than_the_window_is_cut_and_kept_whole() -> None:
    model = ScriptedModel(
        [says(call("read_file", file_path="/big", limit=10_000))],
        profile={"max_input_tokens": WINDOW},
    )
    big = "".join(f"line {n}\n" for n in range(9_000))
    agent = create_filesystem_agent(model, summarize=True, checkpointer=InMemorySaver())
    state = agent.invoke({**GO, "files": {"/big": big}}, THREAD)
    [answer] = answers(state)
    assert f"all of it is in {HISTORY}" in answer.text
    assert answer.text.startswith("     1\tline 0\n")
    assert "line 4000\n" in contents(state)[HISTORY]
    assert unpaired(model.asked[-1]) == []


def test_a_request_that_is_larger_than_the_window_is_cut_and_kept_whole() -> None:
    model = ScriptedModel(profile={"max_input_tokens": WINDOW})
    long = HumanMessage("".join(f"wish {n}\n" for n in range(5_000)))
    agent = create_filesystem_agent(model, summarize=True, evict_over=None)
    state = agent.invoke({"messages": [long]})
    assert len(model.asked[0][-1].text) < 4 * WINDOW
    assert long.text in contents(state)["/conversation_history/conversation.md"]


# Where the history goes.


def test_a_mount_that_refuses_the_history_leaves_it_in_the_thread() -> None:
    class Locked(Shelf):
        def write(self, file_path: str, content: str) -> Any:
            raise PermissionError("no")

        def edit(self, *args: Any, **options: Any) -> Any:
            raise PermissionError("no")

    model = worker(30)
    agent = create_filesystem_agent(
        model, mounts={"/": Locked()}, summarize=True, checkpointer=InMemorySaver()
    )
    agent.invoke(GO, THREAD)
    reader = create_filesystem_agent(
        ScriptedModel([says(call("read_file", file_path=HISTORY, limit=5))]),
        mounts={"/": Locked()},
        checkpointer=agent.checkpointer,
    )
    state = reader.invoke({"messages": [HumanMessage("read")]}, THREAD)
    assert "Do every step." in answers(state)[-1].text


@pytest.mark.parametrize("change", [None, "somebody's own text", "<!-- the end"])
def test_a_history_that_somebody_changed_or_deleted_is_left_alone(change: str | None) -> None:
    agent = create_filesystem_agent(worker(20), summarize=True, checkpointer=InMemorySaver())
    agent.invoke(GO, THREAD)
    agent.update_state(THREAD, {"files": {HISTORY: change}})
    more = create_filesystem_agent(worker(60), summarize=True, checkpointer=agent.checkpointer)
    state = more.invoke({"messages": [HumanMessage("Go on.")]}, THREAD)
    files = contents(state)
    if change is None:
        assert "(c30):" in files[HISTORY]
        return
    assert files[HISTORY] == change
    assert "(c30):" in files["/conversation_history/1-2.md"]
    assert (
        "in /conversation_history/1.md, /conversation_history/1-2.md:" in state["messages"][0].text
    )


@pytest.mark.parametrize(
    ("thread", "name"),
    [("a-1_B", r"a-1_B"), ("../x/y", r"x_y-[0-9a-f]{8}"), ("é", r"conversation-[0-9a-f]{8}")],
)
def test_the_name_of_the_file_is_that_of_the_thread(thread: str, name: str) -> None:
    agent = create_filesystem_agent(worker(20), summarize=True, checkpointer=InMemorySaver())
    state = agent.invoke(GO, {"configurable": {"thread_id": thread}})
    import re

    [path] = [path for path in state["files"] if path.startswith("/conversation_history/")]
    assert re.fullmatch(f"/conversation_history/{name}\\.md", path)


# When the model fails.


class Forgetful(Worker):
    """Can't write notes."""

    def _notes(self, messages: list[BaseMessage]) -> AIMessage:
        raise RuntimeError("no notes today")


class Silent(Worker):
    """Writes notes with nothing in them."""

    def _notes(self, messages: list[BaseMessage]) -> AIMessage:
        return AIMessage("", tool_calls=[call("ls")])


def test_without_a_summary_the_conversation_goes_on_while_it_fits() -> None:
    model = Forgetful(steps=12, profile={"max_input_tokens": 8_000})
    chosen = Summarize(over=3_000, keep=500)
    state = create_filesystem_agent(model, summarize=chosen).invoke(GO)
    assert notes_asked(model)
    assert state["messages"][-1].text == "done"
    assert not [m for m in state["messages"] if is_summary(m)]


@pytest.mark.parametrize("kind", [Forgetful, Silent])
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_without_a_summary_the_ends_of_older_turns_take_its_place(
    kind: type[Worker], mode: str
) -> None:
    model = kind(steps=60, profile={"max_input_tokens": WINDOW})
    agent = create_filesystem_agent(model, summarize=True)
    state = await agent.ainvoke(GO) if mode == "async" else agent.invoke(GO)
    check_calls(model)
    assert state["messages"][-1].text == "done"
    assert "[There is no summary. " in state["messages"][0].text
    assert "Do every step." in state["messages"][0].text


# When the window is smaller than thought.


class Narrow(Worker):
    """Refuses what is longer than its window, as providers do."""

    window: int

    def _step(self, messages: list[BaseMessage]) -> AIMessage:
        if tokens(self, messages) > self.window:
            raise ContextOverflowError("too long")
        return super()._step(messages)


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_model_that_refuses_is_asked_once_more_with_a_summary(mode: str) -> None:
    model = Narrow(steps=60, window=4_000)
    agent = create_filesystem_agent(model, summarize=50_000, checkpointer=InMemorySaver())
    state: Any = await agent.ainvoke(GO, THREAD) if mode == "async" else agent.invoke(GO, THREAD)
    assert state["messages"][-1].text == "done"
    assert is_summary(state["messages"][0])
    assert text_of(1, model) in contents(state)[HISTORY]
    for messages in model.asked:
        assert unpaired(messages) == []


@pytest.mark.parametrize("summarize", [None, 50_000])
def test_a_model_that_refuses_for_good_fails_the_run(summarize: Any) -> None:
    model = Narrow(steps=60, window=10)
    with pytest.raises(ContextOverflowError):
        create_filesystem_agent(model, summarize=summarize).invoke(GO)
    assert len(model.asked) <= 2


# Any conversation.


def conversations() -> st.SearchStrategy[list[AnyMessage]]:
    sizes = st.integers(0, 6_000)
    turn = st.tuples(
        st.sampled_from(["human", "ai"]), st.lists(st.tuples(sizes, st.booleans()), max_size=4)
    )
    return st.lists(turn, min_size=1, max_size=20).map(_conversation)


def _conversation(turns: Sequence[Any]) -> list[AnyMessage]:
    messages: list[AnyMessage] = [HumanMessage("begin", id="0")]
    for n, (kind, calls) in enumerate(turns):
        if kind == "human":
            messages.append(HumanMessage("x" * sum(size for size, _ in calls), id=f"h{n}"))
            continue
        made = [
            call("ls", f"c{n}-{k}", path="x" * (size // 9)) for k, (size, _) in enumerate(calls)
        ]
        messages.append(AIMessage("", tool_calls=made, id=f"a{n}"))
        # Some are not answered: `prepare` answers them.
        messages += [
            ToolMessage("é" * size, tool_call_id=f"c{n}-{k}", id=f"t{n}-{k}")
            for k, (size, is_answered) in enumerate(calls)
            if is_answered
        ]
    return messages


@settings(max_examples=60)
@given(conversations())
def test_no_conversation_is_sent_with_a_call_or_an_answer_alone(messages: Any) -> None:
    model = worker(1)
    agent = create_filesystem_agent(model, summarize=0.7, operations=["ls", "write_file"])
    state = agent.invoke({"messages": messages})
    check_calls(model)
    assert unpaired(state["messages"]) == []


# Inside another graph.


class Plain(TypedDict):
    """The state of a parent with LangGraph's own reducer."""

    messages: Annotated[list[AnyMessage], add_messages]
    files: Annotated[dict[str, FileData], merge_files]


def parent_of(state: Any, *agents: Any) -> Any:
    builder = StateGraph(state)
    for number, agent in enumerate(agents):
        builder.add_node(f"agent{number}", filesystem_node(agent))
        builder.add_edge(START, f"agent{number}")
    return builder.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_parent_with_our_state_gets_the_summary_of_a_visit(mode: str) -> None:
    model = worker(40)
    parent = parent_of(FilesystemState, create_filesystem_agent(model, summarize=True))
    state = await parent.ainvoke(GO, THREAD) if mode == "async" else parent.invoke(GO, THREAD)
    check_calls(model)
    assert is_summary(state["messages"][0])
    [path] = [path for path in state["files"] if path.startswith("/conversation_history/")]
    assert path in state["messages"][0].text
    count = len(notes_asked(model))
    again = parent.invoke({"messages": [HumanMessage("Thanks.")]}, THREAD)
    assert len(notes_asked(model)) == count, "the next visit starts with the summary"
    assert again["messages"][-1].text == "done"


@pytest.mark.parametrize("state", [FilesystemState, Plain])
def test_parallel_visits_that_summarize_lose_nothing(state: Any) -> None:
    models = [worker(40), Worker(steps=40, profile={"max_input_tokens": 2 * WINDOW})]
    agents = [create_filesystem_agent(model, summarize=True) for model in models]
    parent = parent_of(state, *agents)
    messages: list[AnyMessage] = [HumanMessage("begin", id="m0")]
    for n in range(30):
        messages += [
            HumanMessage(f"question {n} " + "x" * 1_500, id=f"q{n}"),
            AIMessage("yes", id=f"y{n}"),
        ]
    done = parent.invoke({"messages": messages, "files": {}}, THREAD)
    told = [m for m in done["messages"] if is_summary(m)]
    ids = [m.id for m in done["messages"]]
    for n in range(30):
        named = [path for m in told for path in m.additional_kwargs["summarized_to"]]
        kept = any(f"question {n} " in contents(done)[path] for path in named)
        assert f"q{n}" in ids or kept
    if state is Plain:
        assert [m.id for m in done["messages"]][:61] == [m.id for m in messages]
    assert unpaired(done["messages"]) == []


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_subagents_summarize_too_each_in_a_file_of_its_own(mode: str) -> None:
    model = worker(30)
    tasks = [call("task", description=f"Do it, {n}.", subagent_type="helper") for n in "ab"]
    agent = create_filesystem_agent(
        ScriptedModel([says(*tasks)]),
        subagents=[{"name": "helper", "description": "Helps.", "model": model}],
        summarize=WINDOW * 4 // 5,
        read_before_edit=False,
        checkpointer=InMemorySaver(),
    )
    state: Any = await agent.ainvoke(GO, THREAD) if mode == "async" else agent.invoke(GO, THREAD)
    check_calls(model)
    assert [answer.text for answer in answers(state)] == ["done", "done"]
    assert not any(map(is_summary, state["messages"]))
    kept = [text for path, text in contents(state).items() if path.startswith("/conversation_h")]
    assert sorted(text.count("Do it, a.") + 2 * text.count("Do it, b.") for text in kept) == [1, 2]
