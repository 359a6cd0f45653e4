"""Mounts: which backend serves which path, and under which name."""

import functools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_filesystem import CompositeBackend, FilesystemBackend, LocalShellBackend
from langgraph_filesystem.state.backends.state import StateBackend
from langgraph_filesystem.state.errors import FilesystemError
from langgraph_filesystem.state.paths import is_within, normalize_path
from langgraph_filesystem.state.workspace.mounts import Mount, Mounts

names = st.sampled_from(["a", "b", "ab", "a.b", "~x", "c d"])
paths = st.lists(names, max_size=4).map(lambda parts: "/" + "/".join(parts))


class Shell:
    """A backend that can run commands."""

    id = "shell"

    def ls(self, path: str) -> None: ...

    def execute(self, command: str) -> str:
        return command


def make_state(runtime: Any) -> Any:
    return StateBackend()


@pytest.mark.parametrize(
    ("path", "prefix"),
    [
        ("/", "/"),
        ("/a.txt", "/"),
        ("/memories", "/memories"),
        ("/memories/me.md", "/memories"),
        ("/memories2/me.md", "/"),
        ("/memories/deep/x", "/memories/deep"),
        ("/memories/deeper", "/memories"),
    ],
)
def test_the_longest_prefix_serves_a_path(path: str, prefix: str) -> None:
    mounts = Mounts({"/memories/": StateBackend(), "/memories/deep": StateBackend()})
    assert mounts.locate(path).prefix == prefix


@given(st.sets(paths, max_size=5), paths)
def test_every_path_is_served_by_the_nearest_mount_above_it(prefixes: set[str], path: str) -> None:
    mounts = Mounts({prefix: StateBackend() for prefix in prefixes})
    found = mounts.locate(path)
    assert is_within(path, found.prefix)
    for prefix in prefixes:
        assert not is_within(path, prefix) or len(prefix) <= len(found.prefix)


def test_the_root_is_in_the_state_unless_something_is_mounted_there() -> None:
    shell: Any = Shell()
    for mounts in (Mounts(), Mounts({}), Mounts({"/a": shell})):
        assert isinstance(mounts.locate("/").backend, StateBackend)
    assert Mounts({"/": shell}).locate("/x").backend is shell


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"memories": StateBackend()}, "begin with '/'"),
        ({"": StateBackend()}, "begin with '/'"),
        ({5: StateBackend()}, "begin with '/'"),
        ({"/../x": StateBackend()}, r"\.\."),
        ({"/C:/x": StateBackend()}, "drive"),
        ({"/a\0": StateBackend()}, "NUL"),
        ({"/a": StateBackend(), "/a/": StateBackend()}, "Two mounts"),
        ({"/a": StateBackend(), "//a": StateBackend()}, "Two mounts"),
        ({"/": StateBackend(), "//": StateBackend()}, "Two mounts"),
        ({"/a": None}, "neither"),
        ({"/a": "backend"}, "neither"),
        ({"/a": StateBackend}, "neither"),
        ([("/a", StateBackend())], "must map"),
        ("/a", "must map"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_nonsense_is_a_value_error_when_the_mounts_are_made(given: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Mounts(given)


@given(paths, paths)
def test_inner_and_outer_names_are_each_others_inverse(prefix: str, path: str) -> None:
    mount = Mount(prefix, StateBackend())
    assert mount.inner(mount.outer(path)) == path
    assert is_within(mount.outer(path), prefix)
    assert normalize_path(mount.outer(path)) == mount.outer(path)
    below = normalize_path(prefix + path)
    assert mount.outer(mount.inner(below)) == below


@pytest.mark.parametrize(
    ("given", "outer"),
    [("/", "/m"), ("", "/m"), ("x", "/m/x"), ("/x/", "/m/x"), ("/x/y", "/m/x/y")],
)
def test_a_backend_may_name_its_paths_with_or_without_slashes(given: str, outer: str) -> None:
    assert Mount("/m", StateBackend()).outer(given) == outer


@pytest.mark.parametrize(
    ("path", "below"),
    [
        ("/", ["/a", "/a/b", "/ab"]),
        ("/a", ["/a/b"]),
        ("/a/b", []),
        ("/ab", []),
        ("/x", []),
    ],
)
def test_mounts_below_a_path_are_those_strictly_below(path: str, below: list[str]) -> None:
    mounts = Mounts({"/ab": StateBackend(), "/a/b": StateBackend(), "/a": StateBackend()})
    assert [mount.prefix for mount in mounts.below(path)] == below


@pytest.mark.parametrize(
    ("backend", "name", "is_factory"),
    [
        (StateBackend(), "StateBackend", False),
        (Shell(), "Shell", False),
        (make_state, "make_state", True),
        (functools.partial(make_state), "partial", True),
        (lambda runtime: StateBackend(), "<lambda>", True),
    ],
)
def test_a_mount_names_its_backend_or_factory(backend: Any, name: str, is_factory: bool) -> None:
    mount = Mounts({"/m": backend}).locate("/m/x")
    assert mount.name == name
    assert mount.is_factory is is_factory


def test_what_may_run_commands_is_found_from_the_root_downwards() -> None:
    mounts: Any = {"/a/b/c": Shell(), "/a": Shell(), "/made": make_state, "/s": StateBackend()}
    assert [mount.prefix for mount in Mounts(mounts).shells] == ["/a", "/made", "/a/b/c"]
    assert Mounts().shells == ()


def test_a_mount_knows_whether_changes_reach_outside_of_the_state(tmp_path: Path) -> None:
    given: Any = {"/disk": FilesystemBackend(tmp_path), "/made": make_state, "/s": StateBackend()}
    outside = [mount.prefix for mount in Mounts(given).all if mount.reaches_outside]
    assert sorted(outside) == ["/disk", "/made"]
    assert Mounts(given).reach_outside
    assert not Mounts({"/s": StateBackend()}).reach_outside


def test_a_composite_is_mounted_in_parts() -> None:
    shell: Any = Shell()
    inner = CompositeBackend(StateBackend(), {"/a": shell})
    assert [mount.prefix for mount in Mounts(inner).all] == ["/a", "/"]
    outer = CompositeBackend(StateBackend(), {"/y": inner})
    mounts = Mounts({"/x/": outer, "/z": StateBackend()})
    assert sorted(mount.prefix for mount in mounts.all) == ["/", "/x", "/x/y", "/x/y/a", "/z"]
    assert mounts.locate("/x/y/a/b").backend is shell
    with pytest.raises(ValueError, match="Two mounts"):
        Mounts({"/x": inner, "/x/a": shell})


def test_the_mounts_of_a_composite_that_was_made_leave_others_alone() -> None:
    mine, theirs = StateBackend(), StateBackend()
    mounts = Mounts({"/x": make_state, "/x/mine": mine})
    made = CompositeBackend(StateBackend(), {"/mine": theirs, "/deep": theirs})
    after = mounts.with_made(mounts.locate("/x"), made)
    assert sorted(mount.prefix for mount in after.all) == ["/", "/x", "/x/deep", "/x/mine"]
    assert after.locate("/x/mine/a").backend is mine


@pytest.mark.parametrize(
    ("path", "refused"),
    [("/", True), ("/a", True), ("/a/b", True), ("/a/b/c", False), ("/b", False)],
)
def test_mount_points_and_what_is_above_them_are_refused(path: str, refused: bool) -> None:
    mounts = Mounts({"/a/b": StateBackend()})
    if refused:
        with pytest.raises(FilesystemError, match="can't be written, moved or deleted"):
            mounts.refuse_mount_point(path)
    else:
        mounts.refuse_mount_point(path)


@pytest.mark.parametrize(
    ("path", "means"),
    [
        ("{root}/a.py", "/project/a.py"),
        ("{root}", None),  # something is mounted below
        ("{root}/src/a.py", "/src/a.py"),
        ("{root}2/a.py", None),
        ("{root}/hidden/a.py", None),
        ("{root}/mounted/a.py", None),
        ("/project/a.py", None),
        ("/", None),
    ],
)
def test_a_path_that_commands_print_is_an_alias(
    path: str, means: str | None, tmp_path: Path
) -> None:
    root = tmp_path.resolve() / "repo"
    (root / "src").mkdir(parents=True)
    mounts = Mounts(
        {
            "/project": LocalShellBackend(root),
            "/src": LocalShellBackend(root / "src"),
            "/project/hidden": StateBackend(),
            f"{root}/mounted": StateBackend(),
        }
    )
    given = path.format(root=root)
    alias = mounts.alias_of(given)
    assert (None if alias is None else alias.resolve(given)) == means
