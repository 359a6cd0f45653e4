"""The commands: an agent changes a directory, and a person looks, takes back and applies."""

import json
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from langgraph_filesystem.command_line.main import cli
from tests import databases
from tests.graph.command_line.project import CODE, README, TASK, Project

BEFORE = {"README.md": README, "src/answer.py": CODE}
AFTER = {
    "README.md": README.replace("teh", "the"),
    "src/answer.py": CODE.replace("41", "42"),
    "notes.txt": "one\ntwo\n",
}
CHANGED = [
    {"path": "README.md", "kind": "changed", "added": 1, "removed": 1},
    {"path": "notes.txt", "kind": "added", "added": 2, "removed": 0},
    {"path": "src/answer.py", "kind": "changed", "added": 1, "removed": 1},
]


def test_changes_wait_until_they_are_applied(project: Project) -> None:
    told = project("run", TASK)
    for node in ("prepare", "model", "router", "read_file", "edit_file", "write_file", "evict"):
        assert f"\n{node} " in told
    assert "-41\n+42\n" in told
    assert "3 changed files" in told
    assert "lgfs apply" in told
    assert project.files() == BEFORE
    assert "M README.md  +1 -1\n  A notes.txt  +2\n  M src/answer.py" in project("status")
    assert "-It has teh code.\n+It has the code.\n" in project("diff")
    project("apply")
    assert project.files() == AFTER
    assert project.rows("status") == []
    assert "Nothing to apply" in project("apply")


def test_steps_are_logged_and_taken_back(project: Project) -> None:
    project("run", TASK)
    log = project.rows("log")
    assert [(row["node"], row["path"]) for row in log] == [
        ("edit_file", "/README.md"),
        ("write_file", "/notes.txt"),
        ("edit_file", "/src/answer.py"),
    ]
    assert project("undo") == "undone  src/answer.py\n"
    assert [row["path"] for row in project.rows("status")] == ["README.md", "notes.txt"]
    project("undo")
    assert project.rows("status") == CHANGED
    project("undo", "notes.txt")
    assert [row["path"] for row in project.rows("status")] == ["README.md", "src/answer.py"]
    project("undo", "--to", str(log[0]["step"]))
    assert [row["path"] for row in project.rows("status")] == ["README.md", "notes.txt"]
    shown = project("diff", "--since", str(log[0]["step"]), "--until", str(log[2]["step"]))
    assert "+    return 42" in shown
    assert "README" not in shown


def test_paths_choose_what_is_shown_applied_and_discarded(project: Project) -> None:
    project("run", TASK)
    assert "README" not in project("diff", "src")
    project("discard", "notes.txt")
    project("apply", str(project.root / "src"))
    assert project.files() == {**BEFORE, "src/answer.py": AFTER["src/answer.py"]}
    assert [row["path"] for row in project.rows("status")] == ["README.md"]
    project("undo")
    assert "notes.txt" not in project.files()


def test_a_conflict_is_shown_with_both_sides_and_left_alone(project: Project) -> None:
    project("run", TASK)
    (project.root / "src" / "answer.py").write_text("def answer():\n    return 43\n")
    told = project("apply", code=3)
    assert "conflict  src/answer.py" in told
    assert "-    return 43\n+    return 42\n" in told
    assert project.files()["src/answer.py"].endswith("43\n")
    assert project.files()["README.md"] == AFTER["README.md"]
    (row,) = project.rows("apply", code=3)
    assert (row["path"], row["result"]) == ("/src/answer.py", "conflict")
    assert "is now src/answer.py.theirs" in project("apply", "--force")
    assert project.files()["src/answer.py"] == AFTER["src/answer.py"]
    assert project.files()["src/answer.py.theirs"].endswith("43\n")


def test_run_begins_a_thread_and_the_others_take_the_newest(project: Project) -> None:
    (first, *_) = project.rows("run", "write_file /a.txt a")
    (second, *_) = project.rows("run", "write_file /b.txt b")
    assert first["thread"] != second["thread"]
    assert [row["path"] for row in project.rows("status")] == ["b.txt"]
    old = project.rows("status", "--thread", first["thread"])
    assert [row["path"] for row in old] == ["a.txt"]
    listed = [row["thread"] for row in project.rows("threads")]
    assert listed == [second["thread"], first["thread"]]
    project("run", "--thread", first["thread"], "write_file /c.txt c")
    assert [row["path"] for row in project.rows("status")] == ["a.txt", "c.txt"]
    project("run", "--thread", "mine", "ls /")
    assert project.rows("threads")[0]["thread"] == "mine"


def test_a_thread_goes_on_in_a_chat_with_the_settings_that_it_began_with(project: Project) -> None:
    project("run", "write_file /a.txt a", "--approve", "writes", code=4)
    told = project("chat", stdin="read_file /README.md\n", code=0)
    assert "# A project" in told
    (row,) = project.rows("threads")
    assert row["approve"] == "writes"


def test_each_directory_has_its_own_threads(project: Project, tmp_path: Path) -> None:
    project("run", "write_file /a.txt a")
    other = tmp_path / "other"
    other.mkdir()
    said = CliRunner().invoke(cli, ["status", "--root", str(other), "--db", str(project.database)])
    assert said.exit_code == 1
    assert "No agent has worked in" in said.output
    listed = project("threads", "--all")
    assert str(project.root) in listed


def test_memories_and_large_results_are_never_applied(project: Project) -> None:
    project("run", "write_file /memories/a.md kept")
    assert "moves 1 large message to files" in project("run", "# a comment\n" * 9_000)
    assert project.rows("status") == []
    assert "Nothing to apply" in project("apply")
    assert "kept" in project("run", "read_file /memories/a.md")


def test_direct_writes_at_once_and_has_no_history(project: Project) -> None:
    told = project("run", "--direct", "--approve", "none", "write_file /a.txt a")
    assert "writes to disk at once" in told
    assert (project.root / "a.txt").read_text() == "a"
    assert "version control" in project("status", code=1)


def test_commands_print_while_they_run_and_can_be_refused(project: Project) -> None:
    told = project("run", "--direct", "--approve", "none", "execute 'echo said; exit 3'")
    assert "execute     $ echo said; exit 3\n  said\n  [exit status 3]\n" in told
    told = project("run", "--direct", "--approve", "none", "--no-exec", "execute 'echo said'")
    assert "there is no command `execute`" in told


def test_direct_asks_about_writes(project: Project) -> None:
    told = project("run", "--direct", "write_file /a.txt a", code=4)
    assert "`write_file` creates /a.txt" in told
    assert "lgfs chat --thread" in told
    assert not (project.root / "a.txt").exists()


def test_scripts_read_one_object_a_line(project: Project) -> None:
    first, *nodes, end = project.rows("run", "write_file /a\u202eb.txt 'x\x1b[31m'")
    assert first == {
        "event": "thread",
        "thread": first["thread"],
        "directory": str(project.root),
        "model": "",
        "direct": False,
    }
    assert [row["node"] for row in nodes][:3] == ["prepare", "evict", "model"]
    (written,) = [row for row in nodes if row["node"] == "write_file"]
    assert written["messages"][0]["status"] == "success"
    row = {"path": "a\u202eb.txt", "kind": "added", "added": 1, "removed": 0}
    assert end == {"event": "end", "status": "done", "changes": [row]}
    *_, asked, waits, end = project.rows("run", "--approve", "all", "ls /", code=4)
    assert asked["event"] == "approval"
    assert asked["action_requests"][0]["name"] == "ls"
    assert (waits["event"], end["status"]) == ("waiting", "waiting")


def test_names_and_contents_can_not_act_on_the_terminal(project: Project) -> None:
    (project.root / "old\x1b[2J\n\u202e.txt").write_text("a\x1b]0;title\x07\n\u2066b\x9b2J\n")
    project("run", "write_file '/new\x1b[2J.txt' 'x\x1b[31m\r\u202ey'")
    project("run", "read_file '/old\x1b[2J\\n\u202e.txt'\n\nglob '*.txt'")
    for told in (
        project("run", "write_file '/new\x1b[2J.txt' 'x\x1b[31m\r\u202ey'"),
        *(project(name) for name in ("status", "diff", "log", "threads")),
        project("undo"),
        project("undo", "no\x1b[2Jsuch\u202e", code=1),
    ):
        assert not [c for c in told if c != "\n" and not c.isprintable()], ascii(told)
        assert "\u202e" not in told


def test_a_patch_has_the_bytes_as_they_are(project: Project) -> None:
    (project.root / "crlf.txt").write_bytes(b"one\r\ntwo\r\n")
    project("run", "read_file /crlf.txt\n\nedit_file /crlf.txt two three")
    patch = project.result("diff", "--patch").stdout_bytes
    assert b"+three\r\n" in patch
    subprocess.run(["git", "apply", "--check", "-"], cwd=project.root, input=patch, check=True)
    assert "+three\\r" in project("diff")


def test_memory_skills_and_subagents_are_set_up(project: Project) -> None:
    (project.root / "AGENTS.md").write_text("Be brief.\n")
    (project.root / "skills" / "greet").mkdir(parents=True)
    (project.root / "skills" / "greet" / "SKILL.md").write_text(
        "---\nname: greet\ndescription: Say hello.\n---\nHello.\n"
    )
    helpers = project.root / "helpers.toml"
    helpers.write_text('[[subagents]]\nname = "writer"\ndescription = "Writes."\n')
    task = 'task "write_file /by-helper.txt hi" writer'
    options = ("--memory", "AGENTS.md", "--skills", "skills", "--subagents", str(helpers))
    told = project("run", *options, task)
    assert "\n    write_file  Wrote /by-helper.txt" in told
    assert [row["path"] for row in project.rows("status")] == ["by-helper.txt"]
    (row,) = project.rows("threads")
    assert (row["memory"], row["skills"]) == (["/AGENTS.md"], ["/skills"])
    helpers.unlink()
    project("apply")
    assert (project.root / "by-helper.txt").read_text() == "hi"


def test_commands_that_only_look_write_nothing(project: Project) -> None:
    project("run", TASK)
    (project.root / "README.md").write_text("changed meanwhile\n")
    before = _dump(project.database)
    for name in ("status", "diff", "log", "threads", "doctor"):
        project(name)
    assert _dump(project.database) == before
    with closing(sqlite3.connect(project.database, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")  # as a run does that is under way
        assert len(project.rows("status")) == 3


def _dump(database: Path) -> list[str]:
    with closing(sqlite3.connect(database)) as connection:
        return list(connection.iterdump())


def test_threads_can_be_in_postgres(project: Project, tmp_path: Path) -> None:
    with databases.choose("postgres"):
        uri = databases.uri_of(tmp_path / "threads")
    project("run", TASK, "--db", uri)
    assert project.rows("status", "--db", uri) == CHANGED
    assert "src/answer.py" in project("undo", "--db", uri)
    project("apply", "--db", uri)
    assert project.files() == {**AFTER, "src/answer.py": CODE}


def test_doctor_says_what_works_and_what_to_do(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    checks = {row["name"]: row for row in project.rows("doctor")}
    assert checks["directory"]["state"] == "ok"
    assert checks["model"]["fix"].startswith("Set LANGGRAPH_FILESYSTEM_MODEL")
    assert "OPENAI_API_KEY" in checks["keys"]["found"]
    assert {"packages", "rg", "commands in a sandbox", "overlay of the kernel"} <= checks.keys()
    assert "secret" not in json.dumps(checks)
    assert "ok       directory" in project("doctor")
    broken = project.rows("doctor", "--db", "/proc/nowhere/threads.db", code=1)
    assert {row["name"] for row in broken if row["state"] == "broken"} == {"data directory"}
