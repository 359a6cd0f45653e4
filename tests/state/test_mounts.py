"""Mounts: which backend serves which path, and under which name."""

import functools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_filesystem.state import mounts as mounts_module
from langgraph_filesystem.state.backends.state import BoundStateBackend, StateBackend
from langgraph_filesystem.state.errors import FilesystemError
from langgraph_filesystem.state.files import Files
from langgraph_filesystem.state.paths import is_within, normalize_path
from langgraph_filesystem.state.workspace.mounts import Composed, Mount, Mounts

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


def test_what_can_run_commands_is_found_from_the_root_downwards() -> None:
    deep: Any = Shell()
    near: Any = Shell()
    mounts = Mounts({"/a/b/c": deep, "/a": near})
    found = mounts.that_can("execute")
    assert found is not None
    assert found.backend is near
    assert Mounts().that_can("execute") is None
    maybe = Mounts({"/a": make_state}).that_can("execute")
    assert maybe is not None
    assert maybe.prefix == "/a"


def test_a_state_backend_is_opened_over_the_files_of_the_thread() -> None:
    files: Files = {"/m/x": {"content": "1"}, "/y": {"content": "2"}}
    backends: list[Any] = [StateBackend(), make_state, lambda runtime: make_state]
    for backend in backends:
        opened: Any = Mounts({"/m": backend}).locate("/m").open(files, None)
        assert isinstance(opened, BoundStateBackend)
        assert opened.read("/x").file_data == {"content": "1"}


def test_a_factory_gets_the_runtime_and_other_backends_are_used_as_they_are() -> None:
    shell: Any = Shell()
    given: list[Any] = []

    def factory(runtime: Any) -> Any:
        given.append(runtime)
        return shell

    assert Mounts({"/m": shell}).locate("/m").open({}, "runtime") is shell
    assert Mounts({"/m": factory}).locate("/m").open({}, "runtime") is shell
    assert given == ["runtime"]


def test_the_example_in_the_module_is_true() -> None:
    assert mounts_module.__doc__ is not None
    mounts = Mounts({"/": StateBackend(), "/memories/": StateBackend()})
    assert mounts.locate("/memories/me.md").prefix == "/memories"


class Composite(Composed):
    """Mounts as one backend, and no more than that."""

    def __init__(self, **mounts: Any) -> None:
        self.mounts = Mounts({f"/{prefix}": backend for prefix, backend in mounts.items()})

    def ls(self, path: str) -> None: ...

    def bind(self, files: Files, prefix: str = "/", runtime: Any = None) -> Any:
        return files, prefix, runtime


def test_what_is_composed_is_mounted_in_parts() -> None:
    shell: Any = Shell()
    inner = Composite(a=shell)
    assert [mount.prefix for mount in Mounts(inner).all] == ["/a", "/"]
    given: Any = {"/x/": Composite(y=inner), "/z": StateBackend()}
    mounts = Mounts(given)
    assert sorted(mount.prefix for mount in mounts.all) == ["/", "/x", "/x/y", "/x/y/a", "/z"]
    assert mounts.locate("/x/y/a/b").backend is shell
    twice: Any = {"/x": inner, "/x/a": shell}
    with pytest.raises(ValueError, match="Two mounts"):
        Mounts(twice)


def test_what_a_factory_composes_is_bound_to_the_files() -> None:
    given: Any = {"/x": lambda runtime: Composite()}
    opened: Any = Mounts(given).locate("/x").open({}, "runtime")
    assert opened == ({}, "/x", "runtime")


@pytest.mark.parametrize(
    ("path", "refused"),
    [("/", True), ("/a", True), ("/a/b", True), ("/a/b/c", False), ("/b", False)],
)
def test_mount_points_and_what_is_above_them_are_refused(path: str, refused: bool) -> None:
    mounts = Mounts({"/a/b": StateBackend()})
    if refused:
        with pytest.raises(FilesystemError, match="can't be written, moved or deleted"):
            mounts.refuse_point(path)
    else:
        mounts.refuse_point(path)
