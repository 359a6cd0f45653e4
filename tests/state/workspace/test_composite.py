"""Several backends as one: each under its path, and all of them seen from above."""

import asyncio
import inspect
from typing import Any

import pytest

from langgraph_filesystem.state.workspace.composite import CompositeBackend
from langgraph_filesystem.state.backends.protocol import Backend, CommandBackend
from langgraph_filesystem.state.backends.state import StateBackend
from langgraph_filesystem.state.files import Files
from langgraph_filesystem.testing import Applied
from tests.nodes.backends import Broken, PlainShell, Shelf, Shell
from tests.nodes.test_move import contents, move
from tests.scripted import answer, answers, arun, call, run
from tests.state.test_transfer import Full


def applied(composite: CompositeBackend, files: Files | None = None) -> Any:
    return Applied(composite.bind, files)


def paths(result: Any) -> list[str]:
    found = result.entries if hasattr(result, "entries") else result.matches
    assert result.error is None
    return sorted(info["path"] for info in found or ())


@pytest.fixture
def nested() -> CompositeBackend:
    """Three backends, one within another, and one that is hidden in part."""
    root = Shelf(a="x", m__hidden="x")
    middle = Shelf(f="x\ny", z__hidden="x")
    return CompositeBackend(root, {"/m/": middle, "/m/z": Shelf(g="x"), "/v/w": Shelf(h="x")})


@pytest.mark.parametrize(
    ("path", "text"), [("/a", "x"), ("/m/f", "x\ny"), ("/m/z/g", "x"), ("/v/w/h", "x")]
)
def test_the_longest_prefix_serves_a_path(nested: CompositeBackend, path: str, text: str) -> None:
    result = nested.read(path)
    assert result.file_data is not None
    assert result.file_data["content"] == text


@pytest.mark.parametrize(
    ("path", "entries"),
    [
        ("/", ["/a", "/m", "/v"]),
        ("/m", ["/m/f", "/m/z"]),
        ("/m/z", ["/m/z/g"]),
        ("/v", ["/v/w"]),
        ("/v/w/", ["/v/w/h"]),
    ],
)
def test_what_is_mounted_below_is_listed_and_hides_what_was_there(
    nested: CompositeBackend, path: str, entries: list[str]
) -> None:
    result = nested.ls(path)
    assert paths(result) == entries
    assert result.note is None


def test_files_of_every_backend_are_found_under_their_whole_paths(
    nested: CompositeBackend,
) -> None:
    assert paths(nested.glob("*")) == ["/a", "/m/f", "/m/z/g", "/v/w/h"]
    assert paths(nested.glob("*", "/m")) == ["/m/f", "/m/z/g"]
    assert paths(nested.glob("m/*")) == ["/m/f"]
    assert paths(nested.glob("w/*", "/v")) == ["/v/w/h"]


def test_lines_of_every_backend_are_found_under_their_whole_paths(
    nested: CompositeBackend,
) -> None:
    found = nested.grep("x")
    assert [(m["path"], m["line"]) for m in found.matches or ()] == [
        ("/a", 1),
        ("/m/f", 1),
        ("/m/z/g", 1),
        ("/v/w/h", 1),
    ]
    assert nested.grep("x", "/v", output_mode="count").counts == {"/v/w/h": 1}
    cut = nested.grep("x", max_count=2)
    assert (len(cut.matches or ()), cut.truncated) == (2, True)


def test_a_backend_that_fails_is_noted_and_the_others_answer() -> None:
    both = CompositeBackend(Shelf(a="x"), {"/m": Broken(OSError("gone"))})
    for result in (both.glob("*"), both.grep("x")):
        assert paths(result) == ["/a"]
        assert result.note is not None
        assert result.note.startswith("/m: ")
        assert "OSError: gone" in result.note
    other = CompositeBackend(Broken(OSError("gone")), {"/m": Shelf()})
    listed = other.ls("/")
    assert (paths(listed), listed.note) == (["/m"], "/: ls / failed: OSError: gone")


def test_a_search_of_which_every_part_fails_is_an_error() -> None:
    broken = CompositeBackend(Broken(OSError("gone")), {"/m": Broken(OSError("gone"))})
    for result in (broken.glob("*"), broken.grep("x"), broken.ls("/m")):
        assert "gone" in (result.error or "")


def test_whatever_a_backend_raises_is_an_error_and_no_exception() -> None:
    broken = CompositeBackend(Shelf(), {"/m": Broken(ValueError("odd"))})
    results: list[Any] = [
        broken.read("/m/a"),
        broken.write("/m/a", "x"),
        broken.edit("/m/a", "x", "y"),
        broken.delete("/m/a"),
        broken.move("/m/a", "/m/b"),
        *broken.download_files(["/m/a"]),
        *broken.upload_files([("/m/a", b"")]),
    ]
    assert all("odd" in result.error for result in results)


def test_errors_have_the_whole_path() -> None:
    both = applied(CompositeBackend(StateBackend(), {"/m": StateBackend(), "/s": Shelf()}))
    both.write("/m/d/a", "text")
    for result, path in (
        (both.read("/m/gone"), "/m/gone"),
        (both.read("/s/gone"), "/s/gone"),
        (both.read("/m/d"), "/m/d"),
        (both.ls("/m/d/a"), "/m/d/a"),
        (both.edit("/m/d/a", "no", "x"), "/m/d/a"),
        (both.delete("/s/gone"), "/s/gone"),
        (both.move("/s/gone", "/m/x"), "/s/gone"),
    ):
        assert path in result.error


def test_two_states_do_not_share_a_file() -> None:
    both = applied(
        CompositeBackend(StateBackend(), {"/one": StateBackend(), "/two": StateBackend()})
    )
    both.write("/one/a", "1")
    both.write("/two/a", "2")
    assert sorted(both.files) == ["/one/a", "/two/a"]
    assert both.read("/one/a").file_data["content"] == "1"
    assert paths(both.ls("/two")) == ["/two/a"]


@pytest.mark.parametrize("path", ["/", "/m", "/v", "/v/w", "/m/", "//v"])
def test_what_is_mounted_is_not_written_deleted_or_moved(
    nested: CompositeBackend, path: str
) -> None:
    before = paths(nested.glob("*"))
    for result in (
        nested.delete(path),
        nested.write(path, "x"),
        nested.move(path, "/new"),
        nested.move("/a", path),
    ):
        assert "can't be written, moved or deleted" in (result.error or "")
    assert nested.upload_files([(path, b"x")])[0].error is not None
    assert paths(nested.glob("*")) == before


@pytest.mark.parametrize(
    "routes",
    [
        {"m": Shelf()},
        {"/../m": Shelf()},
        {"/m": Shelf(), "/m/": Shelf()},
        {"/": Shelf(), "//": Shelf()},
        {"/m": "backend"},
        {"/m": Shelf},
    ],
)
def test_nonsense_is_a_value_error_when_it_is_made(routes: Any) -> None:
    with pytest.raises(ValueError, match=r"mount|prefix|refused"):
        CompositeBackend(StateBackend(), routes)


def test_a_move_across_copies_and_then_deletes() -> None:
    one, two = Shelf(d__a="1", d__b=b"\xff"), Shelf()
    both = CompositeBackend(one, {"/m": two})
    assert both.move("/d", "/m/e").error is None
    assert (one.files, two.files) == ({}, {"/e/a": b"1", "/e/b": b"\xff"})


def test_a_move_across_that_fails_loses_nothing() -> None:
    one, full = Shelf(d__a="1", d__b="2"), Full()
    both = CompositeBackend(one, {"/m": full})
    assert "disk full" in (both.move("/d", "/m/d").error or "")
    assert (one.files, full.files) == ({"/d/a": b"1", "/d/b": b"2"}, {})


def test_a_move_from_one_state_to_another_is_one_update() -> None:
    both = applied(CompositeBackend(StateBackend(), {"/m": StateBackend()}))
    both.write("/a", "text")
    result = both.move("/a", "/m/b")
    assert set(result.files_update) == {"/a", "/m/b"}
    assert list(both.files) == ["/m/b"]


def test_files_go_to_and_come_from_the_backends_that_have_them(nested: CompositeBackend) -> None:
    answers = nested.upload_files([("/n", b"1"), ("/m/n", b"2"), ("/../n", b"3"), ("/v/w/n", b"4")])
    assert [one.error for one in answers] == [None, None, "invalid_path", None]
    found = nested.download_files(["/v/w/n", "/gone", "/m/n", "/v", "/n"])
    assert [one.path for one in found] == ["/v/w/n", "/gone", "/m/n", "/v", "/n"]
    assert [one.content for one in found] == [b"4", None, b"2", None, b"1"]
    assert [one.error for one in found] == [None, "file_not_found", None, "is_directory", None]


def test_a_backend_that_takes_fewer_keywords_serves_them_all() -> None:
    shelf = Shelf(a="0123456789\nnext\n")
    both = CompositeBackend(StateBackend(), {"/m": shelf})
    page = both.read("/m/a", column=3, max_characters=4)
    assert page.file_data is not None
    assert (page.file_data["content"], page.next_offset, page.next_column) == ("3456", 0, 7)
    assert "exists already" in (both.write("/m/a", "new").error or "")
    assert both.write("/m/a", "new", overwrite=True).error is None
    assert shelf.files["/a"] == b"new"
    matches = both.grep("^N", "/m", regex=True, ignore_case=True).matches
    assert [match["text"] for match in matches or ()] == ["new"]


def test_the_state_needs_a_graph() -> None:
    alone = CompositeBackend(StateBackend(), {"/m": Shelf(a="x")})
    assert "only in a graph" in (alone.write("/a", "x").error or "")
    assert alone.read("/m/a").error is None
    assert paths(alone.glob("*")) == ["/m/a"]


def test_commands_run_where_a_backend_can() -> None:
    shell = Shell("out")
    able: Any = CompositeBackend(StateBackend(), {"/w": shell})
    assert able.execute("ls", timeout=5).output == "out"
    assert shell.asked == [{"command": "ls", "timeout": 5}]
    assert asyncio.run(able.aexecute("ls")).output == "out"
    assert able.id == "shell"
    assert isinstance(able, CommandBackend)
    plain: Any = CompositeBackend(PlainShell())
    assert plain.execute("x").output == "ran x\n"


def test_without_a_backend_that_can_there_are_no_commands(nested: CompositeBackend) -> None:
    assert isinstance(nested, Backend)
    assert not isinstance(nested, CommandBackend)
    for name in ("execute", "aexecute", "id"):
        assert not hasattr(nested, name)


METHODS = "ls read write edit delete move glob grep upload_files download_files digest recall"


@pytest.mark.parametrize("method", METHODS.split())
def test_every_method_has_a_twin_that_takes_the_same(method: str) -> None:
    plain, twin = getattr(CompositeBackend, method), getattr(CompositeBackend, f"a{method}")
    assert inspect.signature(plain) == inspect.signature(twin)
    assert inspect.iscoroutinefunction(twin)
    assert not inspect.iscoroutinefunction(plain)


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_it_can_be_given_as_the_mounts_of_a_graph(mode: str) -> None:
    shelf, turns = (
        Shelf(),
        [
            call("write_file", file_path="/m/a", content="1"),
            call("write_file", file_path="/s/a", content="2"),
            call("write_file", file_path="/a", content="3"),
            call("glob", pattern="*"),
        ],
    )
    mounts = CompositeBackend(StateBackend(), {"/m": shelf, "/s/": StateBackend()})
    options: Any = {"mounts": mounts}
    state = await arun(*turns, **options) if mode == "async" else run(*turns, **options)
    assert answers(state)[-1].text == "/a\n/m/a\n/s/a"
    assert shelf.files == {"/a": b"1"}
    assert contents(state) == {"/a": "3", "/s/a": "2"}


def test_it_can_be_mounted_within_a_graph_or_within_another() -> None:
    inner = CompositeBackend(StateBackend(), {"/m": Shelf(f="x")})
    outer = CompositeBackend(StateBackend(), {"/in": inner})
    for mounts in ({"/x": inner}, {"/": StateBackend(), "/x": inner}):
        assert answer(call("glob", pattern="*"), mounts=mounts).text == "/x/m/f"
    assert answer(call("ls", path="/in"), mounts=outer).text == "/in/m/"
    with pytest.raises(ValueError, match="Two mounts"):
        run(mounts={"/x": inner, "/x/m": Shelf()})


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_factory_may_make_it_when_a_node_runs(mode: str) -> None:
    shelf = Shelf()

    def made(runtime: Any) -> Any:
        return CompositeBackend(StateBackend(), {"/m": shelf})

    turns = [
        [
            call("write_file", "1", file_path="/x/a", content="one"),
            call("edit_file", "2", file_path="/x/a", old_string="one", new_string="two"),
            call("write_file", "3", file_path="/x/m/b", content="disk"),
            call("read_file", "4", file_path="/x/gone"),
        ],
        [move("/x/a", "/x/m/c"), call("write_file", "5", file_path="/x/d", content="left")],
        call("glob", pattern="*", path="/"),
    ]
    options: Any = {"mounts": {"/x": made}, "files": {"/x/old": "kept", "/other": "too"}}
    state = await arun(*turns, **options) if mode == "async" else run(*turns, **options)
    replies = {reply.tool_call_id: reply.text for reply in answers(state)}
    assert "/x/gone: no such file" in replies["4"]
    assert answers(state)[-1].text.split("\n") == ["/other", "/x/d", "/x/m/b", "/x/m/c", "/x/old"]
    assert shelf.files == {"/b": b"disk", "/c": b"two"}
    assert contents(state) == {"/other": "too", "/x/old": "kept", "/x/d": "left"}
