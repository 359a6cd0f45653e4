"""The context of the deployed graph: what it takes, and what it refuses with which words."""

import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from langgraph_filesystem.context import AgentContext, check_context, permitted_roots
from langgraph_filesystem.nodes.settings import Choices


def test_it_extends_what_the_nodes_know() -> None:
    assert issubclass(AgentContext, Choices)
    assert list(AgentContext.model_fields) == [*Choices.model_fields, "root", "user_id"]


@pytest.mark.parametrize("context", [None, {}, {"operations": ["ls"], "evict_over": 5}])
def test_what_is_right_passes(context: Any) -> None:
    check_context(context)


@pytest.mark.parametrize(
    "key", ["thread_id", "checkpoint_id", "checkpoint_ns", "__pregel_x", "langgraph_auth_user"]
)
def test_what_langgraph_itself_sends_is_not_ours_to_refuse(key: str) -> None:
    check_context({key: "x"})


@pytest.mark.parametrize(
    ("context", "words"),
    [
        ({"modle": "x"}, "`modle`: there is no such field. It takes: model, system_prompt"),
        ({"evict_over": -1}, "`evict_over`: Input should be greater than or equal to 1"),
        ({"user_id": 5}, "`user_id`: Input should be a valid string"),
        ({"a": 1, "b": 2}, "`a`: there is no such field; `b`: there is no such field"),
    ],
)
def test_what_is_wrong_is_named(context: Any, words: str) -> None:
    with pytest.raises(ValueError, match="The context is wrong") as refused:
        check_context(context)
    assert words in str(refused.value)
    assert "pydantic" not in str(refused.value)


def test_only_roots_that_are_listed_are_permitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    monkeypatch.delenv("LANGGRAPH_FILESYSTEM_ROOTS", raising=False)
    assert permitted_roots() == []
    with pytest.raises(ValidationError, match="LANGGRAPH_FILESYSTEM_ROOTS"):
        AgentContext(root=one)
    monkeypatch.setenv("LANGGRAPH_FILESYSTEM_ROOTS", os.pathsep.join([one, "", two]))
    assert permitted_roots() == [one, two]
    assert AgentContext(root=two).root == two
    for other in (f"{one}/below", f"{one}/../two", f"{one}/", "/", "."):
        with pytest.raises(ValidationError, match="does not permit"):
            AgentContext(root=other)
