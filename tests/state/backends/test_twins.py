"""Twins that a class gets: in a thread, with the keywords of their methods."""

import inspect
import threading
from typing import Any

from langgraph_filesystem.state.backends.twins import Twins


class Blocking(Twins):
    """Says in which thread it works."""

    def ls(self, path: str, *, deep: bool = False) -> tuple[str, bool, int]:
        return path, deep, threading.get_ident()

    def read(self, file_path: str) -> str:
        return "blocking"

    async def aread(self, file_path: str) -> str:
        return "awaited"


class Inheriting(Blocking):
    """Lists otherwise."""

    def ls(self, path: str, *, deep: bool = False, wide: bool = False) -> tuple[str, bool, int]:
        return f"other {path}", wide, threading.get_ident()


# No type checker knows what they get.
one: Any = Blocking()
other: Any = Inheriting()


async def test_a_method_gets_a_twin_that_leaves_the_event_loop() -> None:
    path, deep, thread = await one.als("/a", deep=True)
    assert (path, deep) == ("/a", True)
    assert thread != threading.get_ident()


async def test_a_twin_that_is_written_stays() -> None:
    assert await one.aread("/a") == "awaited"
    assert await other.aread("/a") == "awaited"


async def test_a_subclass_gets_twins_of_its_own_methods() -> None:
    assert (await other.als("/a", wide=True))[:2] == ("other /a", True)


def test_a_twin_takes_what_its_method_takes() -> None:
    assert inspect.signature(one.als) == inspect.signature(one.ls)
    assert inspect.signature(other.als) == inspect.signature(other.ls)
    assert inspect.iscoroutinefunction(one.als)


def test_what_has_no_method_has_no_twin() -> None:
    assert not hasattr(one, "agrep")
