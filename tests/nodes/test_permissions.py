"""Permissions in the real graph: what a model is told, and what commands can reach."""

import os
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem import (
    CommandModel,
    FilesystemBackend,
    FilesystemPermission,
    LocalShellBackend,
    SandboxBackend,
    StateBackend,
    create_filesystem_agent,
    read_only,
)
from tests.nodes.backends import PlainShell
from tests.scripted import answer, answers, arun, call, run

SECRET = "very-secret"


def deny(*paths: str, operations: str = "read write") -> list[FilesystemPermission]:
    return [FilesystemPermission(operations.split(), paths, "deny")]


def allow(*paths: str) -> FilesystemPermission:
    return FilesystemPermission(["read", "write"], paths, "allow")


# What a model is told


def disk(tmp_path: Path, **files: str) -> FilesystemBackend:
    for name, content in files.items():
        path = tmp_path / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return FilesystemBackend(tmp_path)


ASKED = [FilesystemPermission(["read", "write"], ["/ask/**"], "interrupt")]
SAFE = deny("/safe/**")
LEFT_OUT = "[Paths that the rules of this agent don't allow are left out.]"


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (
            call("read_file", file_path="/safe/none"),
            "/safe/none: a rule of this agent denies `read_file` here.",
        ),
        (
            call("read_file", file_path="/link/k"),
            "/link/k: it leads to a path where a rule of this agent denies `read_file`.",
        ),
        (
            call("delete", file_path="/dir"),
            "/dir: a rule of this agent doesn't allow `delete` for something in it. Nothing was "
            "changed.",
        ),
        (
            call("move", source="/open", destination="/land"),
            "/land: a rule of this agent doesn't allow `move` for a path in it. Nothing was "
            "changed.",
        ),
    ],
)
def test_a_refusal_names_the_path_that_was_given(
    made: dict[str, Any], says: str, tmp_path: Path
) -> None:
    backend = disk(tmp_path, safe__k="x", dir__safe__k="x", dir__a="x", open__k="x")
    (tmp_path / "link").symlink_to("safe")
    rules = [*SAFE, *deny("/dir/safe/**", "/land/k")]
    reply = answer(made, mounts={"/": backend}, permissions=rules)
    assert (reply.status, reply.text) == (
        "error",
        f"Error: {says} Choose another path, or ask for permission.",
    )
    assert sorted(path.name for path in tmp_path.rglob("k")) == ["k", "k", "k"]


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_directory_with_something_denied_is_left_whole(mode: str, tmp_path: Path) -> None:
    root = tmp_path / "root"
    backend = disk(root, d__a="x", d__sub__key="x", e__a="x", f__a="x")
    (root / "g" / "empty").mkdir(parents=True)
    (root / "h").mkdir()
    (root / "h" / "link").symlink_to("../d/sub/key")
    calls = [
        call("delete", file_path="/d"),
        call("move", source="/d", destination="/x"),
        call("move", source="/d", destination="/state/x"),
        call("delete", file_path="/g"),
        call("delete", file_path="/h"),
        call("move", source="/h", destination="/state/h"),
        call("move", source="/h/link", destination="/state/copy"),
        call("delete", file_path="/e"),
        call("move", source="/f", destination="/y"),
    ]
    options: Any = {
        "mounts": {"/": backend, "/state": StateBackend()},
        "permissions": deny("/*/sub/key", "/**/empty"),
    }
    state = await arun(*calls, **options) if mode == "async" else run(*calls, **options)
    assert [reply.status for reply in answers(state)] == ["error"] * 7 + ["success"] * 2
    found = sorted(
        str(path.relative_to(root)) for path in root.rglob("*") if ".lang" not in str(path)
    )
    assert found == ["d", "d/a", "d/sub", "d/sub/key", "g", "g/empty", "h", "h/link", "y", "y/a"]
    assert not state.get("files")


def test_what_is_left_out_uses_up_no_limit(tmp_path: Path) -> None:
    files = {f"safe__{number}": "word" for number in range(50)}
    backend = disk(tmp_path, **files, z="word", y="word\nword")
    for mounts, given in [({"/": backend}, None), (None, {"/safe/a": "word", "/y": "word\nword"})]:
        reply = answer(
            call("grep", pattern="word", max_count=2, output_mode="count"),
            mounts=mounts,
            files=given,
            permissions=SAFE,
        )
        assert reply.text.split("\n")[0] == "/y:2"
        assert reply.artifact["lines"] == 2


def test_only_a_place_where_something_may_be_left_out_says_so() -> None:
    files = {"/safe/a": "x", "/open/b": "x"}
    for path, note in (("/", f"\n{LEFT_OUT}"), ("/open", "")):
        listed = answer(call("ls", path=path), files=files, permissions=SAFE)
        found = answer(call("glob", pattern="*", path=path), files=files, permissions=SAFE)
        assert listed.text == ("/open/" if path == "/" else "/open/b") + note
        assert (found.text, found.artifact) == (f"/open/b{note}", {"files": 1, "left_out": 0})
    # A rule about changes hides nothing.
    listed = answer(call("ls"), files=files, permissions=[read_only("/safe")])
    assert listed.text == "/open/\n/safe/"


def test_a_link_to_a_denied_path_is_left_out_of_a_list(tmp_path: Path) -> None:
    backend = disk(tmp_path, safe__k="x", dir__a="x")
    (tmp_path / "dir" / "link").symlink_to("../safe")
    (tmp_path / "dir" / "none").symlink_to("../safe/none")
    reply = answer(call("ls", path="/dir"), mounts={"/": backend}, permissions=SAFE)
    assert (reply.text, reply.artifact["entries"]) == (f"/dir/a\n{LEFT_OUT}", 1)


def test_notes_do_not_name_what_is_denied(tmp_path: Path) -> None:
    backend = disk(tmp_path, safe__big="x" * 2_000_000, big="x" * 2_000_000, a="y")
    small = FilesystemBackend(tmp_path, max_file_size_mb=1)
    for made in (call("grep", pattern="y"), call("grep", pattern="y", max_count=5)):
        reply = answer(made, mounts={"/": small}, permissions=SAFE)
        assert "): /big." in reply.text
        assert "safe" not in reply.text

    def broken(runtime: Any) -> Any:
        raise RuntimeError("down")

    for name in ("ls", "glob", "grep"):
        args = {"ls": {}, "glob": {"pattern": "*"}, "grep": {"pattern": "y"}}[name]
        mounts = {"/": backend, "/safe/down": broken}
        reply = answer(call(name, **args), mounts=mounts, permissions=SAFE)
        assert "down" not in reply.text
        assert reply.status == "success"


# A person


def test_what_needs_a_person_is_left_out_of_lists_and_refused_by_a_link(tmp_path: Path) -> None:
    backend = disk(tmp_path, ask__a="x", b="x")
    (tmp_path / "link").symlink_to("ask")
    options: Any = {"mounts": {"/": backend}, "permissions": ASKED}
    assert answer(call("ls"), **options).text == f"/b\n{LEFT_OUT}"
    assert answer(call("glob", pattern="*"), **options).text == f"/b\n{LEFT_OUT}"
    reply = answer(call("read_file", file_path="/link/a"), **options)
    assert reply.text == (
        "Error: /link/a: leads to a path where a person has to be asked for `read_file`. Use the "
        "real path."
    )
    only = [FilesystemPermission(["write"], ["/ask/**"], "interrupt")]
    reply = answer(
        call("write_file", file_path="/link/new", content="x"),
        mounts={"/": backend},
        permissions=only,
    )
    assert reply.text.endswith("Use the real path, /ask/new.")
    assert not (tmp_path / "ask" / "new").exists()


# What the graph does itself


def test_large_results_are_kept_whatever_the_rules_say() -> None:
    def shout() -> str:
        """Shout."""
        return "loud " * 2_000

    rules = deny("/large_tool_results/**")
    state = run(
        [call("shout", "loud")],
        call("read_file", file_path="/large_tool_results/loud"),
        tools=[shout],
        evict_over=100,
        permissions=rules,
    )
    assert "/large_tool_results/loud" in state["files"]
    assert answers(state)[-1].text.startswith("Error: /large_tool_results/loud: a rule of this")


# Commands


HIDDEN = {
    "read": "cat safe/key /workspace/safe/key link/key; cat < safe/key",
    "copy": "cp -r safe open/copy; cp safe/key open/copy; mv safe open/s; ln safe/key open/h",
    "read by a moved directory": "mv a b && cat b/safe/key; mv a/safe b; cat b/key",
    "list": "ls safe link; find . -path './safe/*' -o -path './a/safe/*'",
    "read pattern": "cat a/x.pem open/x.pem; grep -r very-secret . ; cp a/x.pem y; cat y",
    "change": "echo y > safe/key; echo y > safe/new; rm -rf safe a/safe; rmdir safe",
    "change what can be read": "echo y > docs/r; echo y > docs/new; rm -rf docs; mv docs d",
    "move what can be read": "mv p q; rm -rf p; mkdir -p p/docs; echo y > p/docs/r",
    "link what can be read": "ln docs/r open/hard && echo y > open/hard; chmod 777 docs/r",
    "unmount": "umount safe docs; mount -o remount,rw docs; unshare -m true",
    "handles": "cat /proc/*/fd/*/key /proc/*/fd/*/safe/key /proc/*/root/*/safe/key",
}


def box(root: Path) -> SandboxBackend:
    for path in ("safe/key", "a/safe/key", "a/x.pem", "open/x.pem"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(SECRET)
    for path in ("docs/r", "p/docs/r", "open/a"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("public")
    (root / "link").symlink_to("safe")
    return SandboxBackend(root)


def content(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): path.read_text()
        for path in root.rglob("*")
        if path.is_file() and not path.is_symlink() and ".langgraph" not in str(path)
    }


PROTECTED = [
    *deny("/m/safe/**", "/m/a/safe/**"),
    *deny("/m/**/*.pem", operations="read"),
    read_only("/m/docs/", "/m/p/docs"),
]


@pytest.mark.parametrize("way", HIDDEN)
@pytest.mark.parametrize("prefix", ["/", "/m"])
async def test_a_command_neither_sees_nor_changes_what_is_denied(
    way: str, prefix: str, tmp_path: Path
) -> None:
    backend = box(tmp_path)
    before = content(tmp_path)
    rules = [
        FilesystemPermission(
            r.operations, [p.removeprefix("/m" if prefix == "/" else "") for p in r.paths], r.mode
        )
        for r in PROTECTED
    ]
    options: Any = {"mounts": {"/": StateBackend(), prefix: backend}, "permissions": rules}
    made = call("execute", command=HIDDEN[way])
    state = run(made, **options) if prefix == "/" else await arun(made, **options)
    [reply] = answers(state)
    assert reply.status == "success"
    assert SECRET not in reply.text
    assert not [line for line in reply.text.split("\n") if line.startswith(("./", "key"))]
    after = content(tmp_path)
    assert {path: after.get(path) for path in before} == before
    assert SECRET not in "".join(text for path, text in after.items() if path not in before)


def test_a_command_can_do_everything_else(tmp_path: Path) -> None:
    rules = [*deny("/safe/**"), read_only("/docs")]
    command = (
        "echo x > new && mkdir -p n/m && mv new n/m && cat docs/r && echo y > open/a && ls n/m"
    )
    reply = answer(call("execute", command=command), mounts={"/": box(tmp_path)}, permissions=rules)
    assert reply.text == "publicnew\n[exit status 0]"
    assert (tmp_path / "open/a").read_text() == "y\n"


def test_a_command_sees_only_what_an_earlier_rule_allows(tmp_path: Path) -> None:
    rules = [allow("/open/**", "/p/docs/**"), *deny("/**")]
    command = "find . | sort; echo x > new; echo x > p/new; echo x > open/new; echo x > p/docs/new"
    reply = answer(call("execute", command=command), mounts={"/": box(tmp_path)}, permissions=rules)
    names = [line for line in reply.text.split("\n") if line.startswith(".")]
    assert names == [".", "./open", "./open/a", "./open/x.pem", "./p", "./p/docs", "./p/docs/r"]
    made = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("new"))
    assert made == ["open/new", "p/docs/new"]


def test_a_command_that_needs_too_many_covers_is_not_run(tmp_path: Path) -> None:
    for number in range(1_100):
        (tmp_path / f"{number}.pem").write_text(SECRET)
    made = call("execute", command="touch made")
    rules = deny("/**/*.pem")
    reply = answer(made, mounts={"/": SandboxBackend(tmp_path)}, permissions=rules)
    assert reply.text.startswith("Error: The command was not run: the rules of this agent cover")
    assert not (tmp_path / "made").exists()


def test_execute_can_be_denied(tmp_path: Path) -> None:
    rules = deny("/m", operations="execute")
    mounts: Any = {"/": StateBackend(), "/m": SandboxBackend(tmp_path)}
    reply = answer(call("execute", command="touch made"), mounts=mounts, permissions=rules)
    assert "/m: " in reply.text
    assert "`execute`" in reply.text
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("rules", "is_refused"),
    [
        (deny("/safe/**"), True),
        (deny("/**/*.pem"), True),
        (ASKED, True),
        ([read_only("/other/x")], True),
        ([read_only("/memories/")], False),
        ([FilesystemPermission(["write"], ["/memories/a*"], "interrupt")], False),
        ([allow("/safe/**")], False),
        (deny("/**", operations="execute"), False),
        ([*deny("/", operations="execute"), *deny("/safe/**")], False),
    ],
)
@pytest.mark.parametrize("kind", ["local", "foreign"])
def test_rules_that_a_shell_could_evade_are_refused_when_the_graph_is_built(
    rules: list[FilesystemPermission], is_refused: bool, kind: str, tmp_path: Path
) -> None:
    mounts: Any = {
        "/": LocalShellBackend(tmp_path) if kind == "local" else PlainShell(),
        "/other": FilesystemBackend(tmp_path),
        "/memories": StateBackend(),
    }

    def build(**options: Any) -> None:
        create_filesystem_agent(CommandModel(), mounts=mounts, permissions=rules, **options)

    if is_refused:
        with pytest.raises(ValueError, match="can't be enforced on them"):
            build()
    else:
        build()
    build(operations=["ls", "read_file"])


def test_a_subclass_that_runs_commands_itself_does_not_confine_them(tmp_path: Path) -> None:
    class Shell(SandboxBackend):
        def execute(self, command: str, **options: Any) -> Any:
            return super().execute(command, **options)

    with pytest.raises(ValueError, match="not confined"):
        create_filesystem_agent(CommandModel(), mounts={"/": Shell(tmp_path)}, permissions=SAFE)


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_shell_that_a_factory_makes_is_checked_when_it_runs(
    mode: str, tmp_path: Path
) -> None:
    def shell(runtime: Any) -> Any:
        return LocalShellBackend(tmp_path)

    def memories(runtime: Any) -> Any:
        return StateBackend()

    made = call("execute", command="touch made")
    for rules, status in [(deny("/safe/**"), "error"), ([read_only("/memories")], "success")]:
        options: Any = {"mounts": {"/": shell, "/memories": memories}, "permissions": rules}
        state = await arun(made, **options) if mode == "async" else run(made, **options)
        assert answers(state)[0].status == status
        assert (tmp_path / "made").exists() == (status == "success")


def test_an_alias_of_a_path_is_bound_by_its_rules(tmp_path: Path) -> None:
    backend = box(tmp_path)
    rules = [*deny("/safe/**"), read_only("/docs")]
    options: Any = {"mounts": {"/": backend}, "permissions": rules}
    for made in (
        call("read_file", file_path="/workspace/safe/key"),
        call("ls", path="/workspace/safe"),
        call("grep", pattern="very", path="/workspace/safe"),
        call("delete", file_path="/workspace/docs/r"),
        call("move", source="/workspace/open", destination="/workspace/docs/open"),
    ):
        reply = answer(made, **options)
        assert reply.status == "error"
        assert SECRET not in reply.text
    listed = answer(call("glob", pattern="**", path="/workspace"), **options)
    assert "key" not in listed.text.replace("/a/safe/key", "")
    assert os.listdir(tmp_path / "docs") == ["r"]
