"""`evict`: what is too large goes to a file, whole, and its ends stay."""

import base64
import re
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command

from langgraph_filesystem import FilesystemState, create_filesystem_agent, filesystem_node
from langgraph_filesystem.nodes.evict import after_evict, preview
from langgraph_filesystem.state.backends import StateBackend
from langgraph_filesystem.state.backends.protocol import WriteResult
from langgraph_filesystem.state.workspace.composite import CompositeBackend
from tests.nodes.backends import Broken, Shelf
from tests.scripted import ScriptedModel, answers, arun, call, run, says
from tests.snapshots import assert_snapshot

LINES = "".join(f"line {number}\n" for number in range(1, 30_001))


def giving(value: Any) -> BaseTool:
    """Return a tool named `give` that gives a value."""

    @tool
    def give() -> Any:
        """Give it."""
        return value

    return give


def evicted(value: Any, id: str = "big", **options: Any) -> tuple[ToolMessage, dict[str, Any]]:
    state = run(call("give", id=id), tools=[giving(value)], **options)
    [reply] = answers(state)
    return reply, state.get("files", {})


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_large_result_goes_to_a_file_and_its_ends_stay(mode: str) -> None:
    asked, options = call("give", id="big"), {"tools": [giving(LINES)]}
    state = await arun(asked, **options) if mode == "async" else run(asked, **options)
    [reply] = answers(state)
    assert state["files"]["/large_tool_results/big"]["content"] == LINES
    assert_snapshot("evicted.txt", reply.text + "\n")
    assert (reply.tool_call_id, reply.name) == ("big", "give")
    assert reply.additional_kwargs == {"evicted_to": "/large_tool_results/big"}


@pytest.mark.parametrize(
    ("size", "options", "is_moved"),
    [
        (80_000, {}, False),
        (80_001, {}, True),
        (400, {"evict_over": 100}, False),
        (401, {"evict_over": 100}, True),
        (5, {"evict_over": 1}, True),
        (4, {"evict_over": 1}, False),
        (100_001, {"evict_over": 10**9}, True),
        (100_000, {"evict_over": 10**9}, False),
        (1_000_000, {"evict_over": None}, False),
    ],
)
def test_the_limit_is_in_tokens_of_four_characters(
    size: int, options: dict[str, Any], is_moved: bool
) -> None:
    reply, files = evicted("x" * size, **options)
    assert (list(files) == ["/large_tool_results/big"]) is is_moved
    assert (reply.text == "x" * size) is not is_moved


@pytest.mark.parametrize(("per_message", "is_moved"), [(10, False), (11, True)])
def test_a_token_counter_of_ones_own_decides(per_message: int, is_moved: bool) -> None:
    counted: list[AnyMessage] = []

    def count(messages: Iterable[AnyMessage]) -> int:
        counted.extend(messages)
        return per_message if isinstance(counted[-1], ToolMessage) else 0

    _, files = evicted("small", token_counter=count, evict_over=10)
    assert bool(files) is is_moved
    assert [message.type for message in counted] == ["human", "tool"]


def test_no_counter_lets_a_message_pass_the_bound_of_every_answer() -> None:
    reply, _ = evicted("x" * 100_001, token_counter=lambda _: 0)
    assert len(reply.text) < 10_000


@pytest.mark.parametrize("evict_over", [1, 10, 100, 1_000, 20_000])
@pytest.mark.parametrize("text", [LINES, "x" * 300_000, ("y" * 5_000 + "\n") * 30], ids=len)
def test_what_stays_is_small(text: str, evict_over: int) -> None:
    reply, files = evicted(text, evict_over=evict_over)
    assert files["/large_tool_results/big"]["content"] == text
    assert len(reply.text) <= max(1_700, evict_over * 4)


@pytest.mark.parametrize(
    ("id", "name"),
    [
        ("toolu_01-A", "toolu_01-A"),
        ("a.b:c", "a_b_c"),
        ("日本", "result"),
        ("é" * 50 + "x", "x"),
        ("z" * 1_000, "z" * 100),
        ("../../etc/passwd", "etc_passwd"),
        ("..", "result"),
        ("a/b\\c", "a_b_c"),
        ("x\0y\n", "x_y"),
        ("~", "result"),
        ("con.", "con"),
    ],
)
def test_ids_are_made_into_safe_names(id: str, name: str) -> None:
    _, files = evicted(LINES, id=id)
    assert list(files) == [f"/large_tool_results/{name}"]


@pytest.mark.parametrize("id", ["../../etc/passwd", "/etc/passwd", "a/b", "..", "x\0y", "\n"])
def test_an_id_of_a_message_can_not_name_another_place(id: str) -> None:
    agent = create_filesystem_agent(ScriptedModel())
    state = agent.invoke({"messages": [HumanMessage(LINES, id=id)]})
    [path] = state["files"]
    assert re.fullmatch(r"/large_tool_results/[\w-]+", path)
    assert state["messages"][0].id == id


def test_a_repeated_id_gets_a_new_name() -> None:
    state = run(
        call("give", id="same"),
        call("give", id="same"),
        [call("give", id="sa.me"), call("give", id="sa:me"), call("give", id="sa/me")],
        tools=[giving(LINES)],
    )
    names = ["same", "same-2", "sa_me", "sa_me-2", "sa_me-3"]
    assert sorted(state["files"]) == sorted(f"/large_tool_results/{name}" for name in names)


def test_a_repeated_id_never_overwrites_a_file_of_another_thread() -> None:
    shelf = Shelf(big="of another thread")
    reply, files = evicted(LINES, mounts={"/large_tool_results": shelf})
    assert shelf.files == {"/big": b"of another thread", "/big-2": LINES.encode()}
    assert files == {}
    assert "/large_tool_results/big-2" in reply.text


def test_text_blocks_go_and_media_stay() -> None:
    image = {"type": "image", "base64": "x" * 200_000, "mime_type": "image/png"}
    reply, files = evicted(
        [{"type": "text", "text": LINES}, image, {"type": "text", "text": "end"}]
    )
    assert files["/large_tool_results/big"]["content"] == f"{LINES}\nend"
    [notice, kept] = list(reply.content)
    assert kept == image
    assert isinstance(notice, dict)
    assert "/large_tool_results/big" in notice["text"]
    assert len(notice["text"]) < 10_000


def test_media_alone_are_not_text() -> None:
    image = {"type": "image", "base64": "x" * 200_000, "mime_type": "image/png"}
    reply, files = evicted([image, {"type": "text", "text": "small"}])
    assert files == {}
    assert reply.content == [image, {"type": "text", "text": "small"}]


ENCODED = base64.b64encode(LINES.encode()).decode()
UPLOADS: dict[str, dict[str, Any]] = {
    "LangChain's text": {"type": "text-plain", "text": LINES, "mime_type": "text/plain"},
    "LangChain's file": {"type": "file", "base64": ENCODED, "mime_type": "text/csv"},
    "LangChain 0's text": {"type": "file", "source_type": "text", "text": LINES},
    "LangChain 0's file": {
        "type": "file",
        "source_type": "base64",
        "data": ENCODED,
        "mime_type": "application/json",
    },
    "Anthropic's text": {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": LINES},
    },
    "OpenAI's file": {
        "type": "file",
        "file": {"filename": "a.md", "file_data": f"data:text/markdown;base64,{ENCODED}"},
    },
}


@pytest.mark.parametrize("block", UPLOADS.values(), ids=UPLOADS)
def test_a_text_file_that_was_uploaded_goes_to_a_file(block: dict[str, Any]) -> None:
    image = {"type": "image", "base64": "x" * 200_000, "mime_type": "image/png"}
    given = HumanMessage(["look at this", block, image], id="h")
    state = create_filesystem_agent(ScriptedModel()).invoke({"messages": [given]})
    assert state["files"]["/large_tool_results/h"]["content"] == f"look at this\n{LINES}"
    [notice, kept] = state["messages"][0].content
    assert len(notice["text"]) < 10_000
    assert kept == image


def test_uploads_that_are_small_or_hold_no_text_stay() -> None:
    data = base64.b64encode(bytes(range(256)) * 1_000).decode()
    blocks: list[Any] = [
        {"type": "file", "base64": data, "mime_type": "application/pdf"},
        {"type": "file", "base64": data, "mime_type": "text/plain"},
        {"type": "file", "base64": "aGk=", "mime_type": "text/plain"},
        {"type": "file", "file_id": "f-1"},
        {"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}},
    ]
    state = create_filesystem_agent(ScriptedModel()).invoke({"messages": [HumanMessage(blocks)]})
    assert state["messages"][0].content == blocks
    assert not state.get("files")


def test_blocks_of_text_only_become_text() -> None:
    reply, _ = evicted([{"type": "text", "text": LINES}])
    assert isinstance(reply.content, str)


def test_blocks_of_another_kind_are_kept_as_json() -> None:
    block = {"type": "json", "json": {"é": ["x" * 100] * 1_000}}
    agent = create_filesystem_agent(ScriptedModel())
    state = agent.invoke({"messages": [HumanMessage([block, "and text"], id="h")]})
    kept = state["files"]["/large_tool_results/h"]["content"]
    assert '"é"' in kept
    assert kept.endswith("\nand text")


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_large_human_messages_go_to_files_too(mode: str) -> None:
    model = ScriptedModel()
    agent = create_filesystem_agent(model)
    given: Any = {"messages": [HumanMessage(LINES, id="h", name="ann"), HumanMessage("short")]}
    state = await agent.ainvoke(given) if mode == "async" else agent.invoke(given)
    first, second = state["messages"][:2]
    assert state["files"]["/large_tool_results/h"]["content"] == LINES
    assert (first.id, first.name, second.text) == ("h", "ann", "short")
    assert all(len(message.text) < 10_000 for message in model.asked[0])


def test_pages_that_operations_return_stay() -> None:
    page = call("read_file", file_path="/a", limit=10_000)
    state = run(page, files={"/a": LINES}, evict_over=1_000)
    [reply] = answers(state)
    assert reply.text.startswith("     1\tline 1\n")
    assert list(state["files"]) == ["/a"]


def test_a_tool_with_the_name_of_an_operation_that_the_graph_lacks_is_evicted() -> None:
    def grep() -> str:
        """Give a lot."""
        return LINES

    state = run(call("grep", id="big"), tools=[grep], operations=["ls"])
    assert list(state["files"]) == ["/large_tool_results/big"]


def test_what_was_moved_once_is_not_moved_again() -> None:
    write = call("write_file", file_path="/a", content="")
    three_waves = [call("give", id="big"), write, call("ls"), call("delete", file_path="/a")]
    state = run(three_waves, tools=[giving("x" * 100)], evict_over=1)
    assert list(state["files"]) == ["/large_tool_results/big"]
    assert state["files"]["/large_tool_results/big"]["content"] == "x" * 100


def test_artifact_and_status_stay_with_the_message() -> None:
    @tool(response_format="content_and_artifact")
    def give() -> tuple[str, dict[str, int]]:
        """Give both."""
        return LINES, {"kept": 1}

    [reply] = answers(run(call("give"), tools=[give]))
    assert reply.artifact == {"kept": 1}

    def fail() -> str:
        """Fail at length."""
        raise ValueError(LINES)

    [reply] = answers(run(call("fail"), tools=[fail]))
    assert reply.status == "error"
    assert len(reply.text) < 10_000


class ReadOnly(Shelf):
    def write(self, file_path: str, content: str) -> WriteResult:
        return WriteResult(error="permission_denied")


@pytest.mark.parametrize(
    "backend",
    [ReadOnly(other=""), Broken(OSError("disk full")), lambda _: 1 / 0],
    ids=["refuses", "raises", "can't be made"],
)
@pytest.mark.parametrize("prefix", ["/", "/large_tool_results"])
def test_what_a_backend_refuses_is_kept_in_the_state_and_can_be_read(
    backend: Any, prefix: str
) -> None:
    path = "/large_tool_results/big"
    state = run(
        call("give", id="big"),
        [call("read_file", file_path=path, limit=1), call("grep", pattern="line 30000", path=path)],
        tools=[giving(LINES)],
        mounts={prefix: backend},
    )
    evicted_reply, page, found = answers(state)
    assert path in evicted_reply.text
    assert state["files"][path]["content"] == LINES
    assert state["messages"][-1].text == "done"
    assert page.text == "     1\tline 1\n[1 of 30000 lines: next page with offset=1]"
    assert found.text == path


def test_files_of_a_composite_are_found_once() -> None:
    mounts = {"/": lambda _: CompositeBackend(StateBackend(), {"/m": Shelf()})}
    asked = [call("ls", path="/large_tool_results"), call("grep", pattern="line 30000")]
    state = run(call("give", id="big"), asked, tools=[giving(LINES)], mounts=mounts)
    assert [reply.text for reply in answers(state)[1:]] == ["/large_tool_results/big"] * 2


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_branches_that_use_the_same_ids_keep_each_their_own(mode: str) -> None:
    def branch(text: str) -> Any:
        return create_filesystem_agent(
            ScriptedModel([says(call("give", id="call_1"))]), tools=[giving(text)]
        )

    builder = StateGraph(FilesystemState)
    for name in ("a", "b"):
        builder.add_node(name, filesystem_node(branch(name + LINES)))
        builder.add_edge(START, name)
    given: Any = {"messages": [HumanMessage("go")]}
    graph = builder.compile()
    state = await graph.ainvoke(given) if mode == "async" else graph.invoke(given)
    kept = {file["content"] for file in state["files"].values()}
    assert kept == {f"a{LINES}", f"b{LINES}"}
    for path, file in state["files"].items():
        assert re.fullmatch(r"/large_tool_results/call_1-[0-9a-f]{8}", path)
        [reply] = [m for m in answers(state) if path in m.text]
        assert f"{file['content'][0]}line 1\n" in reply.text


def test_a_file_in_the_way_of_the_directory_loses_nothing() -> None:
    reply, files = evicted(LINES, files={"/large_tool_results": "a file"})
    assert files["/large_tool_results"]["content"] == "a file"
    assert files["/large_tool_results/big"]["content"] == LINES
    assert "/large_tool_results/big" in reply.text


def test_text_that_no_file_can_hold_is_made_valid() -> None:
    _, files = evicted("\ud800" + LINES)
    assert files["/large_tool_results/big"]["content"] == "?" + LINES


def test_the_file_is_known_to_the_agent() -> None:
    edit = call(
        "edit_file",
        file_path="/large_tool_results/big",
        old_string="line 1\nline 2\n",
        new_string="",
    )
    state = run(call("give", id="big"), edit, tools=[giving(LINES)])
    assert answers(state)[-1].status == "success"


HUMAN, AI = HumanMessage("go"), says(call("give", "a"), call("other", "b"))


def done(name: str, id: str, status: Any = "success") -> ToolMessage:
    return ToolMessage("x", tool_call_id=id, name=name, status=status)


@pytest.mark.parametrize(
    ("messages", "goes_to"),
    [
        ([HUMAN], "then"),
        ([], "then"),
        ([HUMAN, AI], "router"),
        ([HUMAN, AI, done("give", "a")], "router"),
        ([HUMAN, AI, done("give", "a"), done("other", "b")], "then"),
        ([HUMAN, AI, done("give", "a"), done("give", "b")], "end"),
        ([HUMAN, AI, done("give", "a"), done("give", "b", "error")], "then"),
        ([HUMAN, AI, done("give", "a"), done("give", "b"), HUMAN], "then"),
    ],
)
def test_the_edge_behind_it_is_a_function_of_the_state(
    messages: list[AnyMessage], goes_to: str
) -> None:
    edge = after_evict("then", "end", ["give"])
    assert edge.invoke({"messages": messages}) == goes_to


@pytest.mark.parametrize(
    ("operations", "told", "untold"),
    [
        (["ls"], "", "read_file"),
        (["ls", "grep"], "search it with `grep`", "read_file"),
        (["read_file"], "page through it with `read_file`", "grep"),
    ],
)
def test_the_notice_names_only_operations_that_exist(
    operations: list[str], told: str, untold: str
) -> None:
    def shout() -> str:
        """Shout."""
        return "A" * 5_000

    state = run(call("shout"), tools=[shout], operations=operations, evict_over=100)
    [reply] = answers(state)
    assert told in reply.text
    assert untold not in reply.text
    assert "/large_tool_results/" in reply.text


def test_a_message_that_is_added_while_a_run_is_stopped_is_evicted_too() -> None:
    thread: Any = {"configurable": {"thread_id": "1"}}
    model = ScriptedModel([says(call("ls", path="/"))])
    agent = create_filesystem_agent(model, checkpointer=InMemorySaver(), interrupt_after=["ls"])
    agent.invoke({"messages": [HumanMessage("go")]}, thread)
    assert agent.get_state(thread).next == ("evict",)
    large = HumanMessage("x" * 200_000, id="added")
    state = agent.invoke(Command(update={"messages": [large]}), thread)
    assert max(len(message.text) for message in state["messages"]) < 100_000
    assert state["files"]["/large_tool_results/added"]["content"] == "x" * 200_000
    assert [message.type for message in state["messages"][:5]] == [
        *("human", "ai", "tool", "human", "ai")
    ]


# The preview that stays in the message


def test_ten_lines_of_either_end_are_numbered() -> None:
    rows = preview("".join(f"l{n}\n" for n in range(1, 101)), 40_000).split("\n")
    assert rows[0] == "     1\tl1"
    assert rows[9:12] == ["    10\tl10", "[... 80 lines left out ...]", "    91\tl91"]
    assert rows[-1] == "   100\tl100"
    assert len(rows) == 21


@pytest.mark.parametrize("count", [2, 10, 11, 20])
def test_few_lines_are_shown_once_each(count: int) -> None:
    text = "\n".join(f"l{n}" for n in range(count))
    rows = preview(text, 40_000).split("\n")
    assert [row.split("\t")[1] for row in rows] == text.split("\n")


def test_lines_are_cut_at_a_thousand_characters() -> None:
    rows = preview(f"{'x' * 1_000}\n{'y' * 1_001}\n", 40_000).split("\n")
    assert rows == ["     1\t" + "x" * 1_000, "     2\t" + "y" * 1_000 + " [... 1,001 characters]"]


@pytest.mark.parametrize("end", ["", "\n"])
def test_one_long_line_shows_both_its_ends(end: str) -> None:
    rows = preview("a" * 5_000 + "b" * 5_000 + end, 40_000).split("\n")
    assert rows == [
        "     1\t" + "a" * 1_000,
        "[... 8,000 characters left out ...]",
        "\t" + "b" * 1_000,
    ]


@given(st.text("ab\n", max_size=300), st.integers(0, 50_000))
def test_a_preview_is_about_as_large_as_it_may_be(text: str, budget: int) -> None:
    shown = preview(text * 20, budget)
    assert len(shown) <= max(400, budget) + 20 * 40 + 50
