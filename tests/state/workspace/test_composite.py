"""Several backends as one: each under its path, and all of them seen from above."""

import asyncio
from typing import Any

import pytest

from langgraph_filesystem import CompositeBackend, StateBackend
from langgraph_filesystem.state.backends.protocol import (
    Backend,
    CommandBackend,
    Outcome,
    WriteResult,
)
from langgraph_filesystem.testing import Applied
from tests.nodes.backends import Broken, PlainShell, Shelf, Shell
from tests.scripted import answer, answers, arun, call, run
from tests.state.workspace.opened import paths


@pytest.fixture
def nested() -> CompositeBackend:
    """Three backends, one within another, and one that is hidden in part."""
    root = Shelf(a="x", m__hidden="x")
    middle = Shelf(f="x\ny", z__hidden="x")
    return CompositeBackend(root, {"/m/": middle, "/m/z": Shelf(g="x"), "/v/w": Shelf(h="x")})


def test_it_is_used_like_any_backend(nested: CompositeBackend) -> None:
    page = nested.read("m/./f")
    assert page.file_data is not None
    assert page.file_data["content"] == "x\ny"
    assert paths(nested.ls("/")) == ["/a", "/m", "/v"]
    assert paths(nested.ls("/v/w/")) == ["/v/w/h"]
    assert paths(nested.glob("*")) == ["/a", "/m/f", "/m/z/g", "/v/w/h"]
    assert nested.grep("x", "/v", output_mode="count").counts == {"/v/w/h": 1}
    assert nested.write("/v/w/new", "1").path == "/v/w/new"
    assert nested.edit("/v/w/new", "1", "2").path == "/v/w/new"
    assert nested.move("/v/w/new", "/m/z/new").path == "/m/z/new"
    assert nested.digest("/m/z/new") is not None
    assert nested.delete("/m/z/new").path == "/m/z/new"
    assert nested.digest("/m/z/new") is None
    assert nested.digest("/../a") is None


def test_what_is_wrong_is_a_result_with_the_whole_path(nested: CompositeBackend) -> None:
    for result, path in (
        (nested.read("/m/gone"), "/m/gone"),
        (nested.edit("/m/z/gone", "a", "b"), "/m/z/gone"),
        (nested.delete("/v/w/gone"), "/v/w/gone"),
        (nested.move("/m/gone", "/v/w/x"), "/m/gone"),
        (nested.ls("/gone"), "/gone"),
    ):
        assert result.error is not None
        assert result.error.startswith(f"{path}: no such file")
    assert "is invalid" in (nested.read("/../a").error or "")


@pytest.mark.parametrize("path", ["/", "/m", "/v", "/v/w", "/m/", "//v"])
def test_mount_points_are_not_written_deleted_or_moved(nested: CompositeBackend, path: str) -> None:
    before = paths(nested.glob("*"))
    for result in (
        nested.delete(path),
        nested.write(path, "x"),
        nested.move(path, "/new"),
        nested.move("/a", path),
    ):
        assert "can't be written, moved or deleted" in (result.error or "")
    assert nested.upload_files([(path, b"x")])[0].error == "is_directory"
    assert paths(nested.glob("*")) == before


def test_a_backend_that_fails_is_noted_and_the_others_answer() -> None:
    both = CompositeBackend(Shelf(a="x"), {"/m": Broken(OSError("gone"))})
    for result in (both.glob("*"), both.grep("x")):
        assert (paths(result), result.note) == (["/a"], "/m: OSError: gone")
    assert both.ls("/m").error == "/m: OSError: gone"
    assert both.read("/m/a").error == "/m/a: OSError: gone"


def test_files_go_to_and_come_from_the_backends_that_have_them(nested: CompositeBackend) -> None:
    sent = nested.upload_files([("/n", b"1"), ("/m/n", b"2"), ("/../n", b"3"), ("/v/w/n", b"4")])
    assert [one.error for one in sent] == [None, None, "invalid_path", None]
    found = nested.download_files(["/v/w/n", "/gone", "/m/n", "/v", "/n", "~"])
    assert [one.path for one in found] == ["/v/w/n", "/gone", "/m/n", "/v", "/n", "~"]
    assert [one.content for one in found] == [b"4", None, b"2", None, b"1", None]
    assert [one.error for one in found] == [
        *(None, "file_not_found", None, "is_directory", None, "invalid_path")
    ]


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
def test_invalid_routes_are_a_value_error(routes: Any) -> None:
    with pytest.raises(ValueError, match=r"mount|prefix|invalid"):
        CompositeBackend(StateBackend(), routes)


# The state


def test_two_mounts_of_the_state_do_not_share_a_file() -> None:
    both: Any = Applied(
        CompositeBackend(StateBackend(), {"/one": StateBackend(), "/two": StateBackend()})
    )
    both.write("/one/a", "1")
    both.write("/two/a", "2")
    assert both.read("/one/a").file_data["content"] == "1"
    assert paths(both.ls("/two")) == ["/two/a"]
    both.move("/one/a", "/two/b")
    assert paths(both.glob("*")) == ["/two/a", "/two/b"]


def test_the_state_needs_a_graph() -> None:
    alone = CompositeBackend(StateBackend(), {"/m": Shelf(a="x")})
    assert "only in a graph" in (alone.write("/a", "x").error or "")
    assert alone.read("/m/a").error is None
    assert paths(alone.ls("/")) == ["/m"]
    assert paths(alone.glob("*")) == ["/m/a"]


# Commands


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
    made: Any = CompositeBackend(StateBackend(), {"/w": lambda runtime: shell})
    assert made.execute("ls").output == "out"


def test_without_a_backend_that_can_there_are_no_commands(nested: CompositeBackend) -> None:
    assert isinstance(nested, Backend)
    assert not isinstance(nested, CommandBackend)
    for name in ("execute", "aexecute", "id"):
        assert not hasattr(nested, name)


# Once


class Keyed(Shelf):
    """A shelf that keeps the keys it is given."""

    def __init__(self, outcome: Outcome | None = None) -> None:
        super().__init__()
        self.keys: list[str | None] = []
        self.outcome = outcome

    def write(self, file_path: str, content: str, *, once: str | None = None) -> WriteResult:
        self.keys.append(once)
        return super().write(file_path, content)

    def recall(self, once: str) -> Outcome | None:
        return self.outcome


def test_a_key_is_handed_to_the_backend_that_has_the_path() -> None:
    one, two = Keyed(), Keyed()
    CompositeBackend(one, {"/m": two}).write("/m/a", "x", once="s.g.1")
    assert (one.keys, two.keys) == ([], ["s.g.1"])


def test_what_any_backend_knows_of_a_call_is_known() -> None:
    def broken(runtime: Any) -> Any:
        raise RuntimeError("it is down")

    known = Keyed(Outcome(finished=True, occurrences=2))
    both = CompositeBackend(Shelf(), {"/a-long-way-down": broken, "/m": known})
    assert both.recall("s.g.1") == Outcome(finished=True, occurrences=2)
    assert "it is down" in (both.write("/a-long-way-down/a", "x").error or "")
    assert CompositeBackend(Shelf(), {"/m": Keyed()}).recall("s.g.1") is None


class Noting(Shelf):
    """A shelf with a record of each change; it can break down before one of them."""

    def __init__(self, **files: Any) -> None:
        super().__init__(**files)
        self.records: set[str | None] = set()
        self.breaks_before = ""

    def upload_files(self, files: Any, *, once: str | None = None) -> Any:
        self._record("upload", once)
        return super().upload_files(files)

    def delete(self, file_path: str, *, once: str | None = None) -> Any:
        self._record("delete", once)
        return super().delete(file_path)

    def recall(self, once: str) -> Outcome | None:
        return Outcome(finished=True) if once in self.records else None

    def _record(self, what: str, once: str | None) -> None:
        if self.breaks_before == what:
            self.breaks_before = ""
            raise SystemExit("killed")
        self.records.add(once)


@pytest.mark.parametrize("step", ["upload", "delete"])
def test_a_move_that_was_killed_is_finished_by_the_same_call(step: str) -> None:
    one, two = Noting(d__a="1", d__b="2"), Noting()
    (two if step == "upload" else one).breaks_before = step
    both = CompositeBackend(one, {"/m": two})
    with pytest.raises(SystemExit):
        both.move("/d", "/m/d", once="s.g.1")
    for _ in range(2):
        assert both.move("/d", "/m/d", once="s.g.1").error is None
        assert (one.files, two.files) == ({}, {"/d/a": b"1", "/d/b": b"2"})


def test_a_copy_that_others_edited_after_a_kill_is_not_overwritten() -> None:
    one, two = Noting(d__a="1", d__b="2"), Noting()
    one.breaks_before = "delete"
    both = CompositeBackend(one, {"/m": two})
    with pytest.raises(SystemExit):
        both.move("/d", "/m/d", once="s.g.1")
    two.put("/d/a", "theirs")
    assert "/m/d/a: the file exists already" in (both.move("/d", "/m/d", once="s.g.1").error or "")
    assert one.files == {"/d/a": b"1", "/d/b": b"2"}
    assert two.files == {"/d/a": b"theirs", "/d/b": b"2"}


# In a graph


def contents(state: Any) -> dict[str, str]:
    return {path: file["content"] for path, file in state["files"].items()}


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_it_can_be_given_as_the_mounts_of_a_graph(mode: str) -> None:
    shelf = Shelf()
    turns = [
        call("write_file", file_path="/m/a", content="1"),
        call("write_file", file_path="/s/a", content="2"),
        call("write_file", file_path="/a", content="3"),
        call("glob", pattern="*"),
    ]
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


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_factory_may_make_it_when_a_node_runs(mode: str) -> None:
    shelf = Shelf()
    turns = [
        [
            call("write_file", "1", file_path="/x/a", content="one"),
            call("edit_file", "2", file_path="/x/a", old_string="one", new_string="two"),
            call("write_file", "3", file_path="/x/m/b", content="disk"),
            call("read_file", "4", file_path="/x/gone"),
        ],
        [
            call("move", source="/x/a", destination="/x/m/c"),
            call("write_file", "5", file_path="/x/d", content="left"),
        ],
        call("glob", pattern="*", path="/"),
    ]
    options: Any = {
        "mounts": {"/x": lambda runtime: CompositeBackend(StateBackend(), {"/m": shelf})},
        "files": {"/x/old": "kept", "/other": "too"},
    }
    state = await arun(*turns, **options) if mode == "async" else run(*turns, **options)
    replies = {reply.tool_call_id: reply.text for reply in answers(state)}
    assert "/x/gone: no such file" in replies["4"]
    assert answers(state)[-1].text.split("\n") == ["/other", "/x/d", "/x/m/b", "/x/m/c", "/x/old"]
    assert shelf.files == {"/b": b"disk", "/c": b"two"}
    assert contents(state) == {"/other": "too", "/x/old": "kept", "/x/d": "left"}


def test_a_subclass_may_have_its_own_arguments_and_methods() -> None:
    class Mine(CompositeBackend):
        def __init__(self, shelf: Shelf) -> None:
            super().__init__(StateBackend(), {"/m": shelf})

        def write(self, file_path: str, content: str, **options: Any) -> Any:
            return super().write(file_path, content.upper(), **options)

    shelf = Shelf()
    Mine(shelf).write("/m/a", "one")
    turn = [
        call("write_file", file_path="/x/m/b", content="two"),
        call("write_file", file_path="/x/c", content="three"),
        call("read_file", file_path="/x/c"),
    ]
    state = run(turn, mounts={"/x": Mine(shelf)})
    assert shelf.files == {"/a": b"ONE", "/b": b"TWO"}
    assert contents(state) == {"/x/c": "THREE"}
