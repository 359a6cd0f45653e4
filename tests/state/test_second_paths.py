"""A path that a command printed leads to the mount, and nowhere else."""

from pathlib import Path
from typing import Any

import pytest
from deepagents.backends import LocalShellBackend as TheirShell
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_filesystem import (
    CompositeBackend,
    LocalShellBackend,
    StateBackend,
    create_filesystem_agent,
)
from langgraph_filesystem.state.second_paths import meanings
from langgraph_filesystem.state.workspace.mounts import Mounts
from tests.nodes.backends import Broken, Shelf
from tests.scripted import ScriptedModel, answers, arun, call, run, says


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "repo"
    (root / "src").mkdir(parents=True)
    (root / "src/a.py").write_text("x = 1\n")
    return root


def read(path: object) -> dict[str, Any]:
    return call("read_file", file_path=str(path))


def execute(command: str = "pwd") -> dict[str, Any]:
    return call("execute", command=command)


def texts(*calls: Any, **options: Any) -> list[str]:
    return [reply.text for reply in answers(run(*calls, **options))]


KINDS: dict[str, Any] = {
    "ours": lambda root: {"/project": LocalShellBackend(root)},
    "theirs": lambda root: {"/project": TheirShell(root_dir=root, virtual_mode=True)},
    "composite": lambda root: CompositeBackend(Shelf(), {"/project": LocalShellBackend(root)}),
    "inside": lambda root: {
        "/": CompositeBackend(StateBackend(), {"/project": LocalShellBackend(root)})
    },
    "factory": lambda root: {"/project": lambda runtime: LocalShellBackend(root)},
    "made": lambda root: {
        "/": lambda runtime: CompositeBackend(StateBackend(), {"/project": LocalShellBackend(root)})
    },
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_every_operation_takes_a_path_that_a_command_printed(
    kind: str, mode: str, root: Path
) -> None:
    turns = [
        execute('printf %s "$PWD/src/a.py"'),
        read(root / "src/a.py"),
        call("edit_file", file_path="/project/src/a.py", old_string="1", new_string="2"),
        call("edit_file", file_path=f"{root}/src/a.py", old_string="2", new_string="3"),
        call("write_file", file_path=f"{root}/new.txt", content="x\n"),
        call("ls", path=str(root)),
        call("glob", pattern="*.py", path=str(root)),
        call("grep", pattern="x", path=f"{root}/src", output_mode="content"),
        call("move", source=f"{root}/new.txt", destination=f"{root}/src/old.txt"),
        call("delete", file_path=f"{root}/src/old.txt"),
        read(f"{root}/src/old.txt"),
    ]
    options: Any = {"mounts": KINDS[kind](root)}
    state = await arun(*turns, **options) if mode == "async" else run(*turns, **options)
    replies = answers(state)
    assert [reply.status for reply in replies] == ["success"] * 10 + ["error"], replies[:-1]
    said = [reply.text for reply in replies]
    assert said[0].startswith(f"{root}/src/a.py")
    assert said[1].startswith("     1\tx = 1\n")
    assert said[5] == "/project/new.txt\n/project/src/"
    assert said[6] == "/project/src/a.py"
    assert said[7] == "/project/src/a.py:1:x = 3"
    assert "/project/src/old.txt" in said[10]
    assert str(root) not in said[10]
    assert (root / "src/a.py").read_text() == "x = 3\n"
    assert sorted(path.name for path in (root / "src").iterdir()) == ["a.py"]


def test_at_the_root_both_spellings_are_the_same_file(root: Path) -> None:
    edit = call("edit_file", file_path="/src/a.py", old_string="1", new_string="2")
    said = texts(read(root / "src/a.py"), edit, mounts={"/": LocalShellBackend(root)})
    assert said[1] == "Edited /src/a.py in 1 place."


def test_what_really_is_at_the_path_goes_first(root: Path) -> None:
    mounts = {"/project": LocalShellBackend(root)}
    files = {f"{root}/mine.md": "in the thread"}
    said = texts(read(root / "mine.md"), read(root / "src/a.py"), mounts=mounts, files=files)
    assert said[0].startswith("     1\tin the thread")
    assert said[1].startswith(f"Error: {root}/src/a.py: no such file")


def test_a_mount_at_the_path_goes_first(root: Path) -> None:
    mounts = {"/project": LocalShellBackend(root), f"{root}/src": Shelf(mine="m")}
    said = texts(
        read(root / "src/mine"),
        read(root / "src/a.py"),
        call("ls", path=str(root)),
        call("write_file", file_path=f"{root}/b.py", content=""),
        mounts=mounts,
    )
    assert said[0].startswith("     1\tm")
    assert said[1].startswith("Error: ")
    assert said[2] == f"{root}/src/"
    assert (root / "b.py").exists()


def test_what_another_mount_hides_stays_hidden(root: Path) -> None:
    mounts = {
        "/project": LocalShellBackend(root),
        "/project/src": Shelf(**{"a.py": "of the shelf"}),
    }
    [said] = texts(read(root / "src/a.py"), mounts=mounts)
    assert said.startswith("Error: ")


@pytest.mark.parametrize("below", ["../secret", "src/../../secret", "link/secret", "out"])
def test_it_is_no_way_out_of_the_root(below: str, root: Path) -> None:
    (root.parent / "secret").write_text("secret")
    (root / "link").symlink_to(root.parent)
    (root / "out").symlink_to(root.parent / "secret")
    [reply] = answers(run(read(f"{root}/{below}"), mounts={"/project": LocalShellBackend(root)}))
    assert reply.status == "error"
    assert "secret" not in reply.text.replace("/secret", "")


def test_a_neighbour_of_the_root_is_not_meant(root: Path) -> None:
    (root.parent / "repo2").mkdir()
    (root.parent / "repo2/a").write_text("x")
    mounts = {"/project": LocalShellBackend(root)}
    said = texts(read(f"{root}2/a"), read(root.parent / "repo2/a"), mounts=mounts)
    assert all(text.startswith("Error: ") for text in said)


def test_the_longest_path_wins(root: Path) -> None:
    mounts = Mounts({"/all": LocalShellBackend(root), "/src": LocalShellBackend(root / "src")})
    assert set(meanings(mounts, f"{root}/src/a.py")) == {
        *(f"{root}/src/a.py", "/all/src/a.py", "/src/a.py")
    }
    [said] = texts(
        call("ls", path=f"{root}/src"),
        mounts={"/all": LocalShellBackend(root), "/s": LocalShellBackend(root / "src")},
    )
    assert said == "/s/a.py"


def test_the_mount_itself_is_not_deleted_by_another_name(root: Path) -> None:
    mounts = {"/project": LocalShellBackend(root)}
    [said] = texts(call("delete", file_path=str(root)), mounts=mounts)
    assert said.startswith("Error: /project: is a mount point")
    assert (root / "src/a.py").exists()


def test_a_call_waits_for_a_command_that_comes_before_it(root: Path) -> None:
    command = execute("sleep 0.3; echo done > made.txt")
    said = texts([command, read(root / "made.txt")], mounts={"/project": LocalShellBackend(root)})
    assert said[1].startswith("     1\tdone\n")


def test_two_edits_under_two_names_are_made_in_their_order(root: Path) -> None:
    first = call("edit_file", file_path="/project/src/a.py", old_string="1", new_string="2")
    second = call("edit_file", file_path=f"{root}/src/a.py", old_string="2", new_string="3")
    state = run(
        read("/project/src/a.py"), [first, second], mounts={"/project": LocalShellBackend(root)}
    )
    assert [reply.status for reply in answers(state)] == ["success"] * 3
    assert (root / "src/a.py").read_text() == "x = 3\n"


def test_a_factory_that_fails_does_not_stand_in_the_way(root: Path) -> None:
    made: list[object] = []

    def factory(runtime: Any) -> Any:
        made.append(runtime)
        if len(made) > 2:
            raise OSError("no more")
        return LocalShellBackend(root)

    said = texts(execute(), read(root / "a"), read("/b"), mounts={"/project": factory})
    assert said[1:] == [
        f"Error: {path}: no such file or directory. Look for it with `ls` or `glob`."
        for path in (f"{root}/a", "/b")
    ]


def test_a_factory_that_was_not_called_in_this_process_is_called_for_it(root: Path) -> None:
    script = [says(call("write_file", file_path=f"{root}/new.txt", content="x"))]
    saver, thread = InMemorySaver(), {"configurable": {"thread_id": "1"}}

    def agent(**options: Any) -> Any:
        mounts = {"/project": lambda runtime: LocalShellBackend(root)}
        model = ScriptedModel(script)
        return create_filesystem_agent(model, mounts=mounts, checkpointer=saver, **options)

    agent(interrupt_after=["model"]).invoke({"messages": [HumanMessage("go")]}, thread)
    state = agent().invoke(None, thread)  # as another process would go on
    assert (root / "new.txt").read_text() == "x"
    assert not state.get("files")


def test_calls_under_two_names_keep_their_order_for_a_factory_too(root: Path) -> None:
    mounts = {"/project": lambda runtime: LocalShellBackend(root)}
    command = execute("sleep 0.3; echo done > made.txt")
    assert texts([command, read(root / "made.txt")], mounts=mounts)[1].startswith("     1\tdone")
    write = call("write_file", file_path="/project/f", content="one")
    edit = call("edit_file", file_path=f"{root}/f", old_string="one", new_string="two")
    assert texts([write, edit, read("/project/f")], mounts=mounts)[2].startswith("     1\ttwo")


def test_other_factories_are_not_called_for_it(root: Path) -> None:
    def factory(runtime: Any) -> Any:
        return Broken(AssertionError("was asked"))

    mounts = {"/project": LocalShellBackend(root), "/other": factory}
    assert texts(read(root / "src/a.py"), mounts=mounts)[0].startswith("     1\tx = 1")


def test_a_composite_alone_knows_them_too(root: Path) -> None:
    composite = CompositeBackend(Shelf(), {"/project": LocalShellBackend(root)})
    path = f"{root}/src/a.py"
    assert composite.read(path).file_data is not None
    assert [found.content for found in composite.download_files([path])] == [b"x = 1\n"]
    assert [sent.error for sent in composite.upload_files([(f"{root}/b", b"b")])] == [None]
    assert (root / "b").read_bytes() == b"b"
    assert composite.edit(path, "1", "2").error is None
    assert [entry["path"] for entry in composite.ls(str(root)).entries or ()] == [
        *("/project/b", "/project/src")
    ]
