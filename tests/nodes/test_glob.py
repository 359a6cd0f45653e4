"""`glob`: files by name, in every mount, as names that can't be forged."""

from typing import Any

import pytest

from langgraph_filesystem.state.backends.protocol import GlobResult
from tests.nodes.backends import Broken, Shelf
from tests.nodes.test_ls import FORGING, is_plain
from tests.scripted import answer, answers, arun, call

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
    ("pattern", "path", "found"),
    [
        ("*.py", "/", "/a.py /m/f.py /m/g/h.py /m/z/deep.py /v/w/x.py"),
        ("m/*.py", "/", "/m/f.py"),
        ("m/**/*.py", "/", "/m/f.py /m/g/h.py /m/z/deep.py"),
        ("*/*.py", "/m", "/m/g/h.py /m/z/deep.py"),
        ("g/*", "/m", "/m/g/h.py"),
        ("*", "/m/z", "/m/z/deep.py"),
        ("*.py", "/v", "/v/w/x.py"),
    ],
)
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_every_mount_is_searched_under_its_full_path(
    pattern: str, path: str, found: str, mode: str
) -> None:
    mounts = {"/m": Shelf(), "/m/z": Shelf(), "/v/w": Shelf()}
    for name in ("/f.py", "/g/h.py", "/z/hidden.py"):
        mounts["/m"].put(name, "")
    mounts["/m/z"].put("/deep.py", "")
    mounts["/v/w"].put("/x.py", "")
    options: Any = {"files": {"/a.py": ""}, "mounts": mounts}
    asked = glob(pattern, path=path)
    state = await arun(asked, **options) if mode == "async" else None
    text = (answers(state)[0] if state else answer(asked, **options)).text
    assert text.split("\n") == found.split()


@pytest.mark.parametrize(
    ("pattern", "path", "problem"),
    [
        ("", "/", "The glob pattern is empty"),
        ("../*", "/", "has a `..` part"),
        ("x" * 1_001, "/", "longer than 1000 characters"),
        ("{a,b}" * 20, "/", "is refused"),
        ("a\0b", "/", "NUL"),
        ("*", "/gone", "/gone: no such file or directory"),
        ("*", "/a.py", "/a.py is a file, not a directory"),
    ],
)
def test_what_can_not_be_searched_says_why(pattern: str, path: str, problem: str) -> None:
    reply = answer(glob(pattern, path=path), files=FILES)
    assert reply.status == "error"
    assert problem in reply.text


@pytest.mark.parametrize("error", [RuntimeError("boom\n/forged"), ValueError(), OSError("x")])
def test_a_mount_that_fails_is_reported_and_the_others_answer(error: Exception) -> None:
    mounts = {"/m": Broken(error), "/n": Shelf(f="")}
    reply = answer(glob("*"), files={"/a": ""}, mounts=mounts)
    assert reply.status == "success"
    *rows, note = reply.text.split("\n")
    assert rows == ["/a", "/n/f"]
    assert note.startswith(f"[/m: glob /m failed: {type(error).__name__}")


def test_a_search_fails_when_every_mount_does() -> None:
    reply = answer(glob("*", path="/m"), mounts={"/m": Broken(RuntimeError("boom"))})
    assert (reply.status, reply.text) == ("error", "Error: glob /m failed: RuntimeError: boom")


def test_a_list_that_a_backend_cut_says_so() -> None:
    class Cut(Shelf):
        def glob(self, pattern: str, path: str | None = None) -> GlobResult:
            return GlobResult(matches=[{"path": "/f"}], truncated=True)

    reply = answer(glob("*"), mounts={"/m": Cut()})
    assert reply.text == "/m/f\n[/m: the list is not complete]"


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
