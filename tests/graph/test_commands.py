"""Typed commands: the lines, and the calls with typed values that they are."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from tests.graph.typed import MODEL, calls_of, text_of


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


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ls /\n\nrm -rf /", "Line 3, `rm -rf /`: there is no command `rm`."),
        ("What's here?", "Line 1, `What's here?`: there is no command `What's`."),
        ("ls 'a", "Line 1, `ls 'a`: a quote `'` is not closed."),
        ('ls a"b', 'Line 1, `ls a"b`: a quote `"` is not closed.'),
        (
            "write_file /a <<END\nhi",
            "Line 1, `write_file /a <<END`: there is no line `END` to end the "
            "text. Quote `<<` to use it as a word.",
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
def test_a_megabyte_is_read(line: str) -> None:
    """What takes quadratic time runs into the timeout of the test."""
    assert isinstance(MODEL.invoke(line), AIMessage)


@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]))))
def test_any_lines_can_be_written_in_a_heredoc(lines: list[str]) -> None:
    kept = [line for line in lines if line.strip() != "END"]
    text = "\n".join(["write_file /a <<END", *kept, "END"])
    content = "".join(line + "\n" for line in kept)
    assert calls_of(text) == [("write_file", {"file_path": "/a", "content": content})]


# Values take the types of their schema.


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


@given(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])))
def test_any_one_line_text_can_be_written_in_double_quotes(text: str) -> None:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    assert calls_of(f'write_file /a "{quoted}"') == [
        ("write_file", {"file_path": "/a", "content": text})
    ]
