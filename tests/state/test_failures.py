"""Whatever a backend raises becomes words, and what belongs to the graph passes through."""

import asyncio
from typing import Any

import pytest
from langgraph.errors import GraphInterrupt

from langgraph_filesystem.state.errors import BackendFailed, FilesystemError
from langgraph_filesystem.state.failures import attempted, reworded, said


async def raising(error: BaseException) -> None:
    raise error


class Odd(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (FilesystemError("/a: is odd."), "/a: is odd."),
        (FilesystemError("/a\nb: is odd."), r"/a\nb: is odd."),
        (ValueError("one\ntwo\x1b"), "read /a failed: ValueError: one\ntwo\\x1b"),
        (Odd(), "read /a failed: Odd"),
        (KeyError("key"), "read /a failed: KeyError: 'key'"),
        (RecursionError("deep"), "read /a failed: RecursionError: deep"),
        (MemoryError(), "read /a failed: MemoryError"),
        (AssertionError("no"), "read /a failed: AssertionError: no"),
    ],
)
async def test_an_error_becomes_words(error: Exception, problem: str) -> None:
    assert await attempted(raising(error), "read /a") == (None, problem)


async def test_a_path_can_not_forge_a_line_of_the_words() -> None:
    _, problem = await attempted(raising(ValueError("x")), "read /a\nb")
    assert problem == r"read /a\nb failed: ValueError: x"


@pytest.mark.parametrize(
    "error", [GraphInterrupt(()), asyncio.CancelledError(), KeyboardInterrupt()], ids=type
)
async def test_what_belongs_to_the_graph_passes_through(error: Any) -> None:
    with pytest.raises(type(error)):
        await attempted(raising(error), "read /a")


async def test_a_result_comes_back_alone() -> None:
    async def work() -> int:
        return 5

    assert await attempted(work(), "add") == (5, None)


class Silent(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (Silent(), "Silent"),
        (FileNotFoundError(2, "No such file", "/host/secret"), "FileNotFoundError: No such file"),
        (ValueError(), "ValueError"),
        (ValueError("x"), "ValueError: x"),
    ],
)
def test_an_error_says_its_kind_and_no_path_of_the_host(error: Exception, words: str) -> None:
    assert said(error) == words


async def test_an_error_is_raised_in_other_words_where_there_are_some() -> None:
    def reword(text: str) -> str:
        return text.replace("/srv/repo", "/project")

    with pytest.raises(BackendFailed, match=r"^/project/a: ValueError: in /project$"):
        await reworded(raising(ValueError("in /srv/repo")), "/project/a", reword)
    with pytest.raises(ValueError, match=r"in /srv$"):
        await reworded(raising(ValueError("in /srv")), "/project/a", reword)
    with pytest.raises(FilesystemError, match="/srv/repo"):
        await reworded(raising(FilesystemError("/srv/repo")), "/project/a", reword)
    with pytest.raises(GraphInterrupt):
        await reworded(raising(GraphInterrupt()), "/project/a", reword)
