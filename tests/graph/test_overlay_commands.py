"""Commands over an overlay: the directory is untouched, the thread has the changes."""

import asyncio
import os
import random
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_filesystem import (
    CommandModel,
    FilesystemBackend,
    FilesystemPermission,
    LocalShellBackend,
    OverlayBackend,
    SandboxBackend,
    StateBackend,
    create_filesystem_agent,
    history,
    overlay_support,
    read_only,
)
from tests import forked
from tests.databases import open_database
from tests.graph.history.obedient import deletes, obedient, told, writes
from tests.graph.runs import THREAD, Runs, contents, opened_runs
from tests.scripted import answers, call

REPOSITORY = """
git init -q -b main . && git config user.email a@b.c && git config user.name n
mkdir -p src/pkg && for i in $(seq 50); do echo "x = $i" >src/f$i.py; done
echo old >src/pkg/m.py && printf '*.log\\nbuild/\\n__pycache__/\\n' >.gitignore
git add -A && git commit -qm one
git switch -qc other && echo other >other && git rm -rq src/pkg && git add -A && git commit -qm two
git switch -q main
"""


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep layers apart from those of the user."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture
def repository(root: Path) -> Path:
    subprocess.run(["sh", "-ec", REPOSITORY], cwd=root, check=True, capture_output=True)
    return root


@pytest.fixture(params=["sync", "async"])
async def runs(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    async with opened_runs(tmp_path / "agent.db", request.param == "async") as opened:
        yield opened


def snapshot(root: Path, *, times: bool = True) -> dict[str, Any]:
    """Return every entry of a tree: its mode and time, and its content or target."""
    found = {}
    for path in [root, *sorted(root.rglob("*"))]:
        status = path.lstat()
        content: Any = os.readlink(path) if path.is_symlink() else None
        if stat.S_ISREG(status.st_mode):
            content = path.read_bytes()
        mode = None if path.is_symlink() else stat.S_IMODE(status.st_mode)
        modified = status.st_mtime_ns if times else None
        found[str(path.relative_to(root))] = (mode, modified, content)
    return found


def over(root: Path, **options: Any) -> Any:
    return {"/": OverlayBackend(SandboxBackend(root), **options)}


def executes(command: str) -> dict[str, Any]:
    return told(call("execute", command=command))


def say(agent: Any, command: str, config: Any = THREAD) -> str:
    """Run a command and return the answer."""
    return str(answers(agent.invoke(executes(command), config))[-1].text)


def overlay_of(agent: Any, config: Any = THREAD) -> dict[str, Any]:
    found: dict[str, Any] = agent.get_state(config).values.get("overlay", {})
    return found


async def test_work_on_a_repository_stays_in_the_thread(runs: Runs, repository: Path) -> None:
    before = snapshot(repository)
    agent = obedient(over(repository), runs.checkpointer)

    async def said(command: str) -> str:
        return str(answers(await runs.invoke(agent, executes(command)))[-1].text)

    assert await said("sed -i s/x/yy/ src/f*.py; cat src/f1.py") == "yy = 1\n[exit status 0]"
    values = (await runs.state(agent)).values
    assert len([path for path in values["files"] if path.startswith("/src/")]) == 50
    assert await said("cat src/f2.py; git commit -qam wip; git log --format=%s") == (
        "yy = 2\nwip\none\n[exit status 0]"
    )
    assert await said(
        "mv src lib; ls; git add -A; git commit -qm moved; git switch -q other; ls"
    ) == ("lib\nother\nsrc\n[exit status 0]")
    assert await said("git switch -q main; ls; git status --short; cat lib/f3.py") == (
        "lib\nyy = 3\n[exit status 0]"
    )
    assert await said("rm -rf * .git .gitignore; ls -A") == "[exit status 0, no output]"
    values = (await runs.state(agent)).values
    assert (values.get("files"), len(values["overlay"])) == ({}, 3)
    assert snapshot(repository) == before
    if not runs.awaited:
        history.undo(agent, THREAD)
        result = history.apply(agent, THREAD)
        assert (result.conflicts, result.failed) == ([], {})
        assert sorted(os.listdir(repository)) == [".git", ".gitignore", "lib"]
        log = ["git", "log", "--format=%s"]
        done = subprocess.run(log, cwd=repository, check=True, capture_output=True, text=True)
        assert done.stdout == "moved\nwip\none\n"
        assert (repository / "lib/f1.py").read_text() == "yy = 1\n"


def test_all_undone_shows_the_directory_as_it_is(repository: Path) -> None:
    agent = obedient(over(repository), InMemorySaver())
    listed = say(agent, "find . -type f | sort | xargs sha256sum; find . -printf '%p %m\\n' | sort")
    say(agent, "rm -rf src; chmod 755 .gitignore; ln -s nowhere link; mkdir -p new/deep")
    assert len(overlay_of(agent)) == 5
    history.undo(agent, THREAD)
    assert overlay_of(agent) == {}
    again = say(agent, "find . -type f | sort | xargs sha256sum; find . -printf '%p %m\\n' | sort")
    assert again == listed


def test_modes_links_binary_files_and_directories_are_applied(root: Path) -> None:
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "kept").write_text("kept\n")
    (root / "d").mkdir()
    (root / "d/old").write_text("old\n")
    agent = obedient(over(root), InMemorySaver())
    say(
        agent, "chmod 750 run.sh; ln -s run.sh link; printf '\\377\\000' >bytes; mkdir -m 700 empty"
    )
    say(agent, "rm -r d; mkdir d; echo new >d/new; rm -f kept; ln -s d kept; touch run.sh")
    assert history.apply(agent, THREAD).failed == {}
    found = {path: (mode, what) for path, (mode, _, what) in snapshot(root).items() if path != "."}
    assert found == {
        "run.sh": (0o750, b"#!/bin/sh\n"),
        "link": (None, "run.sh"),
        "kept": (None, "d"),
        "bytes": (0o644, b"\xff\x00"),
        "empty": (0o700, None),
        "d": (0o755, None),
        "d/new": (0o644, b"new\n"),
    }


def test_locked_files_and_directories_stay_locked(root: Path) -> None:
    (root / "closed").mkdir(0o555)
    agent = obedient(over(root, scratch=["*.tmp"]), InMemorySaver())
    say(agent, "mkdir d; echo x >d/f; mkdir d/s.tmp; echo y >d/s.tmp/z; chmod 0 d/f d/s.tmp d")
    agent.invoke(told(writes("/closed/a", "a\n")), THREAD)
    assert say(agent, "stat -c %a closed d; chmod 700 d; stat -c %a d/f d/s.tmp") == (
        "555\n0\n0\n0\n[exit status 0]"
    )
    answer = say(agent, "chmod 755 closed; chmod 600 d/f; rm -rf d/s.tmp")
    assert "not kept, because an overlay keeps no modes of directories below it: /closed" in answer
    found = overlay_of(agent)
    assert (found["/d"]["mode"], found["/d/f"]["mode"]) == (0o700, 0o600)


def test_names_and_files_that_a_thread_cant_hold_stay_aside(root: Path) -> None:
    agent = obedient(over(root), InMemorySaver())
    command = "printf x >$(printf 'b\\377'); mkfifo pipe; ln -s $(printf 'b\\377') link"
    assert "next command: /b\\u{dcff}, /link, /pipe]" in say(agent, command)
    assert overlay_of(agent) == {}
    assert say(agent, "cat link; ls | wc -l") == "x3\n[exit status 0]"
    (root / os.fsdecode(b"below\xff")).write_text("below\n")
    assert "next command: /below\\u{dcff}]" in say(agent, "rm below*")


def test_what_a_command_only_touches_is_no_change(root: Path) -> None:
    (root / "a").write_text("a\n")
    (root / "b").write_text("b\n")
    agent = obedient(over(root), InMemorySaver())
    say(agent, "touch a; : >>b; chmod 600 b; chmod 644 b; cat a >/dev/null")
    assert (overlay_of(agent), agent.get_state(THREAD).values.get("files", {})) == ({}, {})


def test_operations_and_commands_see_each_others_changes(root: Path) -> None:
    (root / "d").mkdir()
    (root / "d/a").write_text("one\n")
    agent = obedient(over(root), InMemorySaver())
    looks = call("execute", command="cat d/new/b; ls d")
    state = agent.invoke(told(writes("/d/new/b", "two\n"), deletes("/d/a"), looks), THREAD)
    assert answers(state)[-1].text == "two\nnew\n[exit status 0]"
    say(agent, "rm -r d/new; mkdir d/a; echo three >d/a/c")
    state = agent.invoke(told(call("glob", pattern="**"), call("ls", path="/d")), THREAD)
    assert [message.text for message in answers(state)[-2:]] == ["/d/a/c", "/d/a/"]


COMMANDS = (
    "mkdir -p {p}; echo {n} >{p}/{n}",
    "echo {n} >>{f}",
    "rm -rf {p}",
    "rm -f {f}",
    "mv {p} {q} 2>/dev/null",
    "rm -rf {q}; cp -a {p} {q}",
    "rm -rf {p}; mkdir -p {p}; echo {n} >{p}/again",
    "rm -rf {f}; mkdir {f}; echo {n} >{f}/file",
    "rm -rf {p}; echo {n} >{p}",
    "rm -rf {f}; ln -s {p} {f}",
    "test -f {f} && test ! -L {f} && chmod 7{m} {f}",
    "printf '\\376\\{m}' >{f}",
    "sed -i s/1/22/ {f}",
    "mv {f} {p}/ 2>/dev/null",
)


def random_command(choose: random.Random) -> str:
    places = ["a", "b", "c/d", "c", "e/f/g"]
    place = choose.choice(places)
    values = {
        "p": place,
        # `cp` copies a directory into itself in the order of inodes, up to the copy.
        "q": choose.choice([one for one in places if not f"{one}/".startswith(f"{place}/")]),
        "f": choose.choice(["x", "y", "a/x", "c/y"]),
        "n": choose.randrange(100),
        "m": choose.choice(["00", "55", "11"]),
    }
    return choose.choice(COMMANDS).format(**values)


@pytest.mark.parametrize("seed", range(6))
def test_random_commands_do_what_they_do_on_a_real_directory(seed: int, tmp_path: Path) -> None:
    compare_with_a_real_directory(tmp_path, seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(6, 300))
def test_hundreds_of_commands_do_what_they_do_on_a_real_directory(
    seed: int, tmp_path: Path
) -> None:
    compare_with_a_real_directory(tmp_path, seed)


def compare_with_a_real_directory(tmp_path: Path, seed: int) -> None:
    choose = random.Random(seed)
    real, root = tmp_path / "real", tmp_path / "root"
    real.mkdir()
    for path in ("a/x", "a/deep/z", "c/d/1", "c/y", "e/f/g/2", "x"):
        (real / path).parent.mkdir(parents=True, exist_ok=True)
        (real / path).write_text(f"{path} 1\n")
    shutil.copytree(real, root, symlinks=True)
    before = snapshot(root)
    agent = obedient(over(root, scratch=()), InMemorySaver())
    plain = SandboxBackend(real)
    for _ in range(8):
        command = "; ".join(random_command(choose) for _ in range(choose.randrange(1, 4)))
        listing = f"{command}; find . -printf '%P %y %l\\n' | sort"
        assert say(agent, listing).splitlines()[:-1] == (
            plain.execute(listing).output.splitlines()
        ), command
        assert snapshot(root) == before
    result = history.apply(agent, THREAD)
    assert (result.conflicts, result.failed) == ([], {})
    assert snapshot(root, times=False) == snapshot(real, times=False)


def test_scratch_stays_for_the_next_command_and_is_named(repository: Path) -> None:
    agent = obedient(over(repository), InMemorySaver())
    made = say(agent, "mkdir build; echo 1 >build/o; echo l >a.log; echo s >src/new.py")
    assert made == (
        "[left out of the changes, but there for the next command: /a.log, /build/]\n"
        "[exit status 0]"
    )
    assert list(overlay_of(agent)) == ["/src/new.py"]
    assert say(agent, "cat build/o a.log src/new.py; echo 2 >build/p; rm a.log") == (
        "1\nl\ns\n[exit status 0]"
    )
    assert say(agent, "ls . build") == ".:\nbuild\nsrc\n\nbuild:\no\np\n[exit status 0]"
    assert history.apply(agent, THREAD).applied == ["/src/new.py"]
    assert sorted(os.listdir(repository)) == [".git", ".gitignore", "src"]
    assert say(agent, "cat build/o") == "1\n[exit status 0]"


def test_tracked_files_are_changes_even_if_git_ignores_their_names(repository: Path) -> None:
    subprocess.run("echo 1 >t.log; git add -f t.log", shell=True, cwd=repository, check=True)
    (repository / "u.log").write_text("1\n")
    agent = obedient(over(repository), InMemorySaver())
    assert "/u.log]" in say(agent, "echo 2 >t.log; echo 2 >u.log")
    assert list(overlay_of(agent)) == ["/t.log"]
    assert say(agent, "cat t.log u.log; rm t.log u.log; ls") == "2\n2\nsrc\n[exit status 0]"
    assert list(overlay_of(agent)) == ["/t.log"]
    assert say(agent, "ls") == "src\n[exit status 0]"


@pytest.mark.parametrize("scratch", [None, ["*.o", "cache/**"]])
def test_scratch_without_git_goes_by_names(scratch: Any, root: Path) -> None:
    agent = obedient(over(root, scratch=scratch), InMemorySaver())
    say(agent, "mkdir -p node_modules/x cache; touch node_modules/x/a.o b.o cache/c d")
    usual = ["/b.o", "/cache", "/cache/c", "/d"]
    given = ["/cache", "/d", "/node_modules", "/node_modules/x"]
    assert sorted(overlay_of(agent)) == (usual if scratch is None else given)
    assert say(agent, "find . -type f | sort") == (
        "./b.o\n./cache/c\n./d\n./node_modules/x/a.o\n[exit status 0]"
    )


def test_large_files_stay_aside_until_the_thread_changes_them(root: Path) -> None:
    (root / "small").write_text("small\n")
    agent = obedient(over(root, max_file_size_mb=0.01), InMemorySaver())
    answer = say(agent, "head -c 20000 /dev/zero >big; cp big small; echo x >new")
    assert "next command: /big, /small]" in answer
    assert list(overlay_of(agent)) == ["/new"]
    assert say(agent, "stat -c %s big small") == "20000\n20000\n[exit status 0]"
    agent.invoke(told(writes("/small", "ours\n")), THREAD)
    assert say(agent, "stat -c %s big; cat small; rm big; ls") == (
        "20000\nours\nnew\nsmall\n[exit status 0]"
    )


def test_branches_and_threads_never_see_files_of_another(root: Path) -> None:
    agent = obedient(over(root, scratch=["*.tmp"]), InMemorySaver())
    say(agent, "echo a >a; echo 1 >1.tmp")
    fork = agent.get_state(THREAD).config
    assert say(agent, "echo b >b; echo 2 >2.tmp; ls") == (
        "1.tmp\n2.tmp\na\nb\n[left out of the changes, but there for the next command: /2.tmp]\n"
        "[exit status 0]"
    )
    assert say(agent, "ls", fork) == "a\n[exit status 0]"  # its scratch went to the other branch
    assert say(agent, "ls", {"configurable": {"thread_id": "2"}}) == "[exit status 0, no output]"
    assert os.listdir(root) == []


def test_branches_can_run_side_by_side(root: Path) -> None:
    async def attempts() -> list[str]:
        agent = obedient(over(root, scratch=["*.tmp"]), InMemorySaver())
        await agent.ainvoke(executes("echo a >a; echo 1 >1.tmp"), THREAD)
        fork = (await agent.aget_state(THREAD)).config
        commands = [f"echo {number} >n; sleep 0.2; ls; cat n" for number in range(3)]
        states = await asyncio.gather(
            *(agent.ainvoke(executes(command), fork) for command in commands)
        )
        return [answers(state)[-1].text for state in states]

    found = asyncio.run(attempts())
    assert [text.removeprefix("1.tmp\n") for text in found] == [
        f"a\nn\n{number}\n[exit status 0]" for number in range(3)
    ]
    assert sum(text.startswith("1.tmp") for text in found) == 1
    assert os.listdir(root) == []


@pytest.mark.parametrize("moment", ["running", "ended"])
async def test_a_killed_command_is_never_run_again(
    moment: str, runs: Runs, root: Path, tmp_path: Path
) -> None:
    (root / "kept").write_text("kept\n")
    forked.output_of("tests.laws.killed_command", tmp_path / "agent.db", root, moment, code=-9)
    agent = obedient(over(root), runs.checkpointer)
    state = await runs.invoke(agent, None)
    answer = answers(state)[-1]
    if moment == "ended":
        assert (answer.text, answer.status) == ("[exit status 0, no output]", "success")
        assert len(contents(state)["/out"].split()) == 1
    else:
        assert "was started before the run was interrupted" in answer.text
        assert (answer.status, state.get("files", {})) == ("error", {})
        state = await runs.invoke(agent, executes("echo again >out; ls"))
        assert answers(state)[-1].text == "kept\nout\n[exit status 0]"
    assert os.listdir(root) == ["kept"]


def test_a_cancelled_command_leaves_the_files_of_earlier_ones(root: Path) -> None:
    async def cancelled() -> str:
        agent = obedient(over(root, scratch=["*.tmp"]), InMemorySaver())
        await agent.ainvoke(executes("echo 1 >1.tmp"), THREAD)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await agent.ainvoke(executes("echo 2 >2.tmp; echo x >x; sleep 600"), THREAD)
        state = await agent.ainvoke(executes("ls"), THREAD)
        return str(answers(state)[-1].text)

    assert asyncio.run(cancelled()) == "1.tmp\n[exit status 0]"


def test_rules_hold_for_commands(root: Path) -> None:
    for path in ("secret/key", "locked/a", "src/.env", "src/b"):
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(f"{path}\n")
    rules = [
        FilesystemPermission(["read", "write"], ["/secret/**", "/secret", "/**/.env"], "deny"),
        read_only("/locked/**"),
    ]
    agent = obedient(over(root, scratch=()), InMemorySaver(), permissions=rules)
    agent.invoke(told(writes("/src/c", "c\n")), THREAD)
    assert say(agent, "find . -type f | sort; cat locked/a") == (
        "./locked/a\n./src/b\n./src/c\nlocked/a\n[exit status 0]"
    )
    answer = say(
        agent, "mv src moved; rm -r locked; mkdir -p secret; echo x >secret/key; echo y >new/.env"
    )
    assert "not kept, because the rules of this agent don't allow it: /locked/a" in answer
    assert "key" in answer.partition("don't allow it: ")[2]
    assert (
        say(agent, "find . -type f | sort") == "./locked/a\n./moved/b\n./moved/c\n[exit status 0]"
    )
    history.apply(agent, THREAD)
    assert (root / "secret/key").read_text() == "secret/key\n"
    assert (root / "src/.env").read_text() == "src/.env\n"
    assert sorted(os.listdir(root)) == ["locked", "moved", "secret", "src"]


def test_commands_dont_reach_files_of_other_mounts(root: Path) -> None:
    (root / "notes").mkdir()
    (root / "notes/below").write_text("below\n")
    mounts = {**over(root), "/notes": StateBackend()}
    agent = obedient(mounts, InMemorySaver())
    agent.invoke(told(writes("/notes/a", "a\n")), THREAD)
    answer = say(agent, "ls; mkdir -p notes; echo b >notes/a; echo c >c")
    assert "not kept, because the rules" in answer
    assert contents(agent.get_state(THREAD).values) == {"/notes/a": "a\n", "/c": "c\n"}
    assert list(overlay_of(agent)) == ["/c"]


def test_commands_find_the_mount_at_its_path(root: Path) -> None:
    (root / "a").write_text("a\n")
    agent = obedient({"/repo": OverlayBackend(SandboxBackend(root))}, InMemorySaver())
    assert say(agent, "pwd; echo b >/repo/b; cat /repo/a") == "/repo\na\n[exit status 0]"
    assert contents(agent.get_state(THREAD).values) == {"/repo/b": "b\n"}


def test_our_data_in_the_directory_are_hidden(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(root / "data"))
    agent = obedient(over(root), InMemorySaver())
    assert say(agent, "echo a >a; find . | sort") == ".\n./a\n./data\n[exit status 0]"
    assert list(overlay_of(agent)) == ["/a"]


def test_execute_is_offered_only_over_a_sandbox(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert overlay_support() is None

    def nodes(backend: Any) -> set[str]:
        agent = create_filesystem_agent(CommandModel(), mounts={"/": OverlayBackend(backend)})
        return {*agent.nodes}

    assert "execute" in nodes(SandboxBackend(root))
    assert "execute" not in nodes(LocalShellBackend(root))
    assert "execute" not in nodes(FilesystemBackend(root))
    (root / "file").write_text("no directory")
    monkeypatch.setenv("XDG_DATA_HOME", str(root / "file"))
    assert "XDG_DATA_HOME" in (overlay_support() or "")
    assert "execute" not in nodes(SandboxBackend(root))


def test_a_model_that_takes_commands_tries_and_applies(root: Path) -> None:
    (root / "a.txt").write_text("one\n")
    agent = create_filesystem_agent(CommandModel(), mounts=over(root), checkpointer=InMemorySaver())
    task = 'execute "echo two >>a.txt; ls"\nread_file /a.txt'
    state = agent.invoke({"messages": [{"role": "user", "content": task}]}, THREAD)
    assert "two" in answers(state)[-1].text
    assert (root / "a.txt").read_text() == "one\n"
    assert "+two" in history.diff(agent, THREAD)
    history.apply(agent, THREAD)
    assert (root / "a.txt").read_text() == "one\ntwo\n"


@pytest.mark.parametrize("wrong", ["*.o"])
def test_scratch_must_be_a_list(wrong: Any, root: Path) -> None:
    with pytest.raises(ValueError, match="must be a list of patterns"):
        OverlayBackend(SandboxBackend(root), scratch=wrong)


def test_layers_of_another_database_are_not_needed(root: Path, data: Path, tmp_path: Path) -> None:
    with open_database(tmp_path / "agent.db") as (saver, _):
        agent = obedient(over(root, scratch=["*.tmp"]), saver)
        say(agent, "echo a >a; echo 1 >1.tmp")
        shutil.rmtree(data)
        assert say(agent, "ls") == "a\n[exit status 0]"
