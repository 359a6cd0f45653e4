"""What can be found and read among the files of a thread, wherever they are mounted."""

import copy
from typing import Any

import pytest

from langgraph_filesystem.state.backends.state_reading import StateReading
from langgraph_filesystem.state.files import Files
from tests.state.backends.state_trees import BORN, TREE, entries, tree


@pytest.fixture(params=["/", "/memories", "/deep/mount"])
def backend(request: pytest.FixtureRequest) -> StateReading:
    prefix = request.param.rstrip("/")
    others: Files = {"/memories2/x": {"content": "print(x)"}, "/other/top.md": {"content": "x"}}
    return StateReading({**tree(prefix), **(others if prefix else {})}, request.param)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (
            "/",
            {"/top.md": False, "/src": True, "/pic.png": False, "/empty": False},
        ),
        ("/src", {"/src/a.py": False, "/src/deep": True, "/src/.env": False}),
        ("src/", {"/src/a.py": False, "/src/deep": True, "/src/.env": False}),
        ("//src/./deep", {"/src/deep/b.py": False}),
        (".", {"/top.md": False, "/src": True, "/pic.png": False, "/empty": False}),
    ],
)
def test_ls_lists_what_is_directly_below(
    backend: StateReading, path: str, expected: dict[str, bool]
) -> None:
    assert entries(backend.ls(path)) == expected


def test_ls_tells_size_in_bytes_and_time(backend: StateReading) -> None:
    found = {entry["path"]: entry for entry in backend.ls("/").entries or ()}
    assert found["/top.md"] == {
        "path": "/top.md",
        "is_dir": False,
        "size": 6,
        "modified_at": BORN,
    }
    assert found["/pic.png"]["size"] == 2
    assert found["/empty"]["size"] == 0
    assert "modified_at" not in found["/empty"]


def test_a_page_is_read_as_it_is(backend: StateReading) -> None:
    result = backend.read("/src/a.py", 1, 1)
    assert result.file_data == {"content": "\n", "created_at": BORN}
    assert (result.total_lines, result.start_line, result.end_line) == (3, 2, 2)
    assert result.next_offset == 2


def test_the_last_page_has_no_next_one(backend: StateReading) -> None:
    result = backend.read("/src/deep/b.py")
    assert result.file_data is not None
    assert result.file_data["content"] == "print(2)\nprint(3)"
    assert result.next_offset is None


def test_a_page_of_nothing_has_no_lines(backend: StateReading) -> None:
    for result in (backend.read("/empty"), backend.read("/top.md", 9)):
        assert result.file_data is not None
        assert result.file_data["content"] == ""
        assert (result.start_line, result.end_line, result.next_offset) == (None, None, None)


def test_bytes_are_read_whole(backend: StateReading) -> None:
    result = backend.read("/pic.png", 5, 1)
    assert result.file_data == {"content": "/+8=", "encoding": "base64"}


def test_reading_a_page_changes_no_file() -> None:
    files = tree()
    before = copy.deepcopy(files)
    result = StateReading(files).read("/src/a.py", 0, 1)
    assert result.file_data is not None
    result.file_data["content"] = "changed"
    assert files == before


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.py", None, ["/src/a.py", "/src/deep/b.py"]),
        ("*.py", "/src/deep", ["/src/deep/b.py"]),
        ("src/*", "/", ["/src/.env", "/src/a.py"]),
        ("*", "/src/", ["/src/.env", "/src/a.py", "/src/deep/b.py"]),
        ("/*.md", "/", ["/top.md"]),
        ("/*", "/src", ["/src/.env", "/src/a.py"]),
        ("{top,none}.*", "/", ["/top.md"]),
        ("**", ".", sorted(TREE)),
        ("nothing", "/", []),
    ],
)
def test_glob_finds_files_below_a_directory(
    backend: StateReading, pattern: str, path: str | None, expected: list[str]
) -> None:
    result = backend.glob(pattern, path)
    assert sorted(match["path"] for match in result.matches or ()) == expected
    assert not any(match["is_dir"] for match in result.matches or ())


@pytest.mark.parametrize(
    ("path", "glob", "expected"),
    [
        (None, None, [("/src/a.py", 3), ("/src/deep/b.py", 1), ("/src/deep/b.py", 2)]),
        ("/src/deep", None, [("/src/deep/b.py", 1), ("/src/deep/b.py", 2)]),
        ("/src/a.py", None, [("/src/a.py", 3)]),
        ("/", "a.*", [("/src/a.py", 3)]),
        ("/", "src/*.py", [("/src/a.py", 3)]),
        ("/src", "deep/*", [("/src/deep/b.py", 1), ("/src/deep/b.py", 2)]),
        ("/src/a.py", "*.py", [("/src/a.py", 3)]),
        ("/src/a.py", "*.md", []),
        ("/", "*.md", []),
    ],
)
def test_grep_searches_text_below_a_directory_or_in_one_file(
    backend: StateReading, path: str | None, glob: str | None, expected: list[Any]
) -> None:
    result = backend.grep("print", path, glob)
    assert [(match["path"], match["line"]) for match in result.matches or ()] == expected
    assert set(result.counts or {}) == {path for path, _ in expected}


def test_grep_takes_every_option(backend: StateReading) -> None:
    result = backend.grep("PRINT.[23]", regex=True, ignore_case=True, context=1, max_count=1)
    [match] = result.matches or []
    assert (match["path"], match["line"], result.truncated) == ("/src/deep/b.py", 1, True)
    assert match["context_after"] == [{"line": 2, "text": "print(3)"}]
    counted = backend.grep("print", output_mode="count")
    assert counted.counts == {"/src/a.py": 1, "/src/deep/b.py": 2}
    assert counted.matches == []


def test_grep_leaves_bytes_alone(backend: StateReading) -> None:
    assert backend.grep("8").matches == []


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/src", "is_directory"),
        ("/", "is_directory"),
        ("/none", "file_not_found"),
        ("/top.md/x", "file_not_found"),
        ("../x", "invalid_path"),
        ("", "invalid_path"),
    ],
)
def test_a_download_that_fails_says_why_and_the_others_arrive(
    backend: StateReading, path: str, error: str
) -> None:
    failed, arrived = backend.download_files([path, "/top.md"])
    assert (failed.path, failed.content, failed.error) == (path, None, error)
    assert arrived.content == b"# Top\n"


def test_a_malformed_regex_is_reported_in_the_result(backend: StateReading) -> None:
    result = backend.grep("(", regex=True)
    assert result.error is not None
    assert "malformed" in result.error


def test_an_inventory_is_a_file_or_all_that_is_below() -> None:
    files: Files = {path: {"content": "é"} for path in ("/m/a", "/m/d/b", "/m/d/e/c", "/md/x")}
    backend = StateReading(files, "/m")
    assert backend.inventory("/a").files == [{"path": "/a", "is_dir": False, "size": 2}]
    assert [info["path"] for info in backend.inventory("/d").files] == ["/d/b", "/d/e/c"]
    assert len(backend.inventory("/").files) == 3
    assert "/m/none: no such file" in (backend.inventory("/none").error or "")
