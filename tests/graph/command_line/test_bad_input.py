"""What goes wrong is one sentence and an exit code, and nothing is lost."""

import ctypes
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.graph.command_line.project import TASK, Project

_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE = 24, 1
GONE = "1f0c0000-0000-6000-8000-000000000000"


@pytest.mark.parametrize(
    ("args", "code", "sentence"),
    [
        (["status", "--db", "{tmp}/none.db"], 1, "There is no database {tmp}/none.db"),
        (["run", "ls /", "--db", "{tmp}/no/t.db"], 1, "There is no directory {tmp}/no"),
        (["status", "--db", "{tmp}/project/README.md"], 1, "is not a SQLite database"),
        (["status", "--db", "{tmp}/empty.db"], 1, "has no threads of agents"),
        (["run", "ls /", "--db", "/proc/threads.db"], 1, "can't be opened"),
        (["status", "--db", "postgres://127.0.0.1:1/none"], 1, "Connection refused"),
        (["status", "--thread", "none"], 1, "There is no thread none"),
        (["undo", "--to", "999"], 1, "has no step 999"),
        (["undo", "--to", GONE], 1, f"has no checkpoint {GONE}"),
        (["diff", "--since", GONE], 1, f"has no checkpoint {GONE}"),
        (["apply", "../outside.txt"], 1, "is outside of"),
        (["apply", "/memories/a.md"], 1, "is in no overlay"),
        (["discard", "src"], 1, "Nothing to discard at src"),
        (["diff", "src"], 1, "No changes at src"),
        (["run", "ls /", "--model", "openai:gpt-5"], 1, "OPENAI_API_KEY"),
        (["run", "ls /", "--model", "none:such"], 1, "The model none:such can't be used"),
        (["run", "ls /", "--subagents", "README.md"], 1, "as a list of subagents"),
        (["run", "ls /", "--skills", "../skills"], 1, "is outside of"),
        (["chat", "--direct"], 1, "lgfs run --direct"),
        (["cat", "none.txt"], 1, "The agent sees no none.txt"),
        (["cat", "src"], 1, "is a directory"),
        (["tree", "/memories/none"], 1, "The agent sees no /memories/none"),
        (["tree", "README.md"], 1, "README.md is a file"),
        (["fork", "--at", GONE], 1, "has no checkpoint"),
        (["compare", "none", "other"], 1, "There is no thread none"),
        (["export", "/proc/none"], 1, "No such file or directory"),
        (["serve", "--port", "99999"], 2, "Invalid value"),
        (["run"], 2, "Missing argument"),
        (["run", "ls /", "--approve", "some"], 2, "Invalid value"),
        (["undo", "--steps", "0"], 2, "Invalid value"),
        (["status", "--root", "{tmp}/none"], 2, "does not exist"),
        (["frobnicate"], 2, "No such command"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_an_error_is_a_sentence(
    project: Project,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    args: list[str],
    code: int,
    sentence: str,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    sqlite3.connect(tmp_path / "empty.db").close()
    project("run", "write_file /a.txt a")
    given = [arg.format(tmp=tmp_path) for arg in args]
    assert sentence.format(tmp=tmp_path) in project(*given, code=code)
    assert [row["path"] for row in project.rows("status")] == ["a.txt"]


def test_a_database_of_a_newer_version_is_left_alone(project: Project) -> None:
    project("run", "write_file /a.txt a")
    with closing(sqlite3.connect(project.database)) as connection:
        connection.execute("INSERT INTO store_migrations VALUES (99)")
        connection.commit()
    for command in (["status"], ["run", "ls /"], ["apply"]):
        assert "a newer version of LangGraph" in project(*command, code=1)
    assert not (project.root / "a.txt").exists()


def test_a_locked_database_is_named(project: Project) -> None:
    project("run", "write_file /a.txt a")
    with closing(sqlite3.connect(project.database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert "is locked by another program" in project("undo", code=1)
    assert len(project.rows("status")) == 1


def test_a_directory_that_is_gone_loses_no_change(project: Project, tmp_path: Path) -> None:
    (begun, *_) = project.rows("run", TASK)
    shutil.move(project.root, tmp_path / "elsewhere")
    os.chdir(tmp_path)
    project.root.with_name("other").mkdir()
    options = ["--root", str(tmp_path / "other"), "--db", str(project.database)]
    lgfs = [sys.executable, "-m", "langgraph_filesystem"]
    said = subprocess.run(
        [*lgfs, "apply", *options, "--thread", begun["thread"]],
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 1
    assert "is gone" in said.stderr
    shutil.move(tmp_path / "elsewhere", project.root)
    project("apply")
    assert project.files()["notes.txt"] == "one\ntwo\n"


def test_a_file_that_can_not_be_written_stays_in_the_thread(project: Project) -> None:
    big = "x" * 60_000
    project("run", "-", stdin=f"write_file /big.txt {big}\nwrite_file /small.txt s")
    # As on a disk that is full: the system refuses to let the file grow.
    script = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "from langgraph_filesystem.command_line import main\n"
        "import langgraph_filesystem.command_line.changes, langgraph_filesystem.history as h\n"
        "apply = h.apply\n"
        "def limited(*args, **options):\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, resource.RLIM_INFINITY))\n"
        "    try:\n"
        "        return apply(*args, **options)\n"
        "    finally:\n"
        "        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)\n"
        "h.apply = limited\n"
        "sys.exit(main())\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", script, "apply", "--db", str(project.database)],
        cwd=project.root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 1
    assert "failed    big.txt" in said.stdout
    assert "applied   small.txt" in said.stdout
    project("apply")
    assert project.files()["big.txt"] == big
    assert project.files()["small.txt"] == "s"


def test_a_directory_that_can_not_be_written_loses_no_change(project: Project) -> None:
    project("run", TASK)
    for place in (project.root, project.root / "src"):
        place.chmod(0o555)
    said = subprocess.run(
        [sys.executable, "-m", "langgraph_filesystem", "apply", "--db", str(project.database)],
        cwd=project.root,
        capture_output=True,
        text=True,
        check=False,
        # Root is refused as others are without CAP_DAC_OVERRIDE; others don't have it to drop.
        preexec_fn=lambda: ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE),
    )
    for place in (project.root, project.root / "src"):
        place.chmod(0o755)
    assert said.returncode == 1, said.stderr
    assert "failed    README.md: permission denied" in said.stdout
    assert not said.stderr
    assert len(project.rows("status")) == 3
    project("apply")
    assert project.files()["notes.txt"] == "one\ntwo\n"


def test_an_unexpected_error_is_a_sentence_too(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project("run", "write_file /a.txt a")
    with closing(sqlite3.connect(project.database)) as connection:
        connection.execute("UPDATE store SET value = '{}'")
        connection.commit()
    told = project("threads", "--all", code=1)
    assert "Something unexpected went wrong: TypeError" in told
    assert "Traceback" not in told
    monkeypatch.setenv("LANGGRAPH_FILESYSTEM_DEBUG", "1")
    with pytest.raises(TypeError):
        project("threads", "--all")


def test_without_the_extra_the_command_says_how_to_install_it() -> None:
    for missing in ("click", "rich"):
        script = (
            f"import sys; sys.modules[{missing!r}] = None\n"
            "from langgraph_filesystem.command_line import main; sys.exit(main())"
        )
        said = subprocess.run(
            [sys.executable, "-c", script, "status"], capture_output=True, text=True, check=False
        )
        assert said.returncode == 1
        assert "pip install 'langgraph-filesystem[cli]'" in said.stderr
