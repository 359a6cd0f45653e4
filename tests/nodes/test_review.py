"""`review`: a person approves, edits, rejects or answers calls before they run."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents.middleware.human_in_the_loop import HITLRequest
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command
from pydantic import TypeAdapter

from langgraph_filesystem import (
    Choices,
    FilesystemPermission,
    FilesystemState,
    LocalShellBackend,
    add_filesystem,
    create_filesystem_agent,
    filesystem_condition,
    filesystem_node,
    guarded,
)
from tests.scripted import ScriptedModel, answers, call, says
from tests.snapshots import assert_snapshot

APPROVE = {"type": "approve"}
REJECT = {"type": "reject"}
CHANGING = {"write_file": True, "edit_file": True, "delete": True, "move": True}


def edit(name: str, **args: Any) -> dict[str, Any]:
    """Return the decision to run a call with other arguments."""
    return {"type": "edit", "edited_action": {"name": name, "args": args}}


def write(path: str, id: str | None = None, content: str = "x", **more: Any) -> dict[str, Any]:
    return call("write_file", id, file_path=path, content=content, **more)


def send(to: str, count: int = 1) -> str:
    """Send a mail."""
    return f"sent {count} to {to}"


class Desk:
    """A thread of an agent, and the person who reviews its calls."""

    def __init__(self, graph: Any, mode: str = "sync", **context: Any) -> None:
        self.graph, self.mode = graph, mode
        self.context = context or None
        self.thread: Any = {"configurable": {"thread_id": "1"}}

    async def run(self, given: Any, **options: Any) -> "Desk":
        """Run the graph until it ends or asks."""
        options["context"] = self.context
        if self.mode == "async":
            state = await self.graph.ainvoke(given, self.thread, **options)
        else:
            state = self.graph.invoke(given, self.thread, **options)
        self.state: dict[str, Any] = state
        return self

    async def go(self, **files: str) -> "Desk":
        """Begin."""
        named = {f"/{name}": text for name, text in files.items()}
        return await self.run({"messages": [HumanMessage("go")], "files": named})

    async def decide(self, *decisions: Any) -> "Desk":
        """Reply to the request that is open."""
        return await self.run(Command(resume={"decisions": list(decisions)}))

    @property
    def asked(self) -> list[dict[str, Any]]:
        """The calls that the person is asked about, all in one request."""
        found = self.state.get("__interrupt__") or ()
        assert len(found) <= 1
        if not found:
            return []
        request = TypeAdapter(HITLRequest).validate_python(found[0].value)
        assert found[0].value == request
        assert [c["action_name"] for c in request["review_configs"]] == [
            action["name"] for action in request["action_requests"]
        ]
        actions: list[Any] = request["action_requests"]
        return actions

    @property
    def told(self) -> dict[str, str]:
        """The answer to each call."""
        return {message.tool_call_id: message.text for message in answers(self.state)}

    @property
    def files(self) -> dict[str, str]:
        """The files of the thread."""
        return {path: file["content"] for path, file in self.state.get("files", {}).items()}


def desk(*calls: dict[str, Any], mode: str = "sync", **options: Any) -> Desk:
    """Return the desk of an agent whose model makes these calls, in one message."""
    context = options.pop("context", {})
    model = ScriptedModel([says(*calls)])
    options = {"checkpointer": InMemorySaver(), "read_before_edit": False, **options}
    return Desk(create_filesystem_agent(model, **options), mode, **context)


MODES = pytest.mark.parametrize("mode", ["sync", "async"])


# Deciding


@MODES
async def test_each_call_of_a_message_is_decided_about_in_one_request(mode: str) -> None:
    calls = [write("/a", "a"), write("/b", "b"), write("/c", "c"), write("/d", "d")]
    at = await desk(*calls, mode=mode, interrupt_on=CHANGING).go()
    assert [action["args"]["file_path"] for action in at.asked] == ["/a", "/b", "/c", "/d"]
    assert at.told == {}
    assert at.files == {}
    await at.decide(
        APPROVE,
        edit("write_file", file_path="/e", content="y"),
        {"type": "reject", "message": "Not /c."},
        {"type": "respond", "message": "It is there already."},
    )
    assert at.asked == []
    assert at.files == {"/a": "x", "/e": "y"}
    assert at.told == {
        "a": "Wrote /a: 1 line, 1 character.",
        "b": '[A person changed this call before it ran: file_path="/e", content="y"]\n'
        "Wrote /e: 1 line, 1 character.",
        "c": "A person rejected this call, so it was not run. They say: Not /c.",
        "d": "It is there already.",
    }
    assert {m.tool_call_id: m.status for m in answers(at.state)} == {
        "a": "success",
        "b": "success",
        "c": "error",
        "d": "success",
    }
    assert at.state["messages"][1].tool_calls == calls  # as the model wrote them
    assert at.state["messages"][-1].text == "done"


async def test_a_rejection_without_a_message_asks_not_to_repeat_the_call() -> None:
    at = await (await desk(write("/a", "a"), interrupt_on=CHANGING).go()).decide(REJECT)
    assert at.told["a"].endswith("Don't repeat it unless they ask for it.")


async def test_an_edit_that_changes_nothing_is_an_approval() -> None:
    at = await desk(write("/a", "a"), interrupt_on=CHANGING).go()
    await at.decide(edit("write_file", file_path="/a", content="x"))
    assert at.told == {"a": "Wrote /a: 1 line, 1 character."}


@MODES
async def test_what_needs_no_person_runs_first_and_what_depends_on_a_decision_waits(
    mode: str,
) -> None:
    calls = [
        call("read_file", "before", file_path="/a"),
        call("edit_file", "edit", file_path="/a", old_string="one", new_string="two"),
        call("read_file", "after", file_path="/a"),
        call("ls", "other", path="/elsewhere"),
    ]
    at = await desk(*calls, mode=mode, interrupt_on=CHANGING).go(a="one\n")
    assert set(at.told) == {"before", "other"}
    assert [action["name"] for action in at.asked] == ["edit_file"]
    planned = at.graph.get_state(at.thread).values["routes"]
    assert [(route["node"], route["calls"]) for route in planned] == [("review", ["edit"])]
    await at.decide(APPROVE)
    assert "two" in at.told["after"]


async def test_calls_that_conflict_are_asked_about_once_and_take_effect_in_their_order() -> None:
    calls = [
        write("/a", "write", "one\n"),
        call("edit_file", "edit", file_path="/a", old_string="one", new_string="two"),
        call("move", "move", source="/a", destination="/b"),
    ]
    at = await desk(*calls, interrupt_on=CHANGING).go()
    assert len(at.asked) == 3
    # The diff of a call is that of the file after the calls before it.
    assert "-one\n+two" in at.asked[1]["description"]
    await at.decide(APPROVE, APPROVE, APPROVE)
    assert at.asked == []
    assert at.files == {"/b": "two\n"}


async def test_an_approved_call_behind_one_that_was_rejected_still_runs() -> None:
    calls = [write("/a", "one", "1"), write("/a", "two", "2", overwrite=True)]
    at = await (await desk(*calls, interrupt_on=CHANGING).go()).decide(REJECT, APPROVE)
    assert at.files == {"/a": "2"}


async def test_a_call_behind_one_that_waits_is_asked_about_when_its_turn_comes() -> None:
    calls = [write("/d/a", "a"), call("ls", "ls", path="/d"), call("delete", "d", file_path="/d")]
    at = await desk(*calls, interrupt_on=CHANGING).go()
    assert [action["name"] for action in at.asked] == ["write_file"]
    await at.decide(edit("write_file", file_path="/d/b", content="x"))
    assert at.told["ls"] == "/d/b"
    # It shows what is there by now.
    assert "/d/b" in at.asked[0]["description"]
    await at.decide(APPROVE)
    assert at.files == {}


async def test_two_messages_in_a_row_are_reviewed_each() -> None:
    model = ScriptedModel([says(write("/a", "same")), says(write("/b", "same"))])
    options: Any = {"checkpointer": InMemorySaver(), "interrupt_on": CHANGING}
    at = await Desk(create_filesystem_agent(model, **options)).go()
    await at.decide(edit("write_file", file_path="/c", content="y"))
    # The decision about the first call says nothing about the second, whose id is the same.
    assert [action["args"]["file_path"] for action in at.asked] == ["/b"]
    await at.decide(APPROVE)
    assert at.files == {"/c": "y", "/b": "x"}


# Decisions that don't fit

EDIT: dict[str, Any] = {"file_path": "/a", "content": "y"}
WRONG: dict[str, tuple[Any, str]] = {
    "text": ("yes", "not a decision"),
    "a number": (5, "not a decision"),
    "nothing": ({"decisions": []}, "0 decisions for 1 call"),
    "null": ({"decisions": None}, "not a decision"),
    "too many": ({"decisions": [APPROVE, APPROVE]}, "2 decisions for 1 call"),
    "a list of nothing": ({"decisions": [None]}, "not a decision"),
    "no type": ({"decisions": [{"approve": True}]}, "not a decision"),
    "unknown": ({"decisions": [{"type": "accept"}]}, "'accept' is not allowed"),
    "not allowed": ({"decisions": [{"type": "respond", "message": "x"}]}, "is not allowed"),
    "a type that is a list": ({"decisions": [{"type": ["approve"]}]}, "is not allowed"),
    "a message that is none": ({"decisions": [{"type": "reject", "message": 5}]}, "must be text"),
    "an edit of nothing": ({"decisions": [{"type": "edit"}]}, "needs an `edited_action`"),
    "another tool": ({"decisions": [edit("delete", file_path="/a")]}, "into another tool"),
    "wrong arguments": ({"decisions": [edit("write_file", file_path="/a")]}, "`content`"),
    "a wrong path": ({"decisions": [edit("write_file", **EDIT, x=1)]}, "`x`"),
    "a denied path": (
        {"decisions": [edit("write_file", file_path="/secrets/a", content="")]},
        "/secrets/a: a rule of this agent denies `write_file`",
    ),
}


@MODES
@pytest.mark.parametrize("name", WRONG)
async def test_a_reply_that_does_not_fit_runs_nothing_and_is_asked_for_again(
    name: str, mode: str
) -> None:
    allowed = {"allowed_decisions": ["approve", "edit", "reject"]}
    rule = FilesystemPermission(["write"], ["/secrets/**"], "deny")
    at = desk(write("/a", "a"), mode=mode, interrupt_on={"write_file": allowed}, permissions=[rule])
    await at.go()
    first = at.asked[0]["description"]
    given, problem = WRONG[name]
    for _ in range(2):
        await at.run(Command(resume=given))
        assert at.told == {}
        reason = at.asked[0]["description"].partition("\n\n")[0]
        assert problem in reason
        assert at.asked[0]["description"] == f"{reason}\n\n{first}"
    await at.decide(APPROVE)
    assert at.files == {"/a": "x"}
    assert at.told == {"a": "Wrote /a: 1 line, 1 character."}


@MODES
async def test_a_wrong_number_of_decisions_leads_to_one_request_for_each_call(mode: str) -> None:
    at = await desk(write("/a"), write("/b"), write("/c"), mode=mode, interrupt_on=CHANGING).go()
    await at.decide(APPROVE)
    assert at.files == {}
    for path, decision in (("/a", APPROVE), ("/b", REJECT), ("/c", APPROVE)):
        assert [action["args"]["file_path"] for action in at.asked] == [path]
        assert at.asked[0]["description"].startswith("The reply has 1 decision for 3 calls.")
        assert path not in at.files
        await at.decide(decision)
    assert at.files == {"/a": "x", "/c": "x"}


async def test_one_decision_that_does_not_fit_runs_nothing_of_the_reply() -> None:
    at = await desk(write("/a"), write("/b"), interrupt_on=CHANGING).go()
    await at.decide(APPROVE, {"type": "shrug"})
    assert at.files == {}
    assert at.told == {}
    assert at.asked[0]["description"].startswith("The decision about another call did not fit.")
    await at.decide(REJECT)
    assert at.asked[0]["description"].startswith("The decision 'shrug' is not allowed.")
    # A second reply that does not fit says nothing about the first.
    await at.decide(edit("write_file", file_path="/b"))
    assert at.asked[0]["description"].startswith("The edited call can't run: The arguments")
    await at.decide(edit("write_file", file_path="/b", content=""))
    assert at.files == {"/b": ""}


@pytest.mark.parametrize("reply", [APPROVE, [APPROVE], {"decisions": [APPROVE]}])
async def test_a_single_decision_may_come_without_its_wrapping(reply: Any) -> None:
    at = await desk(write("/a"), interrupt_on=CHANGING).go()
    await at.run(Command(resume=reply))
    assert at.files == {"/a": "x"}


async def test_what_is_empty_or_not_unicode_in_a_reply_is_taken() -> None:
    at = await desk(write("/a", "a"), write("/b", "b"), interrupt_on=CHANGING).go()
    await at.decide({"type": "reject", "message": "\ud800"}, {"type": "reject", "message": ""})
    assert at.told["a"].endswith("They say: ?")
    assert at.told["b"].endswith("Don't repeat it unless they ask for it.")


# What a person reads


async def test_descriptions_show_what_would_change(tmp_path: Any) -> None:
    lines = "".join(f"line {number}\n" for number in range(1, 21))
    big = "".join(f"row {number}\n" for number in range(5_000))
    calls = [
        write("/new.txt", content="one\ntwo\n"),
        write("/poem.txt", content="roses"),
        write("/poem.txt", content="violets\n", overwrite=True),
        call("edit_file", file_path="/lines.txt", old_string="line 10", new_string="LINE\nTEN"),
        call("edit_file", file_path="/lines.txt", old_string="absent", new_string="x"),
        call("edit_file", file_path="/none.txt", old_string="a", new_string="b"),
        write("/big.txt", content=big),
        write("/\u202efdp.exe", content="\x1b[2Jhidden\tand \u202ereversed\n"),
        call("delete", file_path="/poem.txt"),
        call("delete", file_path="/many"),
        call("move", source="/few", destination="/less"),
        call("execute", command="rm -rf build\n\x07make"),
        call("send", to="Ann", count=2),
        call("ls", path="/"),
    ]
    names = {item["name"]: True for item in calls}
    mounts = {"/disk": LocalShellBackend(tmp_path)}
    at = desk(*calls, tools=[send], interrupt_on=names, mounts=mounts, read_before_edit=True)
    files = {f"/many/{number:02}": "" for number in range(25)} | {"/few/1": "", "/few/2": ""}
    files |= {"/poem.txt": "roses\n", "/lines.txt": lines}
    await at.run({"messages": [HumanMessage("go")], "files": files})
    shown = [f"=== {action['name']}\n{action['description']}\n" for action in at.asked]
    assert_snapshot("review.txt", "".join(shown))
    assert len(shown) == len(calls)


async def test_the_description_of_a_config_comes_first() -> None:
    def described(tool_call: Any, state: Any, runtime: Any) -> str:
        assert state["files"]
        return f"Write to {tool_call['args']['file_path']} for {runtime.context['user']}?"

    def failing(*_: Any) -> str:
        raise KeyError("no")

    both: Any = {"allowed_decisions": ["approve", "edit"]}
    config: Any = {
        "write_file": {**both, "description": described},
        "delete": {**both, "description": "Think\x1b twice."},
        "ls": {**both, "description": failing},
        "glob": {**both, "description": lambda *_: 5},
    }
    calls = [
        write("/a"),
        call("delete", file_path="/f"),
        call("ls", path="/p"),
        call("glob", pattern="*", path="/q"),
    ]
    at = desk(*calls, interrupt_on=config, context_schema=dict, context={"user": "Ann"})
    await at.go(f="")
    texts = [action["description"].split("\n\n") for action in at.asked]
    assert texts[0][:2] == ["Write to /a for Ann?", "`write_file` creates /a:"]
    assert texts[1] == ["Think\\x1b twice.", "`delete` removes /f."]
    assert [text[0] for text in texts[2:]] == ["`ls` is called with:", "`glob` is called with:"]
    configs = at.state["__interrupt__"][0].value["review_configs"]
    assert configs[0] == {"action_name": "write_file", "allowed_decisions": ["approve", "edit"]}


async def test_a_file_that_must_not_be_read_is_not_shown() -> None:
    rule = FilesystemPermission(["read"], ["/secrets/**"], "deny")
    change = write("/secrets/key", "w", "new\n", overwrite=True)
    at = desk(change, interrupt_on=CHANGING, permissions=[rule])
    await at.run({"messages": [HumanMessage("go")], "files": {"/secrets/key": "hidden\n"}})
    assert "hidden" not in str(at.state["__interrupt__"])
    assert "denies `read_file` here" in at.asked[0]["description"]


# When a person is asked


@MODES
async def test_when_decides_which_calls_need_a_person(mode: str) -> None:
    seen: list[Any] = []

    def when(request: Any) -> bool:
        seen.append(request)
        path: str = request.tool_call["args"]["file_path"]
        if path == "/fails":
            raise RuntimeError("lost")
        return path.startswith("/etc")

    config = {"write_file": {"allowed_decisions": ["approve"], "when": when}}
    calls = [write("/etc/a"), write("/b"), write("/fails")]
    at = desk(*calls, mode=mode, interrupt_on=config, context_schema=dict, context={"user": "Ann"})
    await at.go(old="")
    assert [action["args"]["file_path"] for action in at.asked] == ["/etc/a", "/fails"]
    assert at.files == {"/old": "", "/b": "x"}
    assert seen[0].tool is None
    assert list(seen[0].state["files"]) == ["/old"]
    assert seen[0].runtime.context == {"user": "Ann"}
    assert seen[0].runtime.tool_call_id == seen[0].tool_call["id"]


ASKS = FilesystemPermission(["write"], ["/kept/**", "/**/*.key"], "interrupt")
DENIES = FilesystemPermission(["write", "read"], ["/secrets/**"], "deny")


@MODES
async def test_permissions_ask_a_person_or_reject_at_once(mode: str) -> None:
    calls = [
        write("/kept/a", "kept"),
        write("/free", "free"),
        write("/secrets/a", "denied"),
        call("read_file", "read", file_path="/secrets/a"),
        call("ls", "ls", path="/secrets"),
        call("move", "move", source="/here", destination="/secrets/b"),
        call("read_file", "reads", file_path="/kept/b"),
        call("delete", "file", file_path="/here"),
        call("delete", "directory", file_path="/dir"),
    ]
    files = {"/here": "", "/dir/x": "", "/kept/b": "b\n"}
    at = desk(*calls, mode=mode, permissions=[DENIES, ASKS])
    await at.run({"messages": [HumanMessage("go")], "files": files})
    # A directory may have something below it that a person must be asked about; a file has not.
    assert [action["args"]["file_path"] for action in at.asked] == ["/kept/a", "/dir"]
    denied = {id for id, text in at.told.items() if "a rule of this agent denies" in text}
    assert denied == {"denied", "read", "ls", "move"}
    assert set(at.told) - denied == {"free", "reads", "file"}
    await at.decide(APPROVE, REJECT)
    assert set(at.files) == {"/kept/a", "/kept/b", "/free", "/dir/x"}


async def test_commands_are_ruled_by_the_prefix_of_their_mount(tmp_path: Any) -> None:
    rule = FilesystemPermission(["execute"], ["/disk/**"], "interrupt")
    run = call("execute", "run", command="echo hi")
    at = desk(run, mounts={"/disk": LocalShellBackend(tmp_path)}, permissions=[rule])
    await at.go()
    assert at.asked[0]["description"] == "`execute` runs a command in /disk:\n\necho hi"
    await at.decide(edit("execute", command="echo there"))
    assert "there" in at.told["run"].splitlines()[1]


@MODES
async def test_a_run_may_ask_for_more_reviews_than_the_graph(mode: str) -> None:
    calls = [write("/a"), call("delete", file_path="/b"), call("ls", path="/c")]
    options: Any = {"interrupt_on": {"delete": True}, "context_schema": Choices}
    at = desk(*calls, mode=mode, **options, context={"interrupt_on": ["write_file"]})
    await at.go(b="")
    assert [action["name"] for action in at.asked] == ["write_file", "delete"]
    at = await desk(*calls, mode=mode, **options).go(b="")
    assert [action["name"] for action in at.asked] == ["delete"]


async def test_a_context_that_asks_for_the_review_of_something_unknown_is_refused() -> None:
    at = desk(tools=[send], context_schema=Choices, context={"interrupt_on": ["write_fiel"]})
    with pytest.raises(ValueError, match=r"review of write_fiel, .* It has: ls, .*, send\."):
        await at.go()


async def test_without_a_way_to_ask_nothing_runs_that_needs_a_person() -> None:
    agent = create_filesystem_agent(ScriptedModel([says(write("/a", "a"))]))
    chosen: Any = Choices(interrupt_on=("write_file",))
    state = agent.invoke({"messages": [HumanMessage("go")]}, context=chosen)
    assert "this graph has no way to ask one" in answers(state)[0].text
    assert state.get("files", {}) == {}


async def test_own_tools_and_todos_are_reviewed_too() -> None:
    calls = [
        call("send", "s1", to="Ann"),
        call("send", "s2", to="Bob"),
        call("write_todos", "t", todos=[{"content": "rest", "status": "pending"}]),
    ]
    at = desk(*calls, tools=[send], todos=True, interrupt_on={"send": True, "write_todos": True})
    await at.go()
    await at.decide(edit("send", to="Eve", count="3"), {"type": "respond", "message": "ok"}, REJECT)
    assert at.told["s1"] == (
        '[A person changed this call before it ran: to="Eve", count="3"]\nsent 3 to Eve'
    )
    assert at.told["s2"] == "ok"
    assert not at.state.get("todos")


async def test_an_edit_of_a_tool_that_fails_is_told_with_the_error() -> None:
    at = await desk(call("send", "s", to="Ann"), tools=[send], interrupt_on={"send": True}).go()
    await at.decide(edit("send", to="Ann", count="many"))
    assert at.told["s"].startswith('[A person changed this call before it ran: count="many"]\nErr')


# What happens in between


@MODES
@pytest.mark.parametrize("moved", ["message", "end"])
async def test_a_new_message_cancels_what_waits_and_forgets_it(mode: str, moved: str) -> None:
    model = ScriptedModel([says(write("/a", "1", "one"), write("/a", "2", "two"))])
    options: Any = {"checkpointer": InMemorySaver(), "interrupt_on": CHANGING}
    at = await Desk(create_filesystem_agent(model, **options), mode).go()
    if moved == "end":  # as web interfaces resolve a thread
        await at.run(Command(goto=END))
    await at.go()
    kinds = [message.type for message in at.state["messages"]]
    assert kinds == ["human", "ai", "tool", "tool", "human", "ai"]
    assert all("cancelled" in text for text in at.told.values())
    assert [action["args"]["content"] for action in at.asked] == ["one", "two"]
    await at.decide(REJECT, APPROVE)
    assert at.files == {"/a": "two"}


@MODES
@pytest.mark.parametrize("inside", [False, True])
async def test_a_run_that_is_continued_without_a_reply_asks_again(mode: str, inside: bool) -> None:
    model = ScriptedModel([says(write("/a")), says(write("/b"))])
    options: Any = {"interrupt_on": CHANGING}
    if inside:
        graph = as_node(model, **options)
    else:
        graph = create_filesystem_agent(model, **options, checkpointer=InMemorySaver())
    at = await Desk(graph, mode).go()
    for _ in range(2):
        await at.run(None)
        assert [action["args"]["file_path"] for action in at.asked] == ["/a"]
    await at.decide(APPROVE)
    # LangGraph would take the reply to the first request for one to the second.
    for _ in range(2):
        await at.run(None)
        assert [action["args"]["file_path"] for action in at.asked] == ["/b"]
    await at.decide(REJECT)
    assert at.files == {"/a": "x"}


@MODES
async def test_a_reply_that_comes_again_after_a_crash_decides_about_nothing_new(mode: str) -> None:
    """A server that restarts runs what it was running again, with the same reply."""
    model = ScriptedModel([says(write("/a")), says(write("/b"))])
    options: Any = {"checkpointer": InMemorySaver(), "interrupt_on": CHANGING}
    at = await Desk(create_filesystem_agent(model, **options), mode).go()
    reply: Any = Command(resume={"decisions": [APPROVE]})
    await at.run(reply, interrupt_before=["review"])  # it ends before the second request is shown
    await at.run(reply)
    assert [action["args"]["file_path"] for action in at.asked] == ["/b"]
    await at.decide(APPROVE)
    assert set(at.files) == {"/a", "/b"}


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("inside", [False, True])
def test_a_reply_is_taken_whatever_the_durability(durability: Any, inside: bool) -> None:
    model = ScriptedModel([says(write("/a")), says(write("/b"))])
    graph = (
        as_node(model, interrupt_on=CHANGING)
        if inside
        else in_own_graph(model, interrupt_on=CHANGING)
    )
    thread: Any = {"configurable": {"thread_id": "1"}}
    graph.invoke({"messages": [HumanMessage("go")]}, thread, durability=durability)
    for _ in range(2):
        reply: Any = Command(resume={"decisions": [APPROVE]})
        state = graph.invoke(reply, thread, durability=durability)
    assert set(state["files"]) == {"/a", "/b"}


async def test_a_reply_by_the_id_of_the_interrupt_or_at_its_checkpoint_is_taken() -> None:
    at = await desk(write("/a"), interrupt_on=CHANGING).go()
    waiting = at.graph.get_state(at.thread)
    await at.run(Command(resume={waiting.interrupts[0].id: {"decisions": [APPROVE]}}))
    assert at.files == {"/a": "x"}
    at.thread = waiting.config
    await at.decide(edit("write_file", file_path="/b", content="y"))
    assert at.files == {"/b": "y"}


async def test_a_reply_at_a_checkpoint_that_a_stream_named_is_taken() -> None:
    at = desk(write("/a"), interrupt_on=CHANGING)
    given = {"messages": [HumanMessage("go")]}
    *_, last = at.graph.stream(given, at.thread, stream_mode="checkpoints")
    at.thread = last["config"]
    await at.decide(APPROVE)
    assert at.files == {"/a": "x"}


@MODES
@pytest.mark.parametrize("node", [None, "router", "review", "evict"])
async def test_a_state_edit_between_request_and_reply_runs_nothing_by_itself(
    mode: str, node: str | None
) -> None:
    at = await desk(write("/a", "a"), write("/b", "b"), mode=mode, interrupt_on=CHANGING).go()
    update = {"files": {"/by-hand": "h"}}
    if mode == "async":
        await at.graph.aupdate_state(at.thread, update, as_node=node)
    else:
        at.graph.update_state(at.thread, update, as_node=node)
    if node not in (None, "router"):
        await at.run(None)
        assert len(at.asked) == 2
    await at.decide(APPROVE, REJECT)
    assert at.files == {"/a": "x", "/by-hand": "h"}
    assert len(answers(at.state)) == 2


async def test_a_call_that_was_answered_by_hand_is_not_asked_about() -> None:
    at = await desk(write("/a", "a"), write("/b", "b"), interrupt_on=CHANGING).go()
    by_hand = ToolMessage("done by hand", tool_call_id="a")
    at.graph.update_state(at.thread, {"messages": [by_hand]})
    await at.run(None)
    assert [action["args"]["file_path"] for action in at.asked] == ["/b"]
    await at.decide(APPROVE)
    assert at.files == {"/b": "x"}
    assert at.told["a"] == "done by hand"


async def test_decisions_of_an_older_message_are_dropped() -> None:
    model = ScriptedModel([says(write("/a")), says(call("ls", path="/"))])
    options: Any = {"checkpointer": InMemorySaver(), "interrupt_on": CHANGING}
    at = await Desk(create_filesystem_agent(model, **options)).go()
    await at.decide(APPROVE)
    assert at.graph.get_state(at.thread).values["decisions"] == []


# Where it works


def in_own_graph(model: Any, **options: Any) -> Any:
    builder = StateGraph(FilesystemState)
    builder.add_node("think", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_edge(START, "think")
    builder.add_conditional_edges("think", filesystem_condition, ["router", END])
    add_filesystem(builder, then="think", **options)
    return guarded(builder.compile(checkpointer=InMemorySaver()))


def as_node(model: Any, **options: Any) -> Any:
    builder = StateGraph(FilesystemState)
    builder.add_node("agent", filesystem_node(create_filesystem_agent(model, **options)))
    builder.add_edge(START, "agent")
    return guarded(builder.compile(checkpointer=InMemorySaver()))


def two_deep(model: Any, **options: Any) -> Any:
    builder = StateGraph(FilesystemState)
    builder.add_node("inner", filesystem_node(as_node(model, **options)))
    builder.add_edge(START, "inner")
    return guarded(builder.compile(checkpointer=InMemorySaver()))


@MODES
@pytest.mark.parametrize("composed", [in_own_graph, as_node, two_deep])
async def test_review_works_in_graphs_of_others_and_in_graphs_inside(
    mode: str, composed: Callable[..., Any]
) -> None:
    model = ScriptedModel([says(write("/a", "a"), write("/b", "b")), says(write("/c", "c"))])
    at = await Desk(composed(model, interrupt_on=CHANGING), mode).go(old="o")
    assert len(at.asked) == 2
    await at.decide(APPROVE)
    await at.decide(edit("write_file", file_path="/e", content="y"))
    await at.decide(REJECT)
    assert [action["args"]["file_path"] for action in at.asked] == ["/c"]
    await at.decide(APPROVE)
    assert at.files == {"/old": "o", "/e": "y", "/c": "x"}
    assert [m.tool_call_id for m in answers(at.state)] == ["a", "b", "c"]
    assert "decisions" not in at.state


class Talking(ScriptedModel):
    """Gives work to subagents, which write the file that their task names."""

    def _generate(self, messages: list[Any], *args: Any, **options: Any) -> Any:
        task = str(messages[-1].text) if isinstance(messages[-1], HumanMessage) else ""
        if task.startswith("write "):
            asked = ScriptedModel([says(write(task.removeprefix("write "), "same"))])
            return asked._generate(messages, *args, **options)
        return super()._generate(messages, *args, **options)


def delegating(*paths: str, **options: Any) -> Any:
    calls = [
        call("task", f"t{n}", description=f"write {path}", subagent_type="worker")
        for n, path in enumerate(paths)
    ]
    worker: Any = {"name": "worker", "description": "Works.", **options.pop("worker", {})}
    return create_filesystem_agent(
        Talking(script=[says(*calls)]), subagents=[worker], checkpointer=InMemorySaver(), **options
    )


@MODES
async def test_subagents_are_reviewed_as_the_main_agent_is_and_one_by_one(mode: str) -> None:
    at = await Desk(delegating("/a", "/b", "/c", interrupt_on=CHANGING), mode).go()
    waiting = {
        found.value["action_requests"][0]["args"]["file_path"]: found.id
        for found in at.state["__interrupt__"]
    }
    assert set(waiting) == {"/a", "/b", "/c"}
    edited = edit("write_file", file_path="/d", content="d")
    replies = {"/b": edited, "/a": {"type": "shrug"}, "/c": REJECT}
    for path, decision in replies.items():
        await at.run(Command(resume={waiting[path]: {"decisions": [decision]}}))
    assert "not allowed" in at.asked[0]["description"]
    await at.run(None)
    assert [action["args"]["file_path"] for action in at.asked] == ["/a"]
    await at.decide(APPROVE)
    assert at.files == {"/a": "x", "/d": "d"}
    assert set(at.told) == {"t0", "t1", "t2"}


async def test_a_task_itself_can_be_reviewed_and_edited() -> None:
    at = await Desk(delegating("/a", "/b", interrupt_on={"task": True})).go()
    assert len(at.asked) == 2
    args = {"description": "write /c", "subagent_type": "worker"}
    await at.decide(edit("task", **args), {"type": "respond", "message": "Not needed."})
    assert at.files == {"/c": "x"}
    assert at.told["t0"].startswith("[A person changed this call before it ran: description=")
    assert at.told["t1"] == "Not needed."


@pytest.mark.parametrize("own", [{}, {"interrupt_on": {"ls": True}}])
async def test_what_a_run_asks_to_review_is_reviewed_in_subagents_too(own: Any) -> None:
    graph = delegating("/a", worker=own, context_schema=Choices)
    at = await Desk(graph, interrupt_on=["write_file"]).go()
    assert [action["name"] for action in at.asked] == ["write_file"]
    await at.decide(APPROVE)
    assert at.files == {"/a": "x"}


@MODES
@pytest.mark.parametrize("inside", [False, True])
async def test_a_reply_that_does_not_fit_runs_nothing_even_if_its_run_chooses_no_review(
    mode: str, inside: bool
) -> None:
    graph = delegating("/a", context_schema=Choices)
    at = Desk(graph, mode) if inside else desk(write("/a"), mode=mode, context_schema=Choices)
    at.context = {"interrupt_on": ["write_file"]}
    await at.go()
    at.context = None
    await at.decide({"type": "aprove"})
    assert "'aprove' is not allowed" in at.asked[0]["description"]
    assert at.files == {}
    await at.decide(APPROVE)
    assert at.files == {"/a": "x"}


async def test_the_todos_of_a_subagent_are_reviewed_as_those_of_the_main_agent() -> None:
    todos = call("write_todos", "todos", todos=[{"content": "x", "status": "pending"}])
    worker = {"name": "worker", "description": "Works.", "model": ScriptedModel([says(todos)])}
    work = call("task", description="work", subagent_type="worker")
    reviewed = {"write_todos": True, "task": False}
    at = await desk(work, subagents=[worker], todos=True, interrupt_on=reviewed).go()
    assert [action["name"] for action in at.asked] == ["write_todos"]


async def test_a_subagent_may_have_its_own_reviews_and_other_tools() -> None:
    options: Any = {"tools": [send], "interrupt_on": {"send": True, "write_file": True}}
    at = await Desk(delegating("/a", worker={"interrupt_on": {}}, **options)).go()
    assert at.files == {"/a": "x"}
    at = await Desk(delegating("/a", worker={"tools": []}, **options)).go()
    assert len(at.asked) == 1


async def test_turned_off_it_leaves_no_trace_and_turned_on_no_public_one() -> None:
    off = create_filesystem_agent(ScriptedModel(), interrupt_on={"write_file": False})
    assert "review" not in off.nodes
    assert "decisions" not in off.channels
    on = create_filesystem_agent(ScriptedModel(), interrupt_on={"write_file": True})
    assert "review" in on.nodes
    assert "decisions" in on.channels
    for schema in (on.get_input_jsonschema(), on.get_output_jsonschema()):
        assert "decisions" not in schema["properties"]


BAD: dict[str, tuple[Any, str]] = {
    "a list": (["write_file"], "must map names"),
    "an unknown name": ({"write_fiel": True}, r"'write_fiel', which .* It has: ls, .*send"),
    "text": ({"ls": "yes"}, "True, False or a mapping"),
    "no decisions": ({"ls": {"description": "x"}}, "allowed_decisions"),
    "none allowed": ({"ls": {"allowed_decisions": []}}, "some of approve, edit, reject, respond"),
    "an unknown decision": ({"ls": {"allowed_decisions": ["accept"]}}, r"not \['accept'\]"),
    "one as text": ({"ls": {"allowed_decisions": "approve"}}, "must be a list"),
    "an unknown key": ({"ls": {"allow": ["approve"]}}, "has no 'allow'. It takes"),
    "a number": ({"ls": {"allowed_decisions": ["approve"], "description": 5}}, "`description`"),
    "no function": ({"ls": {"allowed_decisions": ["approve"], "when": True}}, "`when`"),
}


@pytest.mark.parametrize("name", BAD)
def test_nonsense_is_refused_when_the_graph_is_built(name: str) -> None:
    given, problem = BAD[name]
    with pytest.raises(ValueError, match=problem):
        create_filesystem_agent(ScriptedModel(), [send], interrupt_on=given)


def test_a_schema_with_a_key_that_review_needs_is_refused() -> None:
    class Meeting(FilesystemState):
        decisions: list[str]

    options: Any = {"interrupt_on": {"ls": True}}
    with pytest.raises(ValueError, match="Meeting has a key `decisions`"):
        create_filesystem_agent(ScriptedModel(), state_schema=Meeting, **options)
    with pytest.raises(ValueError, match="Meeting has a key `decisions`"):
        add_filesystem(StateGraph(Meeting), then="model", **options)
    create_filesystem_agent(ScriptedModel(), state_schema=Meeting)


def test_functions_of_a_config_must_not_be_async() -> None:
    async def later(*_: Any) -> Any:
        return True

    for key in ("when", "description"):
        config: Any = {"ls": {"allowed_decisions": ["approve"], key: later}}
        with pytest.raises(ValueError, match="not async"):
            create_filesystem_agent(ScriptedModel(), interrupt_on=config)


def test_an_operation_that_no_mount_offers_may_be_named() -> None:
    reviewed = {"execute": True, "ls": True}
    agent = create_filesystem_agent(ScriptedModel(), interrupt_on=reviewed)
    assert {"review", "ls"} <= agent.nodes.keys()
    assert "execute" not in agent.nodes
