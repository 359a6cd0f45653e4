"""What a thread changed can be listed, compared and taken back."""

import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_filesystem import (
    FilesystemBackend,
    OverlayBackend,
    SandboxBackend,
    StateBackend,
    history,
)
from tests.databases import aopen_database, open_database
from tests.graph.history.obedient import deletes, edits, moves, obedient, told, writes
from tests.graph.runs import THREAD, contents
from tests.scripted import call
from tests.state.workspace.random_trees import tree_of


class Historian:
    """Calls an agent and the functions of `history`, or their twins that are awaited."""

    def __init__(self, saver: Any, awaited: bool, lower: Path) -> None:
        self.agent = obedient({"/repo": OverlayBackend(FilesystemBackend(lower))}, saver)
        self.awaited = awaited
        self.lower = lower

    async def do(self, *calls: Any) -> None:
        """Make calls, all in one message."""
        if self.awaited:
            await self.agent.ainvoke(told(*calls), THREAD)
        else:
            self.agent.invoke(told(*calls), THREAD)

    async def call(self, name: str, *args: Any, config: Any = THREAD, **options: Any) -> Any:
        """Call a function of `history`."""
        if self.awaited:
            return await getattr(history, f"a{name}")(self.agent, config, *args, **options)
        return getattr(history, name)(self.agent, config, *args, **options)

    async def state(self) -> Any:
        """Return the state of the thread."""
        if self.awaited:
            return await self.agent.aget_state(THREAD)
        return self.agent.get_state(THREAD)

    async def values(self) -> Any:
        """Return the values of the thread."""
        return (await self.state()).values

    async def changed(self) -> dict[str, str]:
        """Return the contents of the thread's files."""
        return contents(await self.values())


@pytest.fixture(params=["sync", "async"])
async def thread(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Historian]:
    """A thread over a directory with a few files, in a real database."""
    lower = tmp_path / "lower"
    (lower / "src").mkdir(parents=True)
    (lower / "src/a.py").write_text("one\ntwo\nthree\n")
    (lower / "src/b.py").write_text("b\n")
    (lower / "raw").write_bytes(b"\0\xff")
    if request.param == "async":
        async with aopen_database(tmp_path / "agent.db") as (saver, _):
            yield Historian(saver, True, lower)
    else:
        with open_database(tmp_path / "agent.db") as (saver, _):
            yield Historian(saver, False, lower)


async def test_each_change_has_its_step_node_call_path_and_lines(thread: Historian) -> None:
    edit, new = edits("/repo/src/a.py", "two", "2\n2"), writes("/notes.md", "a\nb\n")
    await thread.do(edit, new)
    await thread.do(deletes("/repo/src"), writes("/repo/src/a.py", "one\n"))
    found = await thread.call("changes")
    listed = [(one.node, one.call, one.path, one.kind, one.added, one.removed) for one in found]
    assert listed[:2] == [
        ("write_file", new["id"], "/notes.md", "added", 2, 0),
        ("edit_file", edit["id"], "/repo/src/a.py", "changed", 2, 1),
    ]
    assert [one[:1] + one[2:4] for one in listed[2:]] == [
        ("delete", "/repo/src", "deleted"),
        ("delete", "/repo/src/a.py", "deleted"),
        ("write_file", "/repo/src/a.py", "added"),
    ]
    assert [one.step for one in found] == sorted(one.step for one in found)
    assert str(found).splitlines()[1].split() == [
        *(str(found[1].step), "edit_file", "+2", "-1", "changed", "/repo/src/a.py")
    ]


async def test_the_diff_shows_all_that_the_thread_changed(thread: Historian) -> None:
    await thread.do()
    assert await thread.call("diff") == ""
    await thread.do(
        edits("/repo/src/a.py", "two", "2"),
        deletes("/repo/src/b.py"),
        moves("/repo/raw", "/repo/raw2"),
        writes("/repo/new", "no newline"),
    )
    assert await thread.call("diff") == (
        "diff --git a/repo/new b/repo/new\nnew file mode 100644\n"
        "--- /dev/null\n+++ b/repo/new\n@@ -0,0 +1 @@\n+no newline\n"
        "\\ No newline at end of file\n"
        "diff --git a/repo/raw b/repo/raw\ndeleted file mode 100644\n"
        "Binary files a/repo/raw and /dev/null differ\n"
        "diff --git a/repo/raw2 b/repo/raw2\nnew file mode 100644\n"
        "Binary files /dev/null and b/repo/raw2 differ\n"
        "diff --git a/repo/src/a.py b/repo/src/a.py\n"
        "--- a/repo/src/a.py\n+++ b/repo/src/a.py\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
        "diff --git a/repo/src/b.py b/repo/src/b.py\ndeleted file mode 100644\n"
        "--- a/repo/src/b.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n"
    )


async def test_two_checkpoints_are_compared(thread: Historian) -> None:
    await thread.do(writes("/a", "1\n"))
    state = await thread.state()
    await thread.do(writes("/a", "2\n"), deletes("/repo/src/b.py"))
    text = await thread.call("diff", state.config["configurable"]["checkpoint_id"])
    assert text == (
        "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n"
        "diff --git a/repo/src/b.py b/repo/src/b.py\ndeleted file mode 100644\n"
        "--- a/repo/src/b.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n"
    )
    assert text == await thread.call("diff", state, None)
    assert await thread.call("diff", state, state) == ""
    back = await thread.call("diff", None, state)
    assert back.endswith("--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+1\n")


async def test_the_diff_shows_each_file_of_a_directory_that_is_gone(thread: Historian) -> None:
    (thread.lower / "src/large").write_bytes(b"x" * 10_500_000)
    await thread.do(deletes("/repo/src"), writes("/repo/src/a.py", "one\n"))
    text = await thread.call("diff")
    assert "@@ -1,3 +1 @@\n one\n-two\n-three\n" in text
    assert "--- a/repo/src/b.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n" in text
    assert "Binary files a/repo/src/large and /dev/null differ\n" in text
    assert "directory" not in text  # there is one at this path still


def test_a_directory_that_a_command_replaces_is_a_change(tmp_path: Path) -> None:
    (tmp_path / "lower/d").mkdir(parents=True)
    (tmp_path / "lower/d/x").write_text("x\n")
    agent = obedient({"/": OverlayBackend(SandboxBackend(tmp_path / "lower"))}, InMemorySaver())
    agent.invoke(told(call("execute", command="rm -r d; mkdir d; echo y >d/y")), THREAD)
    listed = [(one.path, one.kind) for one in history.changes(agent, THREAD)]
    assert listed == [("/d", "changed"), ("/d/y", "added")]
    assert "--- a/d/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n" in history.diff(agent, THREAD)


def test_a_file_in_a_replaced_directory_has_its_own_mode(tmp_path: Path) -> None:
    lower = tmp_path / "lower"
    (lower / "d").mkdir(parents=True)
    for name, mode in (("kept", 0o755), ("minus", 0o755), ("plus", 0o644)):
        (lower / "d" / name).write_text("x\n")
        (lower / "d" / name).chmod(mode)
    agent = obedient({"/": OverlayBackend(SandboxBackend(lower))}, InMemorySaver())
    command = "cp -a d /tmp/d; rm -r d; cp -a /tmp/d d; chmod -x d/minus; chmod +x d/plus"
    agent.invoke(told(call("execute", command=command)), THREAD)
    assert history.diff(agent, THREAD) == (
        "diff --git a/d/minus b/d/minus\nold mode 100755\nnew mode 100644\n"
        "diff --git a/d/plus b/d/plus\nold mode 100644\nnew mode 100755\n"
    )
    agent.invoke(told(call("execute", command="stat -c %a d/*")), THREAD)
    assert "755\n644\n755" in agent.get_state(THREAD).values["messages"][-2].text
    assert history.apply(agent, THREAD).conflicts == []
    modes = [oct((lower / "d" / name).stat().st_mode & 0o777) for name in ("kept", "minus", "plus")]
    assert modes == ["0o755", "0o644", "0o755"]


def test_modes_and_links_are_listed_after_they_were_applied(tmp_path: Path) -> None:
    lower = tmp_path / "lower"
    lower.mkdir()
    (lower / "run.sh").write_text("x\n")
    (lower / "link").symlink_to("here")
    agent = obedient({"/": OverlayBackend(SandboxBackend(lower))}, InMemorySaver())
    command = "chmod +x run.sh; ln -sfn there link"
    agent.invoke(told(call("execute", command=command)), THREAD)
    for _ in range(2):
        listed = [(one.path, one.kind) for one in history.changes(agent, THREAD)]
        assert listed == [("/link", "changed"), ("/run.sh", "changed")]
        history.apply(agent, THREAD)
    assert (lower / "link").readlink() == Path("there")


async def test_git_can_apply_a_diff(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    (before / "run.sh").write_text("#!/bin/sh\n-- a\n")
    (before / "a name").write_text("one\ntwo")
    (before / "old/deep").mkdir(parents=True)
    (before / "old/deep/x").write_text("x\n")
    (before / "becomes").write_text("run.sh")
    shutil.copytree(before, after)
    agent = obedient({"/": OverlayBackend(SandboxBackend(before))}, InMemorySaver())
    commands = (
        "chmod 755 run.sh; sed -i /--/d run.sh; printf 'two\\n' >'a name'; rm -r old; "
        "ln -sf run.sh becomes; ln -s nowhere link; printf '\\303\\244\\n' >\"$(printf 'b\\t\"')\""
    )
    agent.invoke(told(call("execute", command=commands)), THREAD)
    text = history.diff(agent, THREAD)
    subprocess.run(["git", "apply", "-"], cwd=after, input=text, text=True, check=True)
    assert [(one.path, one.added, one.removed) for one in history.changes(agent, THREAD)][-1] == (
        *("/run.sh", 0, 1),
    )
    history.apply(agent, THREAD)
    assert tree_of(after) == tree_of(before)


async def test_an_undo_takes_back_the_last_step_and_is_itself_undone(thread: Historian) -> None:
    await thread.do(writes("/a", "1"))
    await thread.do(edits("/repo/src/a.py", "two", "2"), deletes("/repo/src/b.py"))
    before = await thread.values()
    assert await thread.call("undo") == ["/repo/src/a.py", "/repo/src/b.py"]
    assert await thread.changed() == {"/a": "1"}
    assert (await thread.values())["overlay"] == {}
    assert await thread.call("undo") == ["/repo/src/a.py", "/repo/src/b.py"]
    after = await thread.values()
    assert (after["files"], after["overlay"]) == (before["files"], before["overlay"])
    assert await thread.call("undo", 3) == ["/repo/src/a.py", "/repo/src/b.py"]
    assert await thread.call("undo", 100) == ["/a"]
    state = await thread.values()
    assert state["messages"] == before["messages"]


async def test_changes_of_some_paths_are_taken_back(thread: Historian) -> None:
    await thread.do(edits("/repo/src/a.py", "two", "2"))
    await thread.do(edits("/repo/src/b.py", "b", "B"))
    await thread.do(edits("/repo/src/b.py", "B", "BB"))
    assert await thread.call("undo", paths=["/repo/src/a.py"]) == ["/repo/src/a.py"]
    assert await thread.changed() == {"/repo/src/b.py": "BB\n"}
    assert await thread.call("undo", paths=["/repo/src/b.py"]) == ["/repo/src/b.py"]
    assert await thread.changed() == {"/repo/src/b.py": "B\n"}
    await thread.do(deletes("/repo/src"))
    # The directory was deleted as a whole, and so it is restored.
    assert "/repo/src" in await thread.call("undo", paths=["/repo/src/a.py"])
    assert await thread.changed() == {"/repo/src/b.py": "B\n"}


async def test_no_file_comes_back_below_another_one(thread: Historian) -> None:
    await thread.do(writes("/repo/d/x", "x"))
    first = (await thread.state()).config
    await thread.do(deletes("/repo/d"), deletes("/repo/src"))
    await thread.do(writes("/repo/d", "file"), writes("/repo/src", "file"))
    second = (await thread.state()).config
    assert "/repo/d" in await thread.call("undo", paths=["/repo/d/x"], to=first)
    assert await thread.changed() == {"/repo/d/x": "x", "/repo/src": "file"}
    await thread.call("undo", to=first)
    assert await thread.call("undo", paths=["/repo/src/a.py"], to=second) == ["/repo/src"]


async def test_an_undo_goes_to_a_checkpoint(thread: Historian) -> None:
    await thread.do(writes("/a", "1"))
    first = (await thread.call("changes"))[0].checkpoint
    await thread.do(writes("/a", "2"), writes("/b", "2"))
    await thread.do(deletes("/a"))
    assert await thread.call("undo", to=first) == ["/a", "/b"]
    assert await thread.changed() == {"/a": "1"}
    assert await thread.call("undo", to=first) == []


async def test_discarded_changes_can_be_brought_back(thread: Historian) -> None:
    await thread.do(edits("/repo/src/a.py", "two", "2"), deletes("/repo/raw"), writes("/a", "1"))
    assert await thread.call("discard", ["/repo/src"]) == ["/repo/src/a.py"]
    assert await thread.call("discard") == ["/repo/raw"]
    assert await thread.changed() == {"/a": "1"}  # this one does not wait
    assert await thread.call("undo", 2) == ["/repo/raw", "/repo/src/a.py"]
    assert await thread.changed() == {"/a": "1", "/repo/src/a.py": "one\n2\nthree\n"}


async def test_what_was_applied_is_listed_but_not_undone(thread: Historian) -> None:
    await thread.do(writes("/repo/new", "1\n"), writes("/repo/raw", "text\n"), writes("/a", "1"))
    await thread.do(edits("/repo/src/a.py", "two", "2"), edits("/repo/src/b.py", "b", "B"))
    before = await thread.call("changes")
    assert [(one.path, one.kind) for one in before] == [
        *(("/a", "added"), ("/repo/new", "added"), ("/repo/raw", "changed")),
        *(("/repo/src/a.py", "changed"), ("/repo/src/b.py", "changed")),
    ]
    applied = await thread.call("apply", paths=["/repo/new", "/repo/raw", "/repo/src/a.py"])
    assert applied.applied == ["/repo/new", "/repo/raw", "/repo/src/a.py"]
    after = await thread.call("changes")
    assert [(one.step, one.call, one.path, one.kind) for one in after] == [
        (one.step, one.call, one.path, one.kind) for one in before
    ]
    await thread.do(edits("/repo/src/a.py", "2", "3"))
    assert await thread.call("undo", 2) == ["/repo/src/a.py", "/repo/src/b.py"]
    assert (await thread.values())["overlay"] == {}
    assert (thread.lower / "src/a.py").read_text() == "one\n2\nthree\n"
    assert await thread.call("undo", 100) == ["/a"]
    authors = [one.node for one in (await thread.call("changes"))[len(after) :]]
    assert authors == ["edit_file", "undo", "undo", "undo"]


async def test_what_is_applied_between_steps_is_passed_over(thread: Historian) -> None:
    await thread.do(writes("/repo/new", "1\n"))
    await thread.call("apply")
    assert await thread.call("undo") == []
    await thread.do(edits("/repo/new", "1", "2"))
    await thread.call("discard")
    assert [one.node for one in await thread.call("changes")] == [
        *("write_file", "edit_file", "discard")
    ]
    assert await thread.call("undo", 2) == []  # as it is after the edit and the discard
    assert await thread.call("undo") == ["/repo/new"]
    assert await thread.changed() == {"/repo/new": "2\n"}


async def test_steps_are_listed_as_they_were_when_a_later_one_is_applied(thread: Historian) -> None:
    await thread.do(writes("/repo/new", "1\n"), deletes("/repo/raw"))
    await thread.do(deletes("/repo/new"), edits("/repo/src/a.py", "two", "2"))
    for _ in range(4):
        await thread.call("undo")
    before = await thread.call("changes")
    assert [one.kind for one in before] == [
        *("added", "deleted", "deleted", "changed"),
        *("added", "changed", "deleted", "changed", "added", "changed", "deleted", "changed"),
    ]
    await thread.call("apply")
    after = await thread.call("changes")
    assert [(one.path, one.kind) for one in after] == [(one.path, one.kind) for one in before]


async def test_what_was_gone_before_all_was_applied_stays_gone(thread: Historian) -> None:
    await thread.do(writes("/repo/scratch", "1"), writes("/repo/old", "2"), writes("/a", "1"))
    await thread.do(deletes("/repo/scratch"), moves("/repo/old", "/repo/new"), writes("/a", "2"))
    assert (await thread.call("apply")).applied == ["/repo/new"]
    assert await thread.call("undo") == ["/a"]
    assert await thread.changed() == {"/a": "1"}


async def test_after_an_undo_the_agent_has_to_read_a_file_again(thread: Historian) -> None:
    strict = obedient(
        {"/repo": OverlayBackend(FilesystemBackend(thread.lower))},
        thread.agent.checkpointer,
        read_before_edit=True,
    )
    thread.agent = strict
    await thread.do(writes("/repo/new", "1\n"))
    await thread.do(edits("/repo/new", "1", "2"))
    await thread.call("undo")
    await thread.do(edits("/repo/new", "1", "3"))
    assert "has changed since" in (await thread.values())["messages"][-2].text


async def test_what_has_no_history_is_said(thread: Historian, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="needs a thread"):
        await thread.call("diff", config={})
    with pytest.raises(ValueError, match="has no state"):
        await thread.call("changes", config={"configurable": {"thread_id": "none"}})
    await thread.do(writes("/a", "1"))
    with pytest.raises(ValueError, match="has no checkpoint"):
        await thread.call("undo", to="1f000000-0000-6000-8000-000000000000")
    with pytest.raises(ValueError, match="/a is in no overlay"):
        await thread.call("discard", ["/a"])
    with pytest.raises(ValueError, match="must be a list"):
        await thread.call("discard", "/repo")
    with pytest.raises(ValueError, match="at least 1"):
        await thread.call("undo", 0)
    direct = {"/": FilesystemBackend(tmp_path), "/own": StateBackend()}
    thread.agent = obedient(direct, thread.agent.checkpointer)
    with pytest.raises(ValueError, match="/x is in a mount that is written directly"):
        await thread.call("undo", paths=["/x"])
    thread.agent = obedient({"/": FilesystemBackend(tmp_path)}, thread.agent.checkpointer)
    with pytest.raises(ValueError, match="All mounts of the graph are in a mount that is written"):
        await thread.call("diff")
