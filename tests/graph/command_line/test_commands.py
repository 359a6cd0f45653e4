"""The commands: an agent changes a directory, and a person looks, takes back and applies."""

import json
import os
import shlex
import sqlite3
import subprocess
import sys
from contextlib import closing
from importlib import import_module
from inspect import signature
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
    for node in ("model", "read_file", "edit_file", "write_file"):
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
    assert "No changes at" in project("diff", "--since", str(log[0]["step"]), "README.md", code=1)


def test_paths_choose_what_is_shown_applied_and_discarded(project: Project) -> None:
    project("run", TASK)
    assert "README" not in project("diff", "src")
    project("discard", "notes.txt")
    project("apply", str(project.root / "src"))
    assert project.files() == {**BEFORE, "src/answer.py": AFTER["src/answer.py"]}
    assert [row["path"] for row in project.rows("status")] == ["README.md"]
    project("undo")
    assert "notes.txt" not in project.files()


def test_what_git_keeps_for_itself_is_one_line(project: Project) -> None:
    start = "git init -q; git config user.email a@b.c; git config user.name n"
    subprocess.run(["sh", "-ec", start], cwd=project.root, check=True)
    project("run", "execute 'echo new >new.txt; git add new.txt; git commit -qm one'")
    rows = [row["path"] for row in project.rows("status")]
    own = [path for path in rows if path.startswith(".git/")]
    assert {".git/HEAD", "new.txt"} & {*rows} == {"new.txt"}
    assert f"  A new.txt  +1\n  [{len(own)} files in .git: lgfs diff .git]\n" in project("status")
    assert f"+new\n[{len(own)} files in .git: lgfs diff .git]\n" in project("diff")
    assert "b/.git/index" in project("diff", ".git")


def test_an_undo_says_that_it_leaves_what_was_applied(project: Project) -> None:
    project("run", TASK)
    project("apply")
    assert "stay on disk" in project.result("undo", code=1).stderr
    assert project.files() == AFTER


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


def test_what_a_command_leaves_out_of_the_changes_is_said(project: Project) -> None:
    told = project("run", "execute 'mkdir build; echo out; echo o >build/o'")
    assert "  out\n  [left out of the changes, but there for the next command: /build/]\n" in told


def test_commands_print_while_they_run_and_can_be_refused(project: Project) -> None:
    told = project("run", "--direct", "--approve", "none", "execute 'echo said; exit 3'")
    assert "execute     $ echo said; exit 3\n  said\n  [exit status 3]\n" in told
    told = project("run", "--direct", "--approve", "none", "--no-exec", "execute 'echo said'")
    assert "there is no command `execute`" in told


def test_a_run_is_no_longer_than_a_person_can_follow(project: Project) -> None:
    (project.root / "big.txt").write_text("".join(f"line {n}\n" for n in range(500)))
    told = project(
        "run",
        "read_file /big.txt limit=400\nwrite_file /new.txt <<END\n"
        + "".join(f"new {n}\n" for n in range(300))
        + f"END\nwrite_file /long.txt {'x' * 50_000}\n\n"
        "execute 'seq 1 1000'\nexecute 'printf \"1 %%\\r100 %%\\n\"; seq 200 205'\n\n"
        "execute 'for n in $(seq 1 200); do echo $n > file$n; done'",
    )
    assert max(map(len, told.splitlines())) < 1_200
    assert len(told.splitlines()) < 200
    for nothing_new in ("nothing to do", "new 299", "line 399", "  500\n", "  1 %"):
        assert nothing_new not in told
    assert "  [381 more lines]\n" in told
    assert "+new 19\n  [280 more lines]\n" in told
    assert "  20\n  [...]\n  991\n" in told
    assert "  1000\nexecute     $ printf" in told
    assert "  100 %\n  200\n" in told
    assert told.count("  [exit status 0]\n") == 2
    assert "202 changed files" in told
    assert "  [152 more files]\n" in told
    assert len(project("status").splitlines()) == 204
    applied = project("apply")
    assert len(applied.splitlines()) == 51
    assert "[152 more files]" in applied
    assert (project.root / "file200").read_text() == "200\n"


def test_the_router_tells_what_has_to_wait(project: Project) -> None:
    told = project("run", "write_file /a.txt a\ngrep a /\nread_file /a.txt\nls /src")
    assert "router      2 of 4 calls now: write_file /a.txt, ls /src" in told
    assert "router      2 of 4 calls now: grep /, read_file /a.txt" in told


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
    project("chat", stdin="execute 'ln -s crlf.txt link; printf \"\\\\000\" >raw'\n")
    result = project.result("diff", "--patch", code=1)
    assert b"+three\r\n" in result.stdout_bytes
    assert "lacks the content of binary files: raw." in result.stderr


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
    for name in ("status", "diff", "log", "threads", "doctor", "tree", "stats", "draw"):
        project(name)
    assert _dump(project.database) == before
    with closing(sqlite3.connect(project.database, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")  # as a run does that is under way
        assert len(project.rows("status")) == 3


def _dump(database: Path) -> list[str]:
    with closing(sqlite3.connect(database)) as connection:
        return list(connection.iterdump())


def test_files_are_shown_and_exported_as_the_agent_sees_them(
    project: Project, tmp_path: Path
) -> None:
    (project.root / ".hidden").write_text("h")
    (project.root / "link").symlink_to("README.md")
    project("run", f"{TASK}\ndelete /src\n\nwrite_file /src/new/b.py b")
    assert project("tree") == "README.md\nlink\nnotes.txt\nsrc/\n  new/\n    b.py\n"
    assert ".hidden" in project("tree", "--hidden")
    assert project.rows("tree", "src") == [
        {"path": "src/new", "directory": True},
        {"path": "src/new/b.py", "directory": False},
    ]
    assert project("cat", "README.md") == AFTER["README.md"]
    for name in ("cat", "tree"):
        assert "The agent sees no src/answer.py" in project(name, "src/answer.py", code=1)
    project("chat", stdin="write_file /memories/notes/a.md kept\n")
    assert "memories/\n  notes/\n    a.md\n" in project("tree")
    assert project("tree", "/memories") == "notes/\n  a.md\n"
    assert project("cat", "/memories/notes/a.md") == "kept"
    project("export", str(tmp_path / "copy"))
    copy = tmp_path / "copy"
    assert (copy / "README.md").read_text() == AFTER["README.md"]
    assert [path.name for path in (copy / "src").rglob("*")] == ["new", "b.py"]
    assert (copy / "link").is_symlink()
    assert project.files() == {**BEFORE, ".hidden": "h", "link": BEFORE["README.md"]}
    assert "is not an empty directory" in project("export", str(copy), code=1)
    assert "is inside of" in project("export", str(project.root / "x"), code=1)
    os.mkfifo(project.root / "pipe")
    told = project("export", str(tmp_path / "other"), code=1)
    assert "not copied  pipe: " in told
    assert (tmp_path / "other" / "README.md").read_text() == AFTER["README.md"]


def test_a_fork_goes_its_own_way_and_is_compared(project: Project) -> None:
    first = project.rows("run", TASK)[0]["thread"]
    step = project.rows("log")[0]["step"]
    (forked,) = project.rows("fork", "--at", str(step))
    assert forked["from"] == first
    assert [row["path"] for row in project.rows("status")] == ["README.md", "notes.txt"]
    project("chat", stdin="read_file /README.md\nedit_file /README.md code sources\n")
    told = project("compare", first, forked["thread"])
    assert "-It has the code.\n+It has the sources.\n" in told
    assert "-    return 42\n+    return 41\n" in told
    assert "the same files" in project("compare", first, first)
    assert project.rows("status", "--thread", first) == CHANGED
    project("apply")
    assert "sources" in project.files()["README.md"]


def test_a_thread_is_counted_and_its_graph_drawn(project: Project) -> None:
    project("run", "# a comment\n" * 9_000)
    project("chat", stdin="write_file /a.txt hi\n")
    (facts,) = project.rows("stats")
    assert facts["turns"] == 2
    assert facts["bytes"]["files"] > 100_000
    assert facts["tokens_saved_by_eviction"] > 20_000
    assert "model" in facts["seconds"]
    assert "turns: 2" in project("stats")
    assert "router -.-> write_file" in project("draw")
    assert "mermaid-cli" in project("draw", "--svg", "graph.svg", code=1)


def test_each_command_has_an_example_that_can_be_typed(project: Project) -> None:
    listed = CliRunner().invoke(cli, ["--help"]).output
    assert "..." not in listed.replace("[ARGS]...", "")
    for name, command in cli.commands.items():
        told = CliRunner().invoke(cli, [name, "--help"], prog_name="lgfs").output
        _, _, examples = told.partition("Example")
        typed = [line.strip() for line in examples.splitlines() if line.startswith("    lgfs ")]
        assert typed, name
        for line in typed:
            words = shlex.split(line.partition(" > ")[0])
            assert words[:2] == ["lgfs", name]
            command.make_context(name, words[2:])


def test_bash_completes_commands_and_threads(project: Project) -> None:
    project("run", "--thread", "my-thread", "ls /")
    script = """
    eval "$(_LGFS_COMPLETE=bash_source lgfs)"
    COMP_WORDS=(lgfs di) COMP_CWORD=1; _lgfs_completion lgfs; echo "${COMPREPLY[@]}"
    COMPREPLY=()
    COMP_WORDS=(lgfs diff --thread my) COMP_CWORD=3; _lgfs_completion lgfs; echo "${COMPREPLY[@]}"
    """
    places = [str(Path(sys.executable).parent), os.environ["PATH"]]
    known = {"PATH": ":".join(places), "LANGGRAPH_FILESYSTEM_DB": str(project.database)}
    said = subprocess.run(
        ["bash", "-c", script], env=os.environ | known, capture_output=True, text=True, check=True
    )
    assert said.stdout.splitlines() == ["diff discard", "my-thread"], said.stderr


def test_threads_can_be_in_postgres(project: Project, tmp_path: Path) -> None:
    with databases.choose("postgres"):
        uri = databases.uri_of(tmp_path / "threads")
    project("run", TASK, "--db", uri)
    assert project.rows("status", "--db", uri) == CHANGED
    assert "src/answer.py" in project("undo", "--db", uri)
    for looking in ("diff", "log", "threads", "tree", "stats", "draw", "doctor"):
        project(looking, "--db", uri)
    project("fork", "--db", uri)
    project("apply", "--db", uri)
    assert project.files() == {**AFTER, "src/answer.py": CODE}


@pytest.mark.parametrize("name", cli.commands)
def test_a_command_has_the_options_that_its_function_takes(name: str) -> None:
    command = cli.commands[name]
    modules = ("run", "changes", "threads", "serve", "doctor")
    rooms = [import_module(f"langgraph_filesystem.command_line.{one}") for one in modules]
    [function] = {f for room in rooms if callable(f := getattr(room, name, None))}
    shared = {"db", "root", "thread", "as_json"}
    own = {str(one.name): None for one in command.params if one.name not in shared}
    signature(function).bind(None, **own)


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
