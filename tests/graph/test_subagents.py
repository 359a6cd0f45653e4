"""Subagents: how they are described, what they are given, what comes back, how they end."""

import operator
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.graph import START, StateGraph, add_messages
from langgraph.prebuilt import InjectedState
from langgraph.types import Command, interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict

from langgraph_filesystem import (
    Choices,
    CommandModel,
    FileData,
    FilesystemBackend,
    FilesystemPermission,
    FilesystemState,
    StateBackend,
    Subagent,
    create_filesystem_agent,
    filesystem_node,
)
from langgraph_filesystem.labels import draw_mermaid
from tests.databases import emptied
from tests.graph.runs import Runs, contents, opened_runs
from tests.scripted import ScriptedModel, answers, call, says
from tests.snapshots import assert_snapshot

GO: Any = {"messages": [HumanMessage("go")]}


@tool
def ask(question: str) -> str:
    """Ask a person."""
    return str(interrupt(question))


@tool
def fail() -> str:
    """Fail."""
    raise ValueError("no such luck")


def task(name: str = "worker", description: str = "work", id: str | None = None) -> Any:
    return call("task", id, description=description, subagent_type=name)


def write(path: str, content: str) -> Any:
    return call("write_file", file_path=path, content=content)


def turns(*given: Any) -> list[AIMessage]:
    return [says(*(turn if isinstance(turn, list) else [turn])) for turn in given]


def worker(*script: Any, name: str = "worker", **options: Any) -> dict[str, Any]:
    """Return a subagent whose model makes these calls, each a turn."""
    model = ScriptedModel(turns(*script))
    return {"name": name, "description": "Works.", "model": model, **options}


def caller(*script: Any, subagents: Any, **options: Any) -> Any:
    """Return an agent that makes these calls."""
    options.setdefault("general_purpose", False)
    return create_filesystem_agent(ScriptedModel(turns(*script)), subagents=subagents, **options)


def asked_of(spec: dict[str, Any]) -> list[Any]:
    asked: list[Any] = spec["model"].asked
    return asked


# How they are described


def compiled(schema: Any = FilesystemState, **options: Any) -> Any:
    builder = StateGraph(schema).add_node("work", lambda state: {}).add_edge(START, "work")
    return builder.compile(**options)


class NoMessages(TypedDict):
    files: dict[str, Any]


ONE = {"name": "one", "description": "First."}
BAD: list[tuple[Any, str]] = [
    (ONE, "must be a list of subagents"),
    ("one", "must be a list of subagents"),
    (["one"], "a `Subagent` or a dict with its keys, not 'one'"),
    ([{"name": "one"}], "has no `description`"),
    ([{"description": "First."}], "has no `name`"),
    ([{**ONE, "description": " "}], "'one' has no description: say what it is for"),
    ([{**ONE, "name": "a|b"}], r"can't be called 'a\|b'"),
    ([{**ONE, "name": "a:b"}], "begins with a letter"),
    ([{**ONE, "name": "__start__"}], "begins with a letter"),
    ([{**ONE, "name": ""}], "begins with a letter"),
    ([{**ONE, "name": "files"}], "none of assignment, files, outcome"),
    ([ONE, ONE], "Two subagents have the same name: one"),
    ([{**ONE, "colour": "red"}], "no key 'colour'. There are: name, description"),
    ([{**ONE, "middleware": []}], "There is no middleware: use `tools`"),
    ([{**ONE, "mode": "fork"}], "begins a conversation of its own"),
    ([{**ONE, "graph_id": "x", "url": "http://x"}], "other servers are not supported"),
    ([{**ONE, "prompt": "Be kind."}], "Use `system_prompt`"),
    ([{**ONE, "operations": ["rm"]}], "The subagent 'one': There is no operation 'rm'"),
    ([{**ONE, "runnable": compiled(), "tools": []}], "so tools would be ignored"),
    ([{**ONE, "runnable": StateGraph(FilesystemState)}], r"call `\.compile\(\)`"),
    ([{**ONE, "runnable": 5}], "a compiled graph, not int"),
    ([{**ONE, "runnable": compiled(NoMessages)}], "takes no `messages`"),
    ([{**ONE, "runnable": compiled(checkpointer=True)}], "without `checkpointer=True`"),
]


@pytest.mark.parametrize(("subagents", "problem"), BAD)
def test_nonsense_is_refused_when_the_graph_is_built(subagents: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        create_filesystem_agent(CommandModel(), subagents=subagents)


def test_a_tool_called_task_is_refused_beside_subagents() -> None:
    def task() -> str:
        """Do."""
        return ""

    with pytest.raises(ValueError, match="names of operations: task"):
        create_filesystem_agent(CommandModel(), [task], subagents=[ONE])
    assert "tools" in create_filesystem_agent(CommandModel(), [task]).get_graph().nodes


def names_of(agent: Any) -> list[str]:
    [found] = [inside for name, inside in agent.get_subgraphs() if name == "task"]
    return [name for name in found.nodes if name != START]


def test_a_general_purpose_subagent_is_added_unless_there_is_one_or_it_is_turned_off() -> None:
    def build(*subagents: Any, **options: Any) -> Any:
        return create_filesystem_agent(CommandModel(), subagents=subagents, **options)

    own = Subagent(name="general-purpose", description="Mine.")
    assert names_of(build(ONE)) == ["one", "general-purpose"]
    assert names_of(build(own, ONE)) == ["general-purpose", "one"]
    assert names_of(build(ONE, general_purpose=False)) == ["one"]
    assert "task" not in build(general_purpose=True).get_graph().nodes


def test_it_is_drawn_with_each_subagent() -> None:
    agent = create_filesystem_agent(
        CommandModel(),
        operations=["read_file", "edit_file"],
        subagents=[
            Subagent(name="reviewer", description="Reviews.", operations=["read_file"]),
            Subagent(name="talker", description="Talks.", runnable=create_agent(CommandModel())),
        ],
        general_purpose=False,
    )
    assert_snapshot("graph_subagents.mmd", draw_mermaid(agent.get_graph(xray=True)))


def test_the_model_reads_which_subagents_there_are() -> None:
    model = ScriptedModel()
    create_filesystem_agent(
        model, operations=["ls"], subagents=[{"name": "judge", "description": "Judges."}]
    ).invoke(GO)
    [schema] = [bound for bound in model.bound if bound["function"]["name"] == "task"][:1]
    function = schema["function"]
    kinds = function["parameters"]["properties"]["subagent_type"]["enum"]
    assert kinds == ["judge", "general-purpose"]
    prompt = model.asked[0][0].text
    assert_snapshot("task.md", f"{prompt}\n\n---\n\n{function['description']}\n")


def test_its_description_can_be_replaced() -> None:
    model = ScriptedModel()
    create_filesystem_agent(model, subagents=[ONE], tool_descriptions={"task": "Delegate."})
    texts = [b["function"]["description"] for b in model.bound if b["function"]["name"] == "task"]
    assert texts == ["Delegate."]


# What they are given


def test_a_subagent_gets_the_task_and_the_files_and_nothing_else() -> None:
    given: list[dict[str, Any]] = []

    def look(state: Any) -> Any:
        given.append(dict(state))
        return {"messages": [AIMessage("seen")]}

    builder = StateGraph(FilesystemState).add_node("look", look).add_edge(START, "look")
    agent = caller(
        [call("write_todos", todos=[]), call("read_file", file_path="/a")],
        task(description="look around"),
        subagents=[{"name": "worker", "description": "Looks.", "runnable": builder.compile()}],
        todos=True,
    )
    agent.invoke({**GO, "files": {"/a": "text"}})
    [state] = given
    assert [(m.type, m.text) for m in state.pop("messages")] == [("human", "look around")]
    assert {path: file["content"] for path, file in state.pop("files").items()} == {"/a": "text"}
    assert not any(state.values())


class Shop(FilesystemState):
    customer: str
    visited: Annotated[list[str], operator.add]


@tool
def visit(
    customer: Annotated[str, InjectedState("customer")],
    state: Annotated[dict[str, Any], InjectedState],
    id: Annotated[str, InjectedToolCallId],
) -> Command[Any]:
    """Note who was visited."""
    told = ToolMessage(f"{customer} after {state['visited']}", tool_call_id=id)
    return Command(update={"messages": [told], "visited": ["again"], "customer": "Eve"})


@pytest.mark.parametrize("is_own_graph", [False, True])
async def test_it_reads_the_keys_of_your_own_schema_and_keeps_what_it_writes_there(
    is_own_graph: bool, runs: Runs
) -> None:
    model = ScriptedModel(turns(call("visit"), call("ask", question="?"), call("visit")))
    made: Any = {"model": model, "tools": [visit, ask]}
    if is_own_graph:
        made = {"runnable": create_filesystem_agent(**made, state_schema=Shop)}
    spec = {"name": "worker", "description": "Works.", **made}
    saver = runs.checkpointer
    agent = caller(task(), subagents=[spec], state_schema=Shop, checkpointer=saver)
    await runs.invoke(agent, {**GO, "customer": "Ann", "visited": ["first"]})
    state = await runs.invoke(agent, Command(resume="yes"))
    told = [message.text for message in model.asked[-1] if isinstance(message, ToolMessage)]
    assert told == ["Ann after ['first']", "yes", "Eve after ['first', 'again']"]
    assert (state["customer"], state["visited"]) == ("Ann", ["first"])


def test_it_must_read_a_file_itself_before_it_edits_it() -> None:
    edit = call("edit_file", file_path="/a", old_string="x", new_string="y")
    spec = worker(edit)
    agent = caller(call("read_file", file_path="/a"), task(), subagents=[spec])
    state = agent.invoke({**GO, "files": {"/a": "x"}})
    assert contents(state) == {"/a": "x"}
    assert asked_of(spec)[-1][-1].status == "error"


def test_what_is_not_given_is_inherited(tmp_path: Path) -> None:
    main = ScriptedModel(turns(task("heir"), task("other")))
    denied = FilesystemPermission(operations=["write"], paths=["/disk/secret/**"], mode="deny")
    other = worker(name="other", tools=[], operations=["ls"], system_prompt="Own.")
    create_filesystem_agent(
        main,
        [ask],
        mounts={"/": StateBackend(), "/disk": FilesystemBackend(tmp_path)},
        operations=["ls", "write_file"],
        permissions=[denied],
        system_prompt="For the main agent.",
        subagents=[{"name": "heir", "description": "Inherits."}, other],
        general_purpose=False,
    ).invoke(GO)
    names = [b["function"]["name"] if isinstance(b, dict) else b.name for b in main.bound]
    assert names == ["ls", "write_file", "ask", "ls", "write_file", "task", "ask"]
    heir = main.asked[1]
    assert "For the main agent" not in heir[0].text
    assert "`/disk/`" in heir[0].text
    assert asked_of(other)[0][0].text.startswith("Own.")
    assert [b["function"]["name"] for b in other["model"].bound] == ["ls"]


def test_permissions_of_the_main_agent_hold_for_its_subagents() -> None:
    denied = FilesystemPermission(operations=["write"], paths=["/secret/**"], mode="deny")
    spec = worker(write("/secret/a", "a"))
    state = caller(task(), subagents=[spec], permissions=[denied]).invoke(GO)
    assert not state.get("files")
    assert asked_of(spec)[-1][-1].status == "error"


async def test_what_a_run_chooses_holds_for_subagents_but_not_its_prompt() -> None:
    spec = worker([write("/a", "a"), call("ls", path="/")], system_prompt="Own.")
    agent = caller(
        task(), subagents=[spec], context_schema=Choices, operations=["ls", "write_file"]
    )
    chosen: Any = Choices(system_prompt="Chosen.", operations=("ls",))
    for state in (agent.invoke(GO, context=chosen), await agent.ainvoke(GO, context=chosen)):
        assert answers(state)[0].text == "done"
        assert not state.get("files")
    first, last = asked_of(spec)[0], asked_of(spec)[-1]
    assert first[0].text.startswith("Own.")
    assert [reply.status for reply in last if isinstance(reply, ToolMessage)] == [
        "error",
        "success",
    ]


def test_operations_that_a_run_chooses_may_be_more_than_a_subagent_has() -> None:
    spec = worker(call("ls", path="/"), operations=["ls"])
    agent = caller(task(), subagents=[spec], context_schema=Choices)
    chosen: Any = Choices(operations=("ls", "read_file"))
    assert [reply.text for reply in answers(agent.invoke(GO, context=chosen))] == ["done"]


# What comes back


class Findings(BaseModel):
    """What was found."""

    count: int


def test_a_structured_response_comes_back_as_json() -> None:
    spec = worker(response_format=Findings)
    spec["model"].structured = {"count": 3}
    [reply] = answers(caller(task(), subagents=[spec]).invoke(GO))
    assert reply.text == '{"count":3}'


def test_programs_learn_which_files_it_changed() -> None:
    spec = worker([write("/new", "n"), call("delete", file_path="/old")])
    state = caller(task(), subagents=[spec]).invoke({**GO, "files": {"/old": "o", "/kept": "k"}})
    [reply] = answers(state)
    assert reply.artifact == {"subagent": "worker", "changed": ["/new", "/old"]}
    assert contents(state) == {"/new": "n", "/kept": "k"}


def test_a_long_answer_is_moved_to_a_file() -> None:
    text = "\n".join(f"line {number}" for number in range(10_000))
    spec = {**worker(), "model": ScriptedModel([AIMessage(text)])}
    state = caller(task(id="long"), subagents=[spec], evict_over=1_000).invoke(GO)
    assert "are kept in /large_tool_results/long" in answers(state)[0].text
    assert contents(state)["/large_tool_results/long"] == text
    [bounded] = answers(caller(task(), subagents=[spec], evict_over=None).invoke(GO))
    assert len(bounded.text) <= 100_000


def test_calls_of_one_message_keep_their_order_around_a_task() -> None:
    spec = worker(call("read_file", file_path="/before"), write("/during", "d"))
    script = [write("/before", "b"), task(), task(), call("read_file", file_path="/during")]
    state = caller(script, subagents=[spec]).invoke(GO)
    assert [reply.status for reply in answers(state)] == ["success"] * 4
    assert "d" in answers(state)[-1].text
    read = [m.text for asked in asked_of(spec) for m in asked if m.name == "read_file"]
    assert [text.split("\n")[0] for text in read] == ["     1\tb"] * 4


async def test_a_graph_of_other_people_gets_messages_and_files_as_it_knows_them() -> None:
    class WithFiles(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]
        files: dict[str, FileData]

    def change(state: WithFiles) -> Any:
        assert state["files"]["/old"]["content"] == "o"
        kept = {path: file for path, file in state["files"].items() if path != "/old"}
        return {
            "messages": [AIMessage("changed")],
            "files": {**kept, "/new": {"content": state["messages"][0].text}},
        }

    builder = StateGraph(WithFiles).add_node("change", change).add_edge(START, "change")
    talker = create_agent(ScriptedModel([AIMessage("talked")]))
    echo: Any = RunnableLambda(lambda state: {"messages": [AIMessage(state["messages"][0].text)]})
    runnables = {"changer": builder.compile(), "talker": talker, "echo": echo}
    agent = caller(
        [task("changer", "text"), task("talker"), task("echo", "hello")],
        subagents=[
            {"name": name, "description": "Other.", "runnable": runnable}
            for name, runnable in runnables.items()
        ],
    )
    given = {**GO, "files": {"/old": "o", "/kept": "k"}}
    for state in (agent.invoke(given), await agent.ainvoke(given)):
        assert [reply.text for reply in answers(state)] == ["changed", "talked", "hello"]
        assert contents(state) == {"/kept": "k", "/new": "text"}


def test_an_agent_of_deepagents_can_be_a_subagent() -> None:
    from deepagents import create_deep_agent

    script = turns(write("/a.txt", "deep"))
    deep = create_deep_agent(model=ScriptedModel(script))
    spec = {"name": "deep", "description": "Deep.", "runnable": deep}
    state = caller(task("deep"), subagents=[spec]).invoke({**GO, "files": {"/b": "b"}})
    assert answers(state)[0].text == "done"
    assert contents(state) == {"/a.txt": "deep", "/b": "b"}


def test_a_subagent_may_have_subagents_of_its_own_as_a_graph() -> None:
    inner = caller([task("leaf"), task("leaf")], subagents=[worker(write("/a", "a"), name="leaf")])
    spec = {"name": "worker", "description": "Delegates.", "runnable": inner}
    state = caller(task(), subagents=[spec]).invoke(GO)
    assert contents(state) == {"/a": "a"}


# How they end


def broken(state: Any) -> Any:
    raise RuntimeError("the model is on fire")


async def test_one_that_fails_is_an_error_reply_and_the_others_go_on() -> None:
    class Burning(ScriptedModel):
        def __init__(self, script: list[AIMessage]) -> None:
            super().__init__(script)

        def _generate(self, messages: Any, *args: Any, **options: Any) -> Any:
            if len(messages) > 3:
                broken(messages)
            return super()._generate(messages, *args, **options)

    failing = {**worker(), "model": Burning(turns(write("/half", "h"))), "name": "failing"}
    echo = {"name": "echo", "description": "Fails.", "runnable": RunnableLambda(broken)}
    agent = caller(
        [task("failing"), task(), task("echo")],
        subagents=[worker(write("/whole", "w")), failing, echo],
    )
    for state in (agent.invoke(GO), await agent.ainvoke(GO)):
        first, second, third = answers(state)
        assert first.status == third.status == "error"
        assert first.text == (
            "Error: The subagent failing failed: RuntimeError: the model is on fire. "
            "The changes it had made were kept."
        )
        assert second.text == "done"
        assert contents(state) == {"/half": "h", "/whole": "w"}


async def test_at_its_recursion_limit_it_returns_what_it_has() -> None:
    endless = ScriptedModel(
        [AIMessage(f"step {n}", tool_calls=[write(f"/{n}", "x")]) for n in range(100)]
    )
    agent = caller(task(), subagents=[{**worker(), "model": endless}])
    limit: Any = {"recursion_limit": 10}
    for state in (agent.invoke(GO, limit), await agent.ainvoke(GO, limit)):
        [reply] = answers(state)
        assert reply.text == (
            "[It reached its recursion limit before it was done. The changes it had "
            "made were kept. Its last message:]\nstep 4"
        )
        assert set(contents(state)) >= {"/0", "/1", "/2", "/3"}
        assert state["messages"][-1].text == "done"


def test_a_call_for_an_unknown_subagent_is_an_error_that_names_those_there_are() -> None:
    agent = caller([task("nobody"), task(description="")], subagents=[worker()])
    unknown, empty = answers(agent.invoke(GO))
    assert unknown.status == empty.status == "error"
    assert "`subagent_type`: Input should be 'worker'" in unknown.text
    assert "`description`" in empty.text


def test_one_that_says_nothing_is_reported_as_silent() -> None:
    silent = {**worker(), "model": ScriptedModel([AIMessage("")])}
    [reply] = answers(caller(task(), subagents=[silent]).invoke(GO))
    assert reply.text == "The subagent ended without a message."


# How they run


@pytest.fixture(params=["invoked", "awaited"])
async def runs(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    async with opened_runs(tmp_path / "agent.db", request.param == "awaited") as opened:
        yield opened


async def test_its_checkpoints_do_not_repeat_the_files(runs: Runs) -> None:
    large = "".join(f"line {number}\n" for number in range(20_000))
    edit = call("edit_file", file_path="/large", old_string="line 0\n", new_string="first\n")
    spec = worker(call("read_file", file_path="/large"), edit)
    agent = caller(task(), subagents=[spec], checkpointer=runs.checkpointer)
    state = await runs.invoke(agent, {**GO, "files": {"/large": large}})
    assert contents(state)["/large"].startswith("first\nline 1\n")
    config: Any = {"configurable": {"thread_id": "1"}}
    saver = runs.checkpointer
    stored = [s async for s in saver.alist(config)] if runs.awaited else list(saver.list(config))
    inside = [one for one in stored if one.config["configurable"]["checkpoint_ns"]]
    assert len(inside) > 5
    assert not any("line 19999" in str(one) for one in inside)


async def test_the_stream_names_the_subagent(runs: Runs) -> None:
    agent = caller([task(), task("other")], subagents=[worker(), worker(name="other")])
    chunks = await runs.stream(agent, GO, subgraphs=True, stream_mode="updates")
    places = {tuple(part.split(":")[0] for part in place) for place, _ in chunks}
    assert places == {(), ("task",), ("task", "worker"), ("task", "other")}


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("awaited", [False, True])
async def test_several_wait_at_once_and_are_resumed_one_by_one(
    tmp_path: Path, awaited: bool
) -> None:
    ran: list[str] = []

    @tool
    def note(word: str) -> str:
        """Note a word."""
        ran.append(word)
        return word

    def asking(name: str) -> Any:
        return worker(
            [write(f"/{name}", "before")],
            call("ask", question=f"{name}?"),
            call("edit_file", file_path=f"/{name}", old_string="before", new_string="after"),
            name=name,
        )

    def agent(runs: Runs) -> Any:
        busy = worker(call("note", word="once"), write("/busy", "b"), name="busy")
        return caller(
            [task("one"), task("busy"), task("two")],
            subagents=[asking("one"), asking("two"), busy],
            tools=[ask, note],
            checkpointer=runs.checkpointer,
        )

    path = emptied(tmp_path / "agent.db")
    async with opened_runs(path, awaited) as runs:
        compiled = agent(runs)
        stopped = await runs.invoke(compiled, {**GO, "files": {"/kept": "k"}})
        waiting = {found.value: found.id for found in stopped["__interrupt__"]}
        assert set(waiting) == {"one?", "two?"}
        state = await runs.state(compiled, subgraphs=True)
        inside = [part.state.tasks[0].state for part in state.tasks if part.interrupts]
        for one, name in zip(inside, ("one", "two"), strict=True):
            assert one.next == ("tools",)
            assert contents(one.values) == {"/kept": "k", f"/{name}": "before"}
            assert [m.type for m in one.values["messages"]] == ["human", "ai", "tool", "ai"]
            assert set(one.values["seen"]) == {f"/{name}"}
    async with opened_runs(path, awaited) as runs:  # another process goes on
        compiled = agent(runs)
        resume: Any = Command(resume={waiting["two?"]: "yes"})
        stopped = await runs.invoke(compiled, resume)
        assert [found.value for found in stopped["__interrupt__"]] == ["one?"]
        done = await runs.invoke(compiled, Command(resume={waiting["one?"]: "no"}))
        assert [reply.text for reply in answers(done)] == ["done"] * 3
        expected = {"/kept": "k", "/one": "after", "/two": "after", "/busy": "b"}
        assert contents(done) == expected
        assert contents((await runs.state(compiled)).values) == expected
    assert ran == ["once"]


async def test_the_state_of_one_that_waits_can_be_edited(runs: Runs) -> None:
    spec = worker(call("ask", question="?"), call("read_file", file_path="/human"))
    agent = caller(task(), subagents=[spec], tools=[ask], checkpointer=runs.checkpointer)
    await runs.invoke(agent, {**GO, "files": {"/kept": "k"}})
    inside = (await runs.state(agent, subgraphs=True)).tasks[0].state.tasks[0].state
    edited = {"files": {"/human": "h", "/kept": None}}
    await runs.call(agent, "update_state", inside.config, edited, as_node="ls")
    while (await runs.state(agent)).next:
        await runs.invoke(agent, Command(resume="go on"))
    assert contents((await runs.state(agent)).values) == {"/human": "h"}


async def test_a_run_that_ends_while_one_waits_is_answered_as_cancelled(runs: Runs) -> None:
    spec = worker(write("/a", "a"), call("ask", question="?"))
    agent = caller(task(), subagents=[spec], tools=[ask], checkpointer=runs.checkpointer)
    await runs.invoke(agent, GO)
    state = await runs.invoke(agent, {"messages": [HumanMessage("never mind")]})
    assert "cancelled before it was answered" in answers(state)[0].text


async def test_it_works_in_an_agent_that_is_a_node(runs: Runs) -> None:
    edit = call("edit_file", file_path="/a", old_string="x", new_string="y")
    spec = worker(call("read_file", file_path="/a"), call("ask", question="?"), [edit])
    agent = caller([task(), call("delete", file_path="/b")], subagents=[spec], tools=[ask])
    builder = StateGraph(FilesystemState).add_node("agent", filesystem_node(agent))
    graph = builder.add_edge(START, "agent").compile(checkpointer=runs.checkpointer)
    stopped = await runs.invoke(graph, {**GO, "files": {"/a": "x", "/b": "b", "/c": "c"}})
    assert [found.value for found in stopped["__interrupt__"]] == ["?"]
    state = await runs.invoke(graph, Command(resume="yes"))
    assert contents(state) == {"/a": "y", "/c": "c"}
