"""Words and their values: what is quoted stays, what a schema knows gets its type."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_filesystem.commands import split_words
from tests.graph.typed import calls_of


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", []),
        ("a", [("a", 1)]),
        ("a=b c", [("a=b", 3), ("c", 1)]),
        ("'a=b'\tc", [("a=b", 0), ("c", 1)]),
        ("a='b c'd", [("a=b cd", 2)]),
        ('""', [("", 0)]),
    ],
)
def test_only_what_stands_before_a_quote_can_be_syntax(
    line: str, words: list[tuple[str, int]]
) -> None:
    assert list(split_words(line)) == words


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
