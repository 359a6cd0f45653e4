"""`CommandModel`: what a person types, and the calls and texts that come of it."""

import json
import time
from typing import Annotated, Any, Literal

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
from langchain_core.tools import BaseTool, ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import BaseModel, Field

from langgraph_filesystem.command_model import CommandModel


@tool
def ls(path: str) -> str:
    """List a directory.

    Only the first line belongs into the list of commands.
    """
    if path == "/gone":
        raise ToolException("No directory /gone.")
    return f"{path}: a.txt\nb.txt"


@tool
def write_file(file_path: str, content: str, overwrite: bool = False) -> str:
    """Write a file."""
    return f"Wrote {len(content)} characters to {file_path}."


@tool
def edit_file(file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> str:
    """Edit a file."""
    return f"Edited {file_path}."


@tool
def grep(
    pattern: str,
    path: str | None = None,
    output_mode: Literal["content", "count"] = "content",
    regex: bool = False,
    max_count: int | None = None,
) -> str:
    """Search files."""
    return "no match"


@tool
def odd(
    ratio: float = 1.0,
    tags: list[str] | None = None,
    data: dict[str, Any] | None = None,
    either: int | str = 0,
    count: int = 0,
) -> str:
    """Take every JSON type."""
    return "odd"


ls.handle_tool_error = True
TOOLS: list[BaseTool] = [ls, write_file, edit_file, grep, odd]
MODEL = CommandModel().bind_tools(TOOLS)


def calls_of(text: str) -> list[tuple[str, dict[str, Any]]]:
    reply = MODEL.invoke([HumanMessage(text)])
    return [(call["name"], call["args"]) for call in reply.tool_calls]


def text_of(*messages: BaseMessage) -> str:
    reply = MODEL.invoke(list(messages))
    assert not reply.tool_calls
    return str(reply.content)


@pytest.mark.parametrize(
    ("line", "name", "args"),
    [
        ("ls /", "ls", {"path": "/"}),
        ("  ls\t/  \r", "ls", {"path": "/"}),
        ("ls", "ls", {}),
        ('ls ""', "ls", {"path": ""}),
        ("ls 'a b'/\"c d\"/e", "ls", {"path": "a b/c d/e"}),
        (r"ls C:\new\table", "ls", {"path": r"C:\new\table"}),
        (r"ls 'a\nb'", "ls", {"path": r"a\nb"}),
        (r'ls "a\n\t\"\\\d"', "ls", {"path": 'a\n\t"\\\\d'}),
        ("ls 'a\tb'", "ls", {"path": "a\tb"}),
        ("ls “a”", "ls", {"path": "“a”"}),
        ("ls /no\u00a0break", "ls", {"path": "/no\u00a0break"}),
        ("ls \u00a0a", "ls", {"path": "\u00a0a"}),
        ("ls a\0b", "ls", {"path": "a\0b"}),
        ("ls a\ud800b", "ls", {"path": "a\ud800b"}),
        ("ls path=/a=b", "ls", {"path": "/a=b"}),
        ("ls path='/a b'", "ls", {"path": "/a b"}),
        ("ls path=", "ls", {"path": ""}),
        ("ls 'path=/a'", "ls", {"path": "path=/a"}),
        ("ls depth=3", "ls", {"path": "depth=3"}),
        ("ls --path /a", "ls", {"path": "/a"}),
        ("ls --path=/a", "ls", {"path": "/a"}),
        ("ls '--path'", "ls", {"path": "--path"}),
        ("ls --path'x'", "ls", {"path": "--pathx"}),
        ("ls --all", "ls", {"path": "--all"}),
        ("ls --", "ls", {"path": "--"}),
        ("ls -la", "ls", {"path": "-la"}),
        ("ls '<<END'", "ls", {"path": "<<END"}),
    ],
)
def test_a_line_is_read_as_a_shell_would(line: str, name: str, args: dict[str, Any]) -> None:
    assert calls_of(line) == [(name, args)]


@pytest.mark.parametrize(
    ("line", "args"),
    [
        ("/a old new", {"file_path": "/a", "old_string": "old", "new_string": "new"}),
        ("new_string=n /a o", {"file_path": "/a", "old_string": "o", "new_string": "n"}),
        ("/a old_string=o n", {"file_path": "/a", "old_string": "o", "new_string": "n"}),
        ("/a --replace_all", {"file_path": "/a", "replace_all": True}),
        ("--replace-all /a", {"file_path": "/a", "replace_all": True}),
        ("--replace_all false /a", {"file_path": "/a", "replace_all": False}),
        ("/a replace_all=true", {"file_path": "/a", "replace_all": True}),
        ("/a replace_all=False", {"file_path": "/a", "replace_all": False}),
        ("/a replace_all=maybe", {"file_path": "/a", "replace_all": "maybe"}),
        ("/a x=y --z", {"file_path": "/a", "old_string": "x=y", "new_string": "--z"}),
        ("file_path=/a file_path=/b", {"file_path": "/b"}),
    ],
)
def test_words_fill_what_no_name_has_set(line: str, args: dict[str, Any]) -> None:
    assert calls_of(f"edit_file {line}") == [("edit_file", args)]


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("count=5", 5),
        ("count='5'", 5),
        ("count=-5", -5),
        ("count=05", "05"),
        ("count=five", "five"),
        ("count=1.5", "1.5"),
        ("count=true", "true"),
        ("count=", ""),
        ("count=9223372036854775808", "9223372036854775808"),
        ("count=" + "9" * 5000, "9" * 5000),
        ("ratio=2", 2),
        ("ratio=0.5", 0.5),
        ("ratio=1e999", "1e999"),
        ("ratio=NaN", "NaN"),
        ("""tags='["a b", "c"]'""", ["a b", "c"]),
        ("tags=[]", []),
        ("tags=null", None),
        ("tags='null'", "null"),
        ("tags=a,b", "a,b"),
        ("tags={}", "{}"),
        ("tags=" + "[" * 300 + "]" * 300, "[" * 300 + "]" * 300),
        ("tags=" + "[" * 100_000, "[" * 100_000),
        ("""data='{"a": [1]}'""", {"a": [1]}),
        ("either=5", "5"),
        ("either=five", "five"),
    ],
)
def test_a_value_takes_the_type_of_its_schema_or_stays_as_typed(word: str, value: Any) -> None:
    [(_, args)] = calls_of(f"odd {word}")
    assert args == {word.partition("=")[0]: value}


def test_an_optional_parameter_converts_like_a_required_one() -> None:
    line = "grep null null count --max_count 3 --regex"
    args = {"pattern": "null", "path": None, "output_mode": "count", "max_count": 3, "regex": True}
    assert calls_of(line) == [("grep", args)]


def test_a_heredoc_keeps_its_lines_as_they_are() -> None:
    text = "write_file /a <<END overwrite=true\n  ls /\n\n# 'no comment\r\nEND \nls /"
    content = "  ls /\n\n# 'no comment\r\n"
    args = {"file_path": "/a", "content": content, "overwrite": True}
    assert calls_of(text) == [("write_file", args), ("ls", {"path": "/"})]


def test_two_heredocs_of_a_line_follow_each_other() -> None:
    text = "edit_file /a <<OLD --new_string <<'NEW'\none\nOLD\ntwo\nNEW"
    args = {"file_path": "/a", "old_string": "one\n", "new_string": "two\n"}
    assert calls_of(text) == [("edit_file", args)]


def test_lines_together_are_one_message_and_comments_are_none() -> None:
    assert calls_of("\n# first\nls /a\n # second\nls /b\n\nls /c") == [
        ("ls", {"path": "/a"}),
        ("ls", {"path": "/b"}),
    ]


def test_every_call_has_an_id_of_its_own() -> None:
    replies = [MODEL.invoke([HumanMessage("ls /\nls /")]) for _ in range(2)]
    ids = [call["id"] or "" for reply in replies for call in reply.tool_calls]
    assert len(set(ids)) == 4
    assert all(made.startswith("call_") for made in ids)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ls /\n\nrm -rf /", "Line 3, `rm -rf /`: there is no command `rm`."),
        ("What's here?", "Line 1, `What's here?`: there is no command `What's`."),
        ("ls 'a", "Line 1, `ls 'a`: a quote `'` is not closed."),
        ('ls a"b', 'Line 1, `ls a"b`: a quote `"` is not closed.'),
        (
            "write_file /a <<END\nhi",
            "Line 1, `write_file /a <<END`: no line `END` ends its text. "
            "Quote `<<` to have it as a word.",
        ),
        ("ls a b", "Line 1, `ls a b`: `b` is one word too many. Quote text with spaces."),
        ("ls --path", "Line 1, `ls --path`: `--path` needs a value."),
        ("a\0" + "b" * 200, f"Line 1, `a\\x00{'b' * 117}…`: there is no command `a\\x00"),
    ],
)
def test_a_line_that_is_no_command_is_explained_and_nothing_runs(text: str, reason: str) -> None:
    answer = text_of(HumanMessage(text))
    assert answer.startswith(reason)
    assert "- `ls path`: List a directory." in answer


MANUAL = """\
Type one command a line. A blank line waits for the answers of those above it. Quote text with \
spaces, or end a line with `<<END` and let the text follow, up to a line that says `END`. \
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
        "- `read_file` ok: 1 one",
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


def agent(model: Any = MODEL) -> CompiledStateGraph[Any, Any, Any, Any]:
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
    return builder.compile(checkpointer=InMemorySaver())


CONFIG: Any = {"configurable": {"thread_id": "1"}}
SESSION = {"messages": [HumanMessage("ls /a\nls /gone\n\nwrite_file /a hi")]}
SESSION_END = """\
- `ls` ok: /a: a.txt
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


def test_a_second_message_of_a_thread_starts_anew() -> None:
    graph = agent()
    graph.invoke(SESSION, CONFIG)
    messages = graph.invoke({"messages": [HumanMessage("ls /b")]}, CONFIG)["messages"]
    assert messages[-1].content == "- `ls` ok: /b: a.txt"


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


@pytest.mark.parametrize(
    "line",
    [
        "ls " + "x" * 1_000_000,
        "ls '" + "x" * 1_000_000,
        'ls "' + "\\n" * 500_000,
        'ls "' + "\\n" * 500_000 + '"',
        "ls " + "''" * 500_000,
        "ls " + "a " * 500_000,
        "ls" + " " * 1_000_000 + "'",
        "odd tags='" + "[1," * 300_000 + "'",
        "write_file /a " + "<<E " * 250_000,
        "x" * 1_000_000,
        "ls /\n" * 20_000,
    ],
)
def test_a_megabyte_is_read_in_linear_time(line: str) -> None:
    started = time.perf_counter()
    MODEL.invoke(line)
    # Three seconds at most where this was written; what is quadratic takes minutes.
    assert time.perf_counter() - started < 30


SYNTAX = r"""ls|write_file|odd|help|tags=|--path|--replace_all|<<E|E|'|"|\|#|=|null|true|-1|[|{|”"""
PIECES = st.sampled_from([*SYNTAX.split("|"), " ", "\t", "\n", "\n\n", "\r", "\0"])


@given(st.one_of(st.text(), st.lists(PIECES | st.text(max_size=3)).map("".join)))
def test_no_text_makes_it_raise(text: str) -> None:
    reply = MODEL.invoke([HumanMessage(text)])
    assert bool(reply.content) != bool(reply.tool_calls)
    assert AIMessage.model_validate_json(reply.model_dump_json()) == reply


@given(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])))
def test_any_one_line_text_can_be_written_in_double_quotes(text: str) -> None:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    assert calls_of(f'write_file /a "{quoted}"') == [
        ("write_file", {"file_path": "/a", "content": text})
    ]


@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]))))
def test_any_lines_can_be_written_in_a_heredoc(lines: list[str]) -> None:
    kept = [line for line in lines if line.strip() != "END"]
    text = "\n".join(["write_file /a <<END", *kept, "END"])
    content = "".join(line + "\n" for line in kept)
    assert calls_of(text) == [("write_file", {"file_path": "/a", "content": content})]


def test_a_reply_is_plain_json() -> None:
    reply = MODEL.invoke("odd 0.5 '[\"a\"]' '{\"b\": 1}' c 3")
    assert json.loads(json.dumps(reply.tool_calls)) == reply.tool_calls
