"""Answers: bounded, valid UTF-8, with previews of what is too large for them."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_filesystem.nodes.answers import (
    MAX_CHARACTERS,
    Answer,
    bounded,
    error_reply,
    listed,
    reply,
    shown_name,
    valid,
)
from langgraph_filesystem.nodes.calls import Call
from langgraph_filesystem.nodes.settings import Settings

CALL = Call(message="m", position=2, id="id", name="ls", args={})


def test_a_reply_answers_its_call() -> None:
    message = reply(CALL, Answer("text", {"n": 1}))
    assert (message.tool_call_id, message.id, message.name) == ("id", "m:2", "ls")
    assert (message.text, message.artifact, message.status) == ("text", {"n": 1}, "success")


def test_an_error_reply_says_so() -> None:
    message = error_reply(CALL, "it broke")
    assert (message.tool_call_id, message.id, message.name) == ("id", "m:2", "ls")
    assert (message.text, message.status) == ("Error: it broke", "error")


def test_a_reply_without_an_artifact_has_none() -> None:
    assert reply(CALL, Answer("text")).artifact is None


def test_blocks_are_left_as_they_are() -> None:
    blocks = [{"type": "image", "base64": "x" * 200_000, "mime_type": "image/png"}]
    assert reply(CALL, Answer(blocks)).content == blocks


@settings(max_examples=25)
@given(st.text(st.characters(), max_size=50), st.integers(1, 20_000))
def test_replies_are_bounded_and_valid(text: str, times: int) -> None:
    answer, error = reply(CALL, Answer(text * times)), error_reply(CALL, text * times)
    assert len(answer.text) <= MAX_CHARACTERS
    assert len(error.text) <= 4_000
    assert (answer.text + error.text).encode().decode() == answer.text + error.text


def test_a_reply_that_goes_to_a_file_is_whole() -> None:
    assert reply(CALL, Answer("x" * 300_000), limit=None).text == "x" * 300_000


@given(st.text(max_size=500), st.integers(120, 300))
def test_bounded_keeps_head_and_tail(text: str, limit: int) -> None:
    shown = bounded(text, limit)
    assert len(shown) <= limit
    if len(text) <= limit:
        assert shown == text
    else:
        assert shown[0] == text[0]
        assert shown[-1] == text[-1]
        assert f"{len(text):,} characters in all" in shown


@given(st.text(st.characters(), max_size=50))
def test_valid_text_can_be_encoded_and_is_no_longer(text: str) -> None:
    shown = valid(text)
    assert len(shown) == len(text)
    assert shown.encode().decode() == shown


@given(st.lists(st.text("ab", max_size=80), max_size=60), st.integers(300, 2_000))
def test_a_list_shows_what_fits_and_counts_the_rest(rows: list[str], budget: int) -> None:
    text, left = listed(rows, budget, "rows")
    assert len(text) <= budget
    shown = text.split("\n") if text or rows else []
    if left:
        assert shown[:-1] == rows[: len(rows) - left]
        assert shown[-1] == f"[{left} more rows left out: narrow the path or the pattern]"
    else:
        assert shown == rows


def test_a_name_is_cut_to_what_providers_take() -> None:
    assert shown_name("x" * 100) == "x" * 64
    assert shown_name("\ud800") == "?"


@pytest.mark.parametrize(
    "options",
    [
        {"evict_over": 0},
        {"evict_over": -1},
        {"max_execute_timeout": 0},
        {"max_execute_timeout": -5},
        {"token_counter": 5},
    ],
    ids=repr,
)
def test_settings_that_make_no_sense_are_rejected(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        Settings(**options)


@pytest.mark.parametrize(
    ("evict_over", "budget"),
    [(None, 100_000), (20_000, 80_000), (25_000, 100_000), (10**9, 100_000), (1, 2_000)],
)
def test_a_budget_follows_the_eviction_limit(evict_over: int | None, budget: int) -> None:
    assert Settings(evict_over=evict_over).budget == budget
