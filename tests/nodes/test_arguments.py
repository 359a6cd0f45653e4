"""Arguments: paths made normal or refused, and nothing that is not known."""

import pytest
from pydantic import ValidationError

from langgraph_filesystem.nodes.arguments import Arguments, VirtualPath
from langgraph_filesystem.state.errors import PathRefused


class Example(Arguments):
    path: VirtualPath = "/"


@pytest.mark.parametrize(
    ("given", "normal"), [("/a", "/a"), ("a//b/./c/", "/a/b/c"), ("a\\b", "/a/b"), (".", "/")]
)
def test_a_path_is_made_normal(given: str, normal: str) -> None:
    assert Example(path=given).path == normal


@pytest.mark.parametrize("given", ["..", "/a/../b", "~", "c:\\x", "a\0", "\ud800", ""])
def test_a_path_is_refused_in_words_for_a_model(given: str) -> None:
    with pytest.raises(PathRefused):
        Example(path=given)


@pytest.mark.parametrize("args", [{"paths": "/"}, {"path": 5}, {"path": None}, {"path": ["/"]}])
def test_what_is_not_an_argument_is_refused(args: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Example.model_validate(args)
