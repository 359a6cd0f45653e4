"""`CommandModel`: what it answers, in a graph, in a stream, and to any text."""

import json
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import BaseModel, Field

from langgraph_filesystem.command_model import CommandModel
from tests.graph.typed import MODEL, TOOLS, calls_of, text_of


def test_every_call_has_an_id_of_its_own() -> None:
    replies = [MODEL.invoke([HumanMessage("ls /\nls /")]) for _ in range(2)]
    ids = [call["id"] or "" for reply in replies for call in reply.tool_calls]
    assert len(set(ids)) == 4
    assert all(made.startswith("call_") for made in ids)


MANUAL = """\
Type one command per line. A blank line waits for the answers to the commands above it. Quote text \
with spaces, or end a line with `<<END` and write the text on the next lines, up to a line `END`. \
The commands:

- `ls path`: List a directory.
- `write_file file_path content [overwrite=false]`: Write a file.
- `edit_file file_path old_string new_string [replace_all=false]`: Edit a file.
- `grep pattern [path] [output_mode="content"] [regex=false] [max_count]`: Search files.
- `odd [ratio=1.0] [tags] [data] [either=0] [count=0]`: Take every JSON type."""


def without_content() -> HumanMessage:
    message = HumanMessage("")
    message.content = None  # type: ignore[assignment]  # what a careless client stores
    return message


@pytest.mark.parametrize(
    "messages",
    [
        [HumanMessage("help")],
        [HumanMessage(" help grep\n")],
        [HumanMessage("")],
        [HumanMessage("\n# only a comment\n")],
        [HumanMessage([{"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}])],
        [HumanMessage([{"type": "text", "text": None}])],
        [without_content()],
        [SystemMessage("ls /"), AIMessage("ls /")],
    ],
)
def test_help_or_no_command_gives_the_list(messages: list[BaseMessage]) -> None:
    assert text_of(*messages) == MANUAL


def test_without_tools_it_says_so() -> None:
    reply = CommandModel().invoke("ls /")
    assert str(reply.content).endswith("There are no commands: no tools are bound to this model.")


def test_content_blocks_are_lines_of_their_own() -> None:
    message = HumanMessage(["ls /a", {"type": "text", "text": "ls /b"}])
    assert [call["args"]["path"] for call in MODEL.invoke([message]).tool_calls] == ["/a", "/b"]


def test_only_the_last_human_message_counts() -> None:
    earlier = [HumanMessage("ls /old"), AIMessage("done")]
    reply = MODEL.invoke([*earlier, HumanMessage("ls /new")])
    assert reply.tool_calls[0]["args"] == {"path": "/new"}


def test_the_end_says_what_each_tool_answered() -> None:
    answers = [
        ToolMessage("\n     1\tone\ntwo", name="read_file", tool_call_id="1"),
        ToolMessage("x" * 200, name="ls", tool_call_id="2", status="error"),
        ToolMessage([{"type": "text", "text": "seen\x1b"}], tool_call_id="3"),
        ToolMessage("", name="ls", tool_call_id="4"),
    ]
    assert text_of(HumanMessage("ls /"), AIMessage(""), *answers).split("\n") == [
        "- `read_file` ok:",
        "      1 one",
        "      two",
        f"- `ls` error: {'x' * 119}…",
        "- `3` ok: seen\\x1b",
        "- `ls` ok",
    ]


def test_the_end_without_an_answer_is_still_a_text() -> None:
    assert text_of(HumanMessage("ls /"), AIMessage("")) == "Done, but no tool has answered."


class Count(BaseModel):
    """Count things."""

    times: Annotated[int, Field(description="How often.")]


def count(times: int) -> None:
    """Count things."""


@pytest.mark.parametrize(
    "bound",
    [
        Count,
        count,
        tool(count),
        {"name": "count", "description": "", "parameters": Count.model_json_schema()},
        {"type": "function", "function": {"name": "count", "parameters": {"$ref": "#/none"}}},
    ],
)
def test_it_binds_whatever_langchain_takes_for_a_tool(bound: Any) -> None:
    model = CommandModel().bind_tools([bound, {"type": "web_search"}], tool_choice="any")
    answer = str(model.invoke("help").content)
    assert answer.lower().count("- `count") == 1


def agent(checkpointer: Any = None, model: Any = MODEL) -> CompiledStateGraph[Any, Any, Any, Any]:
    def call_model(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    async def acall_model(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", RunnableLambda(call_model, acall_model))
    builder.add_node("tools", ToolNode(TOOLS))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=checkpointer)


CONFIG: Any = {"configurable": {"thread_id": "1"}}
SESSION = {"messages": [HumanMessage("ls /a\nls /gone\n\nwrite_file /a hi")]}
SESSION_END = """\
- `ls` ok:
      /a: a.txt
      b.txt
- `ls` error: No directory /gone.
- `write_file` ok: Wrote 2 characters to /a."""


async def test_groups_are_turns_of_a_graph() -> None:
    for messages in (
        agent().invoke(SESSION, CONFIG)["messages"],
        (await agent().ainvoke(SESSION, CONFIG))["messages"],
    ):
        assert [message.type for message in messages] == (
            ["human", "ai", "tool", "tool", "ai", "tool", "ai"]
        )
        assert messages[-1].content == SESSION_END


def test_a_second_message_of_a_thread_starts_anew(saver: Any) -> None:
    graph = agent(saver)
    graph.invoke(SESSION, CONFIG)
    messages = graph.invoke({"messages": [HumanMessage("ls /b")]}, CONFIG)["messages"]
    assert messages[-1].content == "- `ls` ok:\n      /b: a.txt\n      b.txt"


async def test_a_streamed_run_shows_calls_and_words_as_they_come() -> None:
    streamed = [part async for part in agent().astream(SESSION, CONFIG, stream_mode="messages")]
    chunks = [part[0] for part in streamed if isinstance(part, tuple)]
    called = [c for chunk in chunks if isinstance(chunk, AIMessageChunk) for c in chunk.tool_calls]
    words = [c.content for c in chunks if isinstance(c, AIMessageChunk) and c.content]
    assert [call["name"] for call in called] == ["ls", "ls", "write_file"]
    assert "".join(map(str, words)) == SESSION_END
    assert len(words) > 10


async def test_the_chunks_of_a_stream_add_up_to_the_message() -> None:
    text = """ls /\nwrite_file /ä "é\\n\0"\nodd tags='["a"]'"""
    for chunks in (list(MODEL.stream(text)), [chunk async for chunk in MODEL.astream(text)]):
        total: Any = chunks[0]
        for chunk in chunks[1:]:
            total += chunk
        assert [(call["name"], call["args"]) for call in total.tool_calls] == calls_of(text)


SYNTAX = r"""ls|write_file|odd|help|tags=|--path|--replace_all|<<E|E|'|"|\|#|=|null|true|-1|[|{|”"""
PIECES = st.sampled_from([*SYNTAX.split("|"), " ", "\t", "\n", "\n\n", "\r", "\0"])


@given(st.one_of(st.text(), st.lists(PIECES | st.text(max_size=3)).map("".join)))
def test_no_text_makes_it_raise(text: str) -> None:
    reply = MODEL.invoke([HumanMessage(text)])
    assert bool(reply.content) != bool(reply.tool_calls)
    assert AIMessage.model_validate_json(reply.model_dump_json()) == reply


def test_a_reply_is_plain_json() -> None:
    reply = MODEL.invoke("odd 0.5 '[\"a\"]' '{\"b\": 1}' c 3")
    assert json.loads(json.dumps(reply.tool_calls)) == reply.tool_calls
