"""Changes that wait in an overlay are written below: whole, checked, and nothing else."""

import os
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_filesystem import (
    CompositeBackend,
    FilesystemBackend,
    OverlayBackend,
    StateBackend,
    history,
)
from tests.graph.history.obedient import deletes, edits, moves, obedient, told, writes
from tests.graph.runs import THREAD
from tests.nodes.backends import Shelf
from tests.state.backends.disk.places import largest_file, unprivileged
from tests.state.workspace.random_trees import tree_of


class Repository:
    """A directory, and a thread that works on it through an overlay."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        self.agent = obedient({"/": OverlayBackend(FilesystemBackend(root))}, InMemorySaver())

    def do(self, *calls: Any, config: Any = THREAD) -> None:
        self.agent.invoke(told(*calls), config)

    def apply(self, config: Any = THREAD, **options: Any) -> history.ApplyResult:
        return history.apply(self.agent, config, **options)

    def waiting(self) -> Any:
        values = self.agent.get_state(THREAD).values
        return sorted({*values["files"], *values["overlay"]})

    def write(self, name: str, text: str, mode: int = 0o644) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def tree(self) -> Any:
        return tree_of(self.root)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


def test_changes_are_written_with_their_modes_and_nothing_of_ours(repository: Repository) -> None:
    repository.write("run.sh", "one\n", 0o755)
    repository.write("old/deep/x", "x", 0o600)
    (repository.root / "old").chmod(0o750)
    (repository.root / "link").symlink_to("run.sh")
    repository.do(edits("/link", "one", "1"), moves("/old", "/new"), writes("/a/b", "b"))
    repository.do(moves("/link", "/a/link"), deletes("/new/deep/x"))
    result = repository.apply()
    assert str(result).splitlines() == [f"applied   {path}" for path in result.applied]
    assert repository.tree() == {
        "a": ("directory", "0o755"),
        "a/b": ("file", "0o644", b"b"),
        "a/link": ("link", "run.sh"),
        "new": ("directory", "0o750"),
        "new/deep": ("directory", "0o755"),
        "run.sh": ("file", "0o755", b"1\n"),
    }
    assert repository.waiting() == []
    assert str(repository.apply()) == "Nothing to apply."


def test_only_some_paths_are_applied(repository: Repository) -> None:
    repository.do(writes("/a/1", "1"), writes("/a/2", "2"), writes("/b", "b"))
    assert repository.apply(paths=["/a"]).applied == ["/a/1", "/a/2"]
    assert sorted(repository.tree()) == ["a", "a/1", "a/2"]
    assert repository.waiting() == ["/b"]


def test_a_file_of_a_new_directory_is_applied_undone_or_discarded_alone(
    repository: Repository,
) -> None:
    for name in "abcd":
        repository.write(f"src/{name}", name)
    (repository.root / "src").chmod(0o750)
    repository.do(moves("/src", "/lib"))
    assert history.undo(repository.agent, THREAD, paths=["/lib/d"]) == ["/lib/d"]
    assert history.discard(repository.agent, THREAD, ["/lib/c"]) == ["/lib/c"]
    assert repository.apply(paths=["/lib/a"]).applied == ["/lib", "/lib/a"]
    assert repository.waiting() == ["/lib/b", "/src"]
    repository.do(edits("/lib/a", "a", "A"))
    assert repository.apply().applied == ["/lib/a", "/lib/b", "/src"]
    assert repository.tree() == {
        "lib": ("directory", "0o750"),
        "lib/a": ("file", "0o644", b"A"),
        "lib/b": ("file", "0o644", b"b"),
    }


def test_edits_are_replayed_on_a_file_that_others_have_changed(repository: Repository) -> None:
    path = repository.write("a", "one\ntwo\nthree\n")
    repository.do(edits("/a", "two", "2"))
    path.write_text("zero\none\ntwo\nthree\n")
    assert repository.apply().applied == ["/a"]
    assert path.read_text() == "zero\none\n2\nthree\n"
    assert repository.waiting() == []


@pytest.mark.parametrize("on_conflict", ["report", "force"])
def test_a_conflict_is_reported_with_both_sides_or_ours_is_taken(
    repository: Repository, on_conflict: Any
) -> None:
    path = repository.write("a", "one\n", 0o755)
    repository.write("d/x", "x")
    repository.do(edits("/a", "one", "ours"), deletes("/d"), writes("/new", "ours"))
    path.write_text("theirs\n")
    repository.write("d/y", "theirs")
    repository.write("new", "theirs")
    before = repository.tree()
    result = repository.apply(on_conflict=on_conflict)
    if on_conflict == "report":
        assert {one.path: (one.ours, one.theirs) for one in result.conflicts} == {
            "/a": (b"ours\n", b"theirs\n"),
            "/d": (None, None),
            "/new": (b"ours", b"theirs"),
        }
        assert "don't fit any more" in str(result)
        assert repository.tree() == before
        assert repository.waiting() == ["/a", "/d", "/new"]
        return
    assert result.kept == {"/a": "/a.theirs", "/d": "/d.theirs", "/new": "/new.theirs"}
    assert repository.tree() == {
        "a": ("file", "0o755", b"ours\n"),
        "a.theirs": ("file", "0o755", b"theirs\n"),
        "d.theirs": ("directory", "0o755"),
        "d.theirs/x": ("file", "0o644", b"x"),
        "d.theirs/y": ("file", "0o644", b"theirs"),
        "new": ("file", "0o644", b"ours"),
        "new.theirs": ("file", "0o644", b"theirs"),
    }
    assert repository.waiting() == []


@pytest.mark.parametrize("theirs", ["import os\nimport sys\n", "import os\nimport sys\nx\n"])
def test_an_edit_that_is_there_already_is_not_made_again(
    repository: Repository, theirs: str
) -> None:
    path = repository.write("a", "import os\n")
    repository.do(edits("/a", "import os\n", "import os\nimport sys\n"))
    path.write_text(theirs)
    assert bool(repository.apply().conflicts) == theirs.endswith("x\n")
    assert path.read_text() == theirs


@pytest.mark.parametrize("again", [False, True])
def test_a_file_that_a_client_wrote_is_not_replaced_by_edits(
    repository: Repository, again: bool
) -> None:
    path = repository.write("a", "one\ntwo\n")
    repository.do(edits("/a", "two", "2"))
    repository.agent.update_state(THREAD, {"files": {"/a": "one\n2\nby the user\n"}})
    if again:
        repository.do(edits("/a", "one", "1"))
    path.write_text("zero\none\ntwo\n")
    [conflict] = repository.apply().conflicts
    assert b"by the user" in (conflict.ours or b"")
    repository.agent.update_state(THREAD, {"files": {"/a": None}})
    assert [one.path for one in repository.apply().conflicts] == ["/a"]
    assert path.read_text() == "zero\none\ntwo\n"


@pytest.mark.parametrize("why", ["full", "taken"])
@pytest.mark.parametrize("kind", ["file", "directory"])
def test_what_is_moved_stays_until_it_is_at_its_destination(
    repository: Repository, why: str, kind: str
) -> None:
    name = "old" if kind == "file" else "old/x"
    old = repository.write(name, "x" * 5_000)
    repository.do(moves("/old", "/new"))
    if why == "taken":
        repository.write("new", "theirs")
        result = repository.apply()
    else:
        with largest_file(4_000):
            result = repository.apply()
    assert "is deleted when the new files" in result.failed["/old"]
    assert old.exists()
    if why == "taken":
        (repository.root / "new").unlink()
    assert repository.apply().failed == {}
    assert not (repository.root / "old").exists()
    assert (repository.root / name.replace("old", "new")).read_text() == "x" * 5_000


def test_what_is_moved_to_another_overlay_stays_until_it_is_there(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "one/a").write_text("ours")
    mounts = {f"/{n}": OverlayBackend(FilesystemBackend(tmp_path / n)) for n in ("one", "two")}
    agent = obedient(mounts, InMemorySaver())
    agent.invoke(told(moves("/one/a", "/two/a")), THREAD)
    (tmp_path / "two/a").write_text("theirs")
    assert [one.path for one in history.apply(agent, THREAD).conflicts] == ["/two/a"]
    assert (tmp_path / "one/a").exists()
    (tmp_path / "two/a").unlink()
    assert history.apply(agent, THREAD).applied == ["/one/a", "/two/a"]
    assert (tmp_path / "two/a").read_text() == "ours"
    assert not (tmp_path / "one/a").exists()


def test_a_directory_that_others_made_a_link_in_a_circle_stops_nothing(
    repository: Repository,
) -> None:
    (repository.root / "d").mkdir()
    repository.do(writes("/d/x", "x"), writes("/ok", "ok"))
    (repository.root / "d").rmdir()
    (repository.root / "d").symlink_to("d")
    result = repository.apply()
    assert result.applied == ["/ok"]
    assert [*result.failed, *(one.path for one in result.conflicts)] == ["/d/x"]
    assert repository.waiting() == ["/d/x"]


def test_a_directory_called_conflicts_is_applied(repository: Repository) -> None:
    repository.write("conflicts/a", "1")
    repository.do(edits("/conflicts/a", "1", "2"), writes("/conflicts/b", "b"))
    assert repository.apply().applied == ["/conflicts/a", "/conflicts/b"]


@pytest.mark.parametrize("kind", ["link", "directory"])
def test_a_file_that_becomes_something_else_is_applied_after_a_kill(
    repository: Repository, kind: str
) -> None:
    repository.write("a", "a")
    (repository.root / "link").symlink_to("there")
    repository.write("directory/x", "x")
    repository.do(deletes("/a"))
    repository.do(moves(f"/{kind}", "/a"))
    (repository.root / "a").unlink()  # as a kill leaves it, before the other thing is there
    assert repository.apply().conflicts == []


def test_a_file_that_others_have_deleted_is_a_conflict(repository: Repository) -> None:
    repository.write("a", "one\n").parent.joinpath("b").write_text("b")
    repository.do(edits("/a", "one", "1"), deletes("/b"))
    (repository.root / "a").unlink()
    (repository.root / "b").unlink()
    result = repository.apply()
    assert [(one.path, one.reason) for one in result.conflicts] == [("/a", "it was deleted below")]
    assert result.applied == ["/b"]
    assert repository.apply(on_conflict="force").applied == ["/a"]
    assert repository.tree() == {"a": ("file", "0o644", b"1\n")}


def test_what_is_in_a_directory_in_conflict_is_left_alone(repository: Repository) -> None:
    repository.write("d/x", "x")
    repository.do(deletes("/d"), writes("/d/x", "ours"))
    repository.do(writes("/d/new", "ours"))
    repository.write("d/y", "theirs")
    before = repository.tree()
    assert {one.path for one in repository.apply().conflicts} == {"/d", "/d/x", "/d/new"}
    assert repository.tree() == before
    os.unlink(repository.root / "d/y")
    assert repository.apply().applied == ["/d", "/d/new", "/d/x"]
    assert sorted(repository.tree()) == ["d", "d/new", "d/x"]


def test_a_directory_becomes_a_file_and_a_file_a_directory(repository: Repository) -> None:
    repository.write("d/x", "x")
    repository.write("f", "f")
    repository.do(deletes("/d"), deletes("/f"))
    repository.do(writes("/d", "file"), writes("/f/x", "below"))
    assert repository.apply().conflicts == []
    assert repository.tree() == {
        "d": ("file", "0o644", b"file"),
        "f": ("directory", "0o755"),
        "f/x": ("file", "0o644", b"below"),
    }


def test_what_can_not_be_written_stays_in_the_thread(repository: Repository) -> None:
    closed = repository.write("closed/x", "x").parent
    repository.do(writes("/closed/new", "new"), writes("/ok", "ok"), writes("/big", "x" * 5_000))
    closed.chmod(0o555)
    with unprivileged(repository.root, closed), largest_file(4_000):
        result = repository.apply()
    assert result.applied == ["/ok"]
    assert sorted(result.failed) == ["/big", "/closed/new"]
    assert "permission denied" in result.failed["/closed/new"]
    closed.chmod(0o755)
    assert repository.apply().applied == ["/big", "/closed/new"]
    assert not [name for name in repository.tree() if "lgfs" in name]


def test_a_directory_that_can_not_get_its_mode_hides_nothing(repository: Repository) -> None:
    repository.write("old/x", "x").parent.chmod(0o750)
    repository.do(moves("/old", "/new"))
    others = repository.root / "new"
    others.mkdir()
    others.chmod(0o777)
    with unprivileged(repository.root, repository.root / "old", repository.root / "old/x"):
        repository.apply()
        repository.do(edits("/new/x", "x", "y"))
    assert "Edited" in repository.agent.get_state(THREAD).values["messages"][-2].text


def test_edits_that_were_rebased_and_not_written_are_undone(repository: Repository) -> None:
    path = repository.write("f", "one\n")
    repository.do(edits("/f", "one", "1"))
    path.write_text("one\n" + "x" * 5_000)
    with largest_file(4_000):
        assert [*repository.apply().failed] == ["/f"]
    assert repository.waiting() == ["/f"]
    assert history.undo(repository.agent, THREAD) == ["/f"]
    assert repository.waiting() == []


def test_the_best_of_two_branches_is_applied(repository: Repository) -> None:
    repository.do(writes("/a", "start"))
    start = repository.agent.get_state(THREAD).config
    tips = []
    for attempt in ("first", "second"):
        repository.do(writes("/a", attempt), writes(f"/{attempt}", "x"), config=start)
        tips.append(repository.agent.get_state(THREAD).config)
    assert repository.apply(tips[0]).applied == ["/a", "/first"]
    assert {name: what[2] for name, what in repository.tree().items()} == {
        "a": b"first",
        "first": b"x",
    }
    assert sorted(repository.agent.get_state(tips[1]).values["files"]) == ["/a", "/second"]
    assert "it was created below as well" in str(repository.apply(tips[1]))


def test_an_undo_to_a_checkpoint_before_an_apply_keeps_what_was_written(
    repository: Repository,
) -> None:
    path = repository.write("a", "one\n")
    repository.do(edits("/a", "one", "1"))
    before = repository.agent.get_state(THREAD)
    repository.apply()
    assert history.undo(repository.agent, THREAD, to=before) == ["/a"]
    assert history.diff(repository.agent, THREAD) == ""
    assert repository.apply().applied == ["/a"]
    assert path.read_text() == "1\n"
    assert [(c.path, c.added, c.removed) for c in history.changes(repository.agent, THREAD)] == [
        ("/a", 1, 1),
        ("/a", 0, 0),
    ]


@pytest.mark.parametrize("kind", ["state", "composite", "foreign", "factory"])
async def test_other_backends_can_lie_below(kind: str, tmp_path: Path) -> None:
    disk = FilesystemBackend(tmp_path)
    lower: Any = {
        "state": StateBackend(),
        "composite": CompositeBackend(disk, {"/own": StateBackend()}),
        "foreign": Shelf(a="one\n"),
        "factory": lambda runtime: FilesystemBackend(tmp_path / runtime.context["user"]),
    }[kind]
    (tmp_path / "me").mkdir()
    agent = obedient({"/m": OverlayBackend(lower)}, InMemorySaver(), context_schema=dict)
    run: Any = {"config": THREAD, "context": {"user": "me"}}
    await agent.ainvoke(told(writes("/m/own/b", "b"), writes("/m/c", "c")), **run)
    result = await history.aapply(agent, THREAD, context=run["context"])
    assert (result.applied, result.failed) == (["/m/c", "/m/own/b"], {})
    await agent.ainvoke(told(edits("/m/own/b", "b", "B"), deletes("/m/c")), **run)
    values = (await agent.aget_state(THREAD)).values
    assert [m.status for m in values["messages"] if m.type == "tool"] == ["success"] * 4
    assert values["overlay"]["/m/c"]["kind"] == "deleted"
    assert values["files"]["/m/own/b"]["content"] == "B"


def test_a_diff_over_the_state_is_against_what_lies_below_now() -> None:
    agent = obedient({"/": OverlayBackend(StateBackend())}, InMemorySaver())
    agent.invoke(told(writes("/a", "one\n")), THREAD)
    history.apply(agent, THREAD)
    agent.invoke(told(edits("/a", "one", "1")), THREAD)
    assert "-one\n+1\n" in history.diff(agent, THREAD)


def test_a_wrong_answer_to_conflicts_is_an_error(repository: Repository) -> None:
    with pytest.raises(ValueError, match="on_conflict"):
        repository.apply(on_conflict="ours")
