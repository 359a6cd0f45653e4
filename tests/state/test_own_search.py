"""Searches that a backend can't do itself: by us, on what it holds."""

from typing import Any

import pytest

from langgraph_filesystem.state import own_search
from langgraph_filesystem.state.backends.protocol import FileInfo, GlobResult, LsResult, ReadResult
from tests.nodes.backends import Shelf
from tests.nodes.test_grep import CONTENT, grep
from tests.scripted import answer, answers, arun

TEXTS = {"a__py": "def F():\n    pass\n", "b__md": "no\n", "c": "first\nfunction\nlast"}


def rows(shelf: Any, pattern: str, **args: Any) -> list[str]:
    reply = answer(grep(pattern, path="/m", **CONTENT, **args), mounts={"/m": shelf})
    assert reply.status == "success", reply.text
    return reply.text.split("\n")


@pytest.mark.parametrize(
    ("pattern", "args", "found"),
    [
        ("^def", {"regex": True}, ["/m/a/py:1:def F():"]),
        ("f()", {"ignore_case": True}, ["/m/a/py:1:def F():"]),
        ("^F", {"regex": True, "ignore_case": True}, ["/m/c:1:first", "/m/c:2:function"]),
        ("func", {"context": 1}, ["/m/c-1-first", "/m/c:2:function", "/m/c-3-last"]),
        ("f", {"regex": True, "glob": "c"}, ["/m/c:1:first", "/m/c:2:function"]),
        ("d", {"regex": True, "glob": "a/*"}, ["/m/a/py:1:def F():"]),
    ],
)
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_what_a_backend_can_not_search_is_searched_here(
    pattern: str, args: dict[str, Any], found: list[str], mode: str
) -> None:
    shelf = Shelf(**TEXTS)
    asked = grep(pattern, path="/m", **CONTENT, **args)
    if mode == "async":
        reply = answers(await arun(asked, mounts={"/m": shelf}))[0]
    else:
        reply = answer(asked, mounts={"/m": shelf})
    assert reply.text.split("\n") == found


def test_one_file_is_searched() -> None:
    shelf = Shelf(d__a="Line", d__b="Line")
    args: Any = {"mounts": {"/m": shelf}}
    assert answer(grep("l", path="/m/d/a", ignore_case=True), **args).text == "/m/d/a"
    named = grep("l", path="/m/d/a", glob="b", ignore_case=True)
    assert answer(named, **args).text.startswith("No line")


def test_a_limit_is_one_of_all_files_and_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_search, "_BATCH", 2)
    shelf = Shelf(**{f"f{n}": "x\nx\n" for n in range(5)})
    for most, cut in ((4, True), (9, True), (10, False), (11, False)):
        asked = grep("X", path="/m", ignore_case=True, max_count=most, **CONTENT)
        reply = answer(asked, mounts={"/m": shelf})
        assert reply.artifact["lines"] == min(most, 10)
        assert reply.artifact["truncated"] is cut


def test_what_is_no_text_is_left_out() -> None:
    shelf = Shelf(a=b"x\0", b=b"\xffx", c="x")
    assert rows(shelf, "X", ignore_case=True) == ["/m/c:1:x"]


def test_names_that_begin_with_a_dot_are_searched() -> None:
    class Dotted(Shelf):
        """Leaves names with a dot out unless they are asked for."""

        def glob(self, pattern: str, path: str | None = None) -> GlobResult:
            dotted = pattern.startswith(".")
            keys = [key for key in self.files if ("/." in key) is dotted]
            return GlobResult(matches=[FileInfo(path=key) for key in keys])

    shelf = Dotted(a="x")
    shelf.put("/.env", "x")
    assert rows(shelf, "X", ignore_case=True) == ["/m/.env:1:x", "/m/a:1:x"]


def test_files_that_are_too_large_or_can_not_be_read_are_noted() -> None:
    class Sized(Shelf):
        def glob(self, pattern: str, path: str | None = None) -> GlobResult:
            sizes = {"/large": 11_000_000, "/gone": 5}
            found = [FileInfo(path=key, size=sizes.get(key, 1)) for key in ("/a", *sizes)]
            return GlobResult(matches=found)

    assert rows(Sized(a="x"), "X", ignore_case=True) == [
        "/m/a:1:x",
        "[/m: 2 files are too large or could not be read, and were left out.]",
    ]


def test_a_search_that_takes_too_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_search, "_SECONDS", -1.0)
    monkeypatch.setattr(own_search, "_BATCH", 1)
    *found, note = rows(Shelf(a="x", b="x"), "X", ignore_case=True)
    assert found == ["/m/a:1:x"]
    assert "The search stopped after" in note


class Least:
    """Lists and reads, and has nothing to search with."""

    def __init__(self, **files: str) -> None:
        self._shelf = Shelf(**files)

    def ls(self, path: str) -> LsResult:
        return self._shelf.ls(path)

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        return self._shelf.read(file_path, offset, limit)


def test_a_backend_that_only_lists_and_reads_can_be_searched() -> None:
    assert rows(Least(a="x", d__e="x\ny"), "y") == ["/m/d/e:2:y"]


def test_what_a_mount_below_hides_is_not_searched() -> None:
    mounts = {"/m": Shelf(a="x", z__hidden="x"), "/m/z": Shelf(g="x")}
    reply = answer(grep("X", path="/", ignore_case=True), mounts=mounts)
    assert reply.text == "/m/a\n/m/z/g"
