"""`ls`: one directory, an entry a line, that no name can forge."""

import unicodedata
from typing import Any

import pytest

from langgraph_filesystem.state.backends import StateBackend
from tests.nodes.backends import Shelf
from tests.scripted import answer, answers, arun, call

FORGING = {
    "newline": "x\n/etc/passwd",
    "carriage return": "x\r/etc/passwd",
    "ansi": "x\x1b[2K\x1b[1G/etc/passwd",
    "right to left": "x\u202egpj.exe",
    "isolate": "x\u2066y\u2069",
    "line separator": "x\u2028/etc/passwd",
    "paragraph separator": "x\u2029/etc/passwd",
    "next line": "x\x85/etc/passwd",
    "zero width": "x\u200by",
    "form feed": "x\f/etc",
    "delete": "x\x7f",
    "byte order mark": "\ufeffx",
    "tag": "x\U000e0041",
    "private use": "x\ue000",
}


def is_plain(text: str) -> bool:
    """Say whether nothing in a text turns, hides or ends a line of it."""
    return all(unicodedata.category(c) not in ("Cc", "Cf", "Co", "Cn", "Zl", "Zp") for c in text)


@pytest.mark.parametrize(
    ("path", "rows"),
    [
        ("/", "/a\n/d/\n/m/\n/n/"),
        ("/d", "/d/e/\n/d/x"),
        ("/d/", "/d/e/\n/d/x"),
        ("d", "/d/e/\n/d/x"),
        ("/d/e", "/d/e/y"),
        ("/m", "/m/f\n/m/g/"),
        ("/m/g", "/m/g/h"),
        ("/n", "/n/deep/"),
        ("/n/deep", "/n/deep is empty."),
    ],
)
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_entries_are_full_paths_with_directories_marked(
    path: str, rows: str, mode: str
) -> None:
    mounts = {"/m": Shelf(f="", g__h=""), "/n/deep": StateBackend()}
    options: Any = {"files": {"/a": "", "/d/x": "", "/d/e/y": ""}, "mounts": mounts}
    asked = call("ls", path=path)
    state = await arun(asked, **options) if mode == "async" else None
    reply = answers(state)[0] if state else answer(asked, **options)
    assert reply.text == rows
    assert reply.status == "success"


def test_the_root_is_listed_unless_told_otherwise() -> None:
    reply = answer(call("ls"), files={"/a": ""})
    assert reply.text == "/a"
    assert reply.artifact == {"entries": 1, "left_out": 0}


def test_an_empty_root_says_so() -> None:
    assert answer(call("ls")).text == "/ is empty."


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/gone", "/gone: no such file or directory"),
        ("/a", "/a: /a is a file, not a directory"),
        ("/s/gone", "/s/gone: no such file or directory"),
        ("..", "it has a `..` part"),
    ],
)
def test_what_can_not_be_listed_says_why(path: str, problem: str) -> None:
    reply = answer(call("ls", path=path), files={"/a": ""}, mounts={"/s": Shelf()})
    assert reply.status == "error"
    assert problem in reply.text


@pytest.mark.parametrize("name", FORGING.values(), ids=FORGING)
def test_a_name_can_not_forge_an_entry(name: str) -> None:
    path = f"/d/{name}".rstrip("/")
    reply = answer(call("ls", path="/d"), files={path: "", "/d/z": ""})
    rows = reply.text.split("\n")
    assert len(rows) == 2
    assert all(map(is_plain, rows))
    assert "\\" in reply.text


def test_names_of_all_languages_are_shown_as_they_are() -> None:
    files = {f"/{name}": "" for name in ("añejo", "日本語.txt", "مرحبا", "emoji 😀")}
    assert answer(call("ls"), files=files).text.split("\n") == sorted(files)


@pytest.mark.parametrize(("evict_over", "most"), [(None, 100_000), (20_000, 80_000), (1, 2_000)])
def test_thousands_of_entries_are_cut_with_a_note(evict_over: int | None, most: int) -> None:
    files = {f"/d/{'n' * 40}{number:05}": "" for number in range(5_000)}
    reply = answer(call("ls", path="/d"), files=files, evict_over=evict_over)
    *rows, note = reply.text.split("\n")
    left = reply.artifact["left_out"]
    assert len(reply.text) <= most
    assert rows == sorted(files)[: 5_000 - left]
    assert note == f"[{left:,} more entries left out: narrow the path or the pattern]"
    assert reply.artifact["entries"] == 5_000
