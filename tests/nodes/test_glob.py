"""`glob`: files by name, as names that can't be forged."""

from typing import Any

import pytest

from tests.nodes.test_ls import FORGING, is_plain
from tests.scripted import answer, call

FILES = dict.fromkeys(("/a.py", "/b.md", "/src/c.py", "/src/x/d.py", "/src/x/.e", "/g[1]"), "")


def glob(pattern: str, **args: Any) -> dict[str, Any]:
    return call("glob", pattern=pattern, **args)


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("*.py", "/", "/a.py /src/c.py /src/x/d.py"),
        ("*.py", "/src", "/src/c.py /src/x/d.py"),
        ("**/*.py", "/", "/a.py /src/c.py /src/x/d.py"),
        ("src/*.py", "/", "/src/c.py"),
        ("src/**/*.py", "/", "/src/c.py /src/x/d.py"),
        ("x/*.py", "/src", "/src/x/d.py"),
        ("/*.py", "/", "/a.py"),
        ("/*.py", "/src", "/src/c.py"),
        ("?.{py,md}", "/", "/a.py /b.md /src/c.py /src/x/d.py"),
        ("[ab].*", "/", "/a.py /b.md"),
        ("[!ab].py", "/", "/src/c.py /src/x/d.py"),
        (".*", "/", "/src/x/.e"),
        ("g\\[1\\]", "/", "/g[1]"),
        ("**", "/src/x", "/src/x/.e /src/x/d.py"),
        ("src", "/", ""),
    ],
)
def test_patterns_find_files(pattern: str, path: str, found: str) -> None:
    reply = answer(glob(pattern, path=path), files=FILES)
    expected = found.split() or [f"No file in {path} matches {pattern}."]
    assert reply.text.split("\n") == expected
    assert reply.artifact["files"] == len(found.split())


@pytest.mark.parametrize(
    ("pattern", "path", "problem"),
    [
        ("", "/", "The glob pattern is empty"),
        ("../*", "/", "has a `..` part"),
        ("x" * 1_001, "/", "longer than 1000 characters"),
        ("{a,b}" * 20, "/", "is invalid"),
        ("a\0b", "/", "NUL"),
        ("*", "/gone", "/gone: no such file or directory"),
        ("*", "/a.py", "/a.py is a file, not a directory"),
    ],
)
def test_what_can_not_be_searched_says_why(pattern: str, path: str, problem: str) -> None:
    reply = answer(glob(pattern, path=path), files=FILES)
    assert reply.status == "error"
    assert problem in reply.text


@pytest.mark.parametrize("name", FORGING.values(), ids=FORGING)
def test_a_name_can_not_forge_an_entry(name: str) -> None:
    reply = answer(glob("*"), files={f"/d/{name}": "", "/d/z": ""})
    rows = reply.text.split("\n")
    assert len(rows) == 2
    assert all(map(is_plain, rows))


def test_a_pattern_can_not_forge_an_entry() -> None:
    reply = answer(glob("x\n/etc/passwd"), files=FILES)
    assert reply.text == r"No file in / matches x\n/etc/passwd."


@pytest.mark.parametrize("evict_over", [None, 20_000, 1])
def test_thousands_of_files_are_cut_with_a_note(evict_over: int | None) -> None:
    files = {f"/d/{'é' * 40}{number:05}": "" for number in range(5_000)}
    reply = answer(glob("*"), files=files, evict_over=evict_over)
    assert len(reply.text) <= min(100_000, max(2_000, (evict_over or 25_000) * 4))
    assert reply.text.endswith("more files left out: narrow the path or the pattern]")
    assert reply.artifact["files"] == 5_000
