"""Permissions: which rule decides about which path."""

import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_filesystem import (
    FilesystemBackend,
    FilesystemPermission,
    LocalShellBackend,
    create_filesystem_agent,
    read_only,
)
from langgraph_filesystem.state.workspace.permissions import Permissions
from tests.scripted import ScriptedModel
from tests.state.workspace.opened import workspace

READS = ("ls", "read_file", "glob", "grep")
WRITES = ("write_file", "edit_file", "delete", "move")


def rule(operations: str, paths: str, mode: str = "deny") -> FilesystemPermission:
    return FilesystemPermission(operations.split(), paths.split(), mode)  # type: ignore[arg-type]


NFD = unicodedata.normalize("NFD", "/Müll/Öl.txt")


@pytest.mark.parametrize(
    ("paths", "covered", "not_covered"),
    [
        (
            "/secrets/**",
            "/secrets /secrets/a /secrets/.a /secrets/a/b",
            "/ /secret /secretsx /a/secrets",
        ),
        ("/secrets", "/secrets /secrets/a /secrets/a/b", "/ /secrets.txt"),
        ("/secrets/", "/secrets /secrets/a", "/secrets2"),
        ("/", "/ /a /a/b", ""),
        ("/**", "/ /a /.a /a/b", ""),
        ("/*", "/a /.a /a/b", "/"),
        ("/*.pem", "/a.pem /.pem /a.pem/b /A.PEM", "/ /a/b.pem /apem"),
        ("/**/*.pem", "/a.pem /a/b.pem /a/.pem /a/b.pem/c", "/a/pem /a.pems"),
        ("/**/.env", "/.env /a/.env /a/b/.env /a/.env/b", "/env /a/.envs"),
        ("/a/*/c", "/a/b/c /a/.b/c /a/b/c/d", "/a/c /a/b /a/b/d/c"),
        ("/a/**/c", "/a/c /a/b/c /a/b/b/c", "/a /c /a/b"),
        ("/{a,b}/**", "/a /b /a/x /b/x/y", "/c /ab"),
        ("/a{/**,.txt}", "/a /a/b /a.txt", "/a.md"),
        ("/{a,{b,c}d}/x", "/a/x /bd/x /cd/x", "/b/x /ad/x"),
        ("/?", "/a /a/b /é", "/ /ab"),
        ("/[ab]x", "/ax /bx /AX", "/cx"),
        ("/[!a]x", "/bx /Ax /cx", "/ax"),
        ("/[[:upper:]]", "/A", "/a"),
        ("/app/[id]/**", "/app/i /app/d/x /app/[id] /app/[id]/x", "/app/id /app/x"),
        ("/app/\\[id\\]/**", "/app/[id] /app/[id]/x", "/app/i"),
        ("//a//./b", "/a/b /a/b/c", "/a"),
        ("/Straße/x", "/Straße/x /STRASSE/X /strasse/x", "/strase/x"),
        ("/Müll/**", f"/Müll /MÜLL/x /müll/y {NFD}", "/Mull /mull/x"),
        (unicodedata.normalize("NFD", "/Müll/**"), f"/Müll/Öl.txt {NFD}", "/Mull"),
        ("/a /b/*", "/a /a/x /b/c", "/b /c"),
    ],
)
def test_a_rule_that_denies_covers_what_matches_and_everything_below(
    paths: str, covered: str, not_covered: str
) -> None:
    rules = Permissions([rule("read write", paths)])
    for path in covered.split():
        assert {rules.mode(name, path) for name in (*READS, *WRITES)} == {"deny"}, path
    for path in not_covered.split():
        assert {rules.mode(name, path) for name in (*READS, *WRITES)} == {"allow"}, path


@pytest.mark.parametrize(
    ("paths", "covered", "not_covered"),
    [
        ("/team/**", "/team /team/a /team/.a/b", "/ /Team /teams /teamä"),
        ("/team/", "/team /team/a", "/Team/a"),
        ("/team", "/team", "/team/a"),
        ("/*.md", "/a.md", "/a.MD /a.md/b /b/a.md"),
        ("/", "/ /a /a/b", ""),
    ],
)
def test_a_rule_that_allows_covers_exactly_what_matches(
    paths: str, covered: str, not_covered: str
) -> None:
    rules = Permissions([rule("read write", paths, "allow"), rule("read write", "/**")])
    assert {rules.mode("read_file", path) for path in covered.split()} == {"allow"}
    assert {rules.mode("read_file", path) for path in not_covered.split()} <= {"deny"}


@pytest.mark.parametrize(
    ("operations", "restricted"),
    [
        ("read", "ls read_file glob grep edit_file move"),
        ("write", "write_file edit_file delete move"),
        ("execute", "execute"),
        ("read write", "ls read_file glob grep write_file edit_file delete move"),
        ("delete", "delete"),
        ("move", "move"),
        ("edit_file grep", "edit_file grep"),
    ],
)
def test_a_rule_is_about_the_operations_that_it_names(operations: str, restricted: str) -> None:
    for mode in ("deny", "interrupt"):
        rules = Permissions([rule(operations, "/a/**", mode)])
        names = (*READS, *WRITES, "execute", "a_tool")
        assert [n for n in names if rules.mode(n, "/a/b") == mode] == sorted(
            restricted.split(), key=names.index
        )
        assert {rules.mode(name, "/b") for name in names} == {"allow"}


def test_the_first_rule_decides_for_each_kind_of_access() -> None:
    rules = Permissions(
        [
            rule("read", "/a/public/**", "allow"),
            rule("read", "/a/**", "deny"),
            rule("write", "/a/**", "interrupt"),
            rule("read write", "/**", "allow"),
            rule("write", "/b/**", "deny"),
        ]
    )
    assert rules.mode("read_file", "/a/public/x") == "allow"
    assert rules.mode("read_file", "/a/x") == "deny"
    assert rules.mode("write_file", "/a/public/x") == "interrupt"
    # Editing is reading and writing: the stricter answer counts.
    assert rules.mode("edit_file", "/a/x") == "deny"
    assert rules.mode("edit_file", "/a/public/x") == "interrupt"
    assert rules.mode("write_file", "/b/x") == "allow"


def test_read_only_protects_directories_from_changes() -> None:
    rules = Permissions([read_only("/docs/", "/lib")])
    for path in ("/docs", "/docs/a", "/lib/.b/c"):
        assert {rules.mode(name, path) for name in READS} == {"allow"}
        assert {rules.mode(name, path) for name in WRITES} == {"deny"}
    assert rules.mode("write_file", "/libs/a") == "allow"


NAMES = st.sampled_from(["a", "b", "A", ".a", "ä", "[a]"])
PATHS = st.lists(NAMES, max_size=4).map(lambda names: "/" + "/".join(names))
PARTS = st.sampled_from(["a", "b", ".a", "*", "**", "?", "{a,b}", "[a]", "[!a]", "ä"])
PATTERNS = st.lists(PARTS, min_size=1, max_size=3).map(lambda parts: "/" + "/".join(parts))
RULES = st.lists(
    st.builds(
        FilesystemPermission,
        st.sampled_from([["read"], ["write"], ["read", "write"]]),
        PATTERNS.map(lambda pattern: [pattern]),
        st.sampled_from(["allow", "deny", "interrupt"]),
    ),
    max_size=3,
).map(Permissions)


@given(RULES, PATHS, NAMES)
def test_what_is_said_about_a_directory_is_true_of_everything_below(
    rules: Permissions, directory: str, name: str
) -> None:
    below = f"{directory.rstrip('/')}/{name}"
    for operation in ("read_file", "write_file"):
        mode = rules.mode(operation, below)
        if mode != "allow":
            assert rules.may_restrict_below(operation, directory, [mode])
        for than in ("allow", "interrupt"):
            if rules.restricts_all(operation, directory, than):
                assert rules.is_stricter(operation, below, than)
    if not rules.may_differ_below(directory):
        assert rules.access(below) == rules.access(directory)


def test_a_deep_path_is_checked_like_any_other() -> None:
    rules = Permissions([rule("read", "/a/**/secret")])
    assert rules.mode("read_file", "/a" + "/b" * 2_000) == "allow"
    assert rules.mode("read_file", "/a" + "/b" * 1_000 + "/secret" + "/b" * 1_000) == "deny"


@pytest.mark.parametrize(
    ("operations", "paths", "mode", "says"),
    [
        ("read", ["/a"], "deny", "`operations` of a permission must be a list"),
        ([], ["/a"], "deny", "`operations` of a permission must be a list"),
        (["read"], "/a", "deny", "`paths` of a permission must be a list"),
        (["reads"], ["/a"], "deny", "can't name 'reads'. There are: delete"),
        (["read"], ["/a"], "ask", "must be one of allow, interrupt, deny, not 'ask'"),
        (["read"], ["a/**"], "deny", "must begin with '/', not 'a/**'"),
        (["read"], ["/a/../b"], "deny", "has a `..` part"),
        (["read"], ["/{1..500}"], "deny", "256"),
        (["read"], ["/" + "**/a/" * 40], "deny", "`**`"),
    ],
)
def test_an_invalid_rule_is_an_error_of_the_programmer(
    operations: list[str], paths: list[str], mode: str, says: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        FilesystemPermission(operations, paths, mode)  # type: ignore[arg-type]


def test_a_single_rule_is_no_list_of_rules() -> None:
    with pytest.raises(ValueError, match="`permissions` must be a list of rules"):
        create_filesystem_agent(ScriptedModel(), permissions=rule("read", "/a"))  # type: ignore[arg-type]


async def test_a_person_who_approved_a_path_approved_its_alias_and_what_is_below(
    tmp_path: Path,
) -> None:
    (tmp_path / "ask" / "deep").mkdir(parents=True)
    (tmp_path / "ask" / "deep" / "a").write_text("text")
    backend = FilesystemBackend(tmp_path)
    opened = workspace(
        {"/": LocalShellBackend(tmp_path), "/m": backend},
        permissions=Permissions([rule("read write", "/ask/** /m/ask/**", "interrupt")]),
    )
    for path in ("/ask", "/m/ask", f"{tmp_path}/ask"):
        found = await opened.glob("*", path)
        assert [info["path"].rpartition("/")[2] for info in found.matches or ()] == ["a"]
        assert found.note is None
    result = await opened.read(f"{tmp_path}/ask/deep/a")
    assert result.file_data is not None
    await opened.delete("/m/ask/deep")
    assert not (tmp_path / "ask" / "deep").exists()


def test_permissions_must_be_rules() -> None:
    with pytest.raises(ValueError, match="`permissions` must be a list of"):
        create_filesystem_agent(ScriptedModel(), permissions=["/secrets"])  # type: ignore[list-item]
