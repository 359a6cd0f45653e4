"""`grep`: lines by what is in them, in three forms."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.store.memory import InMemoryStore

from langgraph_filesystem import create_filesystem_agent
from langgraph_filesystem.state.backends import StateBackend
from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from langgraph_filesystem.state.backends.objects.store import StoreBackend
from tests.nodes.test_ls import FORGING, is_plain
from tests.scripted import ScriptedModel, answer, answers, call, run, says

FILES = {
    "/a.py": "import os\nprint(1)\nprint(2)\n",
    "/d/b.py": "PRINT(3)",
    "/d/c.md": "a.b\naxb\n",
    "/img.png": {"content": "cHJpbnQ=", "encoding": "base64"},
}


def grep(pattern: str, **args: Any) -> dict[str, Any]:
    return call("grep", pattern=pattern, **args)


CONTENT: dict[str, Any] = {"output_mode": "content"}
COUNT: dict[str, Any] = {"output_mode": "count"}


@pytest.mark.parametrize(
    ("pattern", "args", "rows"),
    [
        ("print", {}, ["/a.py"]),
        ("print", {"ignore_case": True}, ["/a.py", "/d/b.py"]),
        ("print", CONTENT, ["/a.py:2:print(1)", "/a.py:3:print(2)"]),
        ("print", COUNT, ["/a.py:2"]),
        ("a.b", CONTENT, ["/d/c.md:1:a.b"]),
        ("a.b", CONTENT | {"regex": True}, ["/d/c.md:1:a.b", "/d/c.md:2:axb"]),
        ("A.B", COUNT | {"regex": True, "ignore_case": True}, ["/d/c.md:2"]),
        (r"^p\w+\(\d\)$", COUNT | {"regex": True}, ["/a.py:2"]),
        ("p", {"path": "/d", "ignore_case": True}, ["/d/b.py"]),
        ("print", {"path": "/a.py"}, ["/a.py"]),
        ("print", CONTENT | {"path": "a.py"}, ["/a.py:2:print(1)", "/a.py:3:print(2)"]),
        ("i", {"glob": "*.py"}, ["/a.py"]),
        ("b", {"glob": "d/*"}, ["/d/c.md"]),
        ("b", {"glob": "*.md", "path": "/d"}, ["/d/c.md"]),
        ("import", {"glob": ""}, ["/a.py"]),
        ("(1", CONTENT, ["/a.py:2:print(1)"]),
        ("nowhere", {}, ["No line in / matches nowhere."]),
    ],
)
def test_lines_are_found(pattern: str, args: dict[str, Any], rows: list[str]) -> None:
    assert answer(grep(pattern, **args), files=FILES).text.split("\n") == rows


@pytest.mark.parametrize(
    ("context", "rows"),
    [
        (0, "/a:3:X /a:5:X /b:1:X"),
        (1, "/a-2-two /a:3:X /a-4-four /a:5:X /a-6-six -- /b:1:X"),
        (50, "/a-1-one /a-2-two /a:3:X /a-4-four /a:5:X /a-6-six /a-7-seven -- /b:1:X"),
    ],
)
def test_context_is_shown_once_with_gaps_marked(context: int, rows: str) -> None:
    files = {"/a": "one\ntwo\nX\nfour\nX\nsix\nseven\n", "/b": "X"}
    reply = answer(grep("X", **CONTENT, context=context), files=files)
    assert reply.text.split("\n") == rows.split()


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({"pattern": ""}, "The pattern is empty"),
        ({"pattern": "a\nb"}, "The pattern spans lines"),
        ({"pattern": "(", "regex": True}, "The regex '(' is malformed"),
        ({"pattern": "x" * 2_001}, "longer than 2000 characters"),
        ({"pattern": "x", "path": "/gone"}, "/gone: no such file or directory"),
        ({"pattern": "x", "glob": "../*"}, "has a `..` part"),
        ({"pattern": "x", "output_mode": "all"}, "`output_mode`: Input should be"),
        ({"pattern": "x", "context": 51}, "`context`: Input should be less than or equal to 50"),
        ({"pattern": "x", "context": -1}, "`context`: Input should be greater"),
        ({"pattern": "x", "max_count": 0}, "`max_count`: Input should be greater"),
        ({}, "`pattern`: Field required"),
    ],
)
@pytest.mark.parametrize("mounts", [None, {"/n": StateBackend()}], ids=["one mount", "two mounts"])
def test_what_can_not_be_searched_says_why(args: dict[str, Any], problem: str, mounts: Any) -> None:
    reply = answer(call("grep", **args), files=FILES, mounts=mounts)
    assert reply.status == "error"
    assert problem in reply.text


def test_a_regex_that_would_never_end_is_answered_with_what_to_do() -> None:
    reply = answer(grep(r"(a|a)+$", regex=True, path="/a"), files={"/a": "a" * 50 + "b"})
    assert "without nested repetitions" in reply.text


@pytest.mark.parametrize("name", FORGING.values(), ids=FORGING)
@pytest.mark.parametrize("mode", ["content", "count", "files_with_matches"])
def test_a_name_or_a_line_can_not_forge_a_match(name: str, mode: str) -> None:
    line = name.replace("\n", "\r")
    files = {f"/d/{name}": line, "/d/z": "x"}
    reply = answer(grep("x", output_mode=mode), files=files)
    rows = reply.text.split("\n")
    assert len(rows) == 2
    assert all(map(is_plain, rows))


def test_tabs_in_lines_stay_tabs() -> None:
    assert answer(grep("x", **CONTENT), files={"/a": "\tx\ty"}).text == "/a:1:\tx\ty"


@pytest.mark.parametrize("evict_over", [None, 20_000, 600])
@pytest.mark.parametrize("mode", ["content", "count", "files_with_matches"])
def test_thousands_of_matches_are_cut_with_a_note(evict_over: int | None, mode: str) -> None:
    files = {f"/{'n' * 50}{number:05}": "\x1bx\n\u202ex\n" * 10 for number in range(5_000)}
    reply = answer(grep("x", output_mode=mode), files=files, evict_over=evict_over)
    assert len(reply.text) <= min(100_000, (evict_over or 25_000) * 4)
    assert "more lines left out: narrow the path or the pattern]" in reply.text
    reply.text.encode()


def test_lines_of_a_megabyte_are_cut() -> None:
    files = {f"/{number}": "x" * 1_000_000 for number in range(20)}
    reply = answer(grep("x", **CONTENT), files=files)
    rows = reply.text.split("\n")
    assert len(rows) == 20
    assert all(row.endswith("x [...]") for row in rows)


def test_the_search_reports_its_progress() -> None:
    agent = create_filesystem_agent(ScriptedModel([says(grep("x", id="g"))]))
    given: Any = {"messages": [HumanMessage("go")], "files": {"/a": "x\nx", "/b": "x"}}
    events = list(agent.stream(given, stream_mode="custom"))
    assert events == [
        {"operation": "grep", "call": "g", "event": "search", "pattern": "x", "path": "/"},
        {"operation": "grep", "call": "g", "event": "found", "files": 2, "lines": 3},
    ]


def test_a_name_that_looks_like_a_row_can_not_pass_for_a_line_of_another_file() -> None:
    name = "/ok.txt:7:password"
    state = run(
        call("grep", pattern="zzz", output_mode="content"),
        call("grep", pattern="zzz", output_mode="count"),
        files={name: "zzz"},
    )
    for reply in answers(state):
        assert reply.text.startswith("/ok.txt\\x3a7\\x3apassword:1")


LONG = {
    f"/{size}-{place}": "." * place + "Needle7" + "." * (size - place)
    for size, place in [
        (1_200, 0),
        (1_200, 1_100),
        (3_000, 1_500),
        (3_900, 3_900),
        (6_000, 5_500),
        (200_000, 100_000),
        (200_000, 199_999),
    ]
}


@pytest.mark.parametrize("place", ["state", "disk", "store"])
@pytest.mark.parametrize(
    "asked",
    [
        {"pattern": "Needle7"},
        {"pattern": "nEEDLE7", "ignore_case": True},
        {"pattern": "Needle[0-9]", "regex": True},
        {"pattern": r"N\w+\d", "regex": True},
        {"pattern": r"n[ed]+(l|el)e\d+", "regex": True, "ignore_case": True},
    ],
    ids=lambda asked: str(asked["pattern"]),
)
def test_of_a_long_line_the_match_is_shown(
    place: str, asked: dict[str, Any], tmp_path: Path
) -> None:
    options: dict[str, Any] = {}
    if place == "state":
        options["files"] = LONG
    else:
        disk: Any = FilesystemBackend(tmp_path)
        backend = StoreBackend(("x",), store=InMemoryStore()) if place == "store" else disk
        backend.upload_files([(path, text.encode()) for path, text in LONG.items()])
        options["mounts"] = {"/": backend}
    rows = answer(call("grep", **asked, **CONTENT), **options).text.split("\n")
    assert [row.partition(":")[0] for row in rows] == sorted(LONG)
    assert all("Needle7" in row for row in rows)
    assert max(map(len, rows)) < 1_100


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        (0, "X" + "." * 999 + " [...]"),
        (400, "." * 400 + "X" + "." * 599 + " [...]"),
        (1_000, "[600 characters ...] " + "." * 400 + "X" + "." * 599 + " [...]"),
        (3_000, "[2,001 characters ...] " + "." * 999 + "X"),
    ],
)
def test_what_is_left_out_of_a_long_line_is_counted(place: int, shown: str) -> None:
    line = "." * place + "X" + "." * (3_000 - place)
    assert answer(grep("X", **CONTENT), files={"/a": line}).text == f"/a:1:{shown}"
