"""Every backend of ours does what `langgraph_filesystem.testing` asks for, and skips nothing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from langgraph_filesystem.state.backends.execution.sandbox import SandboxBackend
from langgraph_filesystem.state.backends.execution.shell import LocalShellBackend
from langgraph_filesystem.state.backends.state import StateBackend
from langgraph_filesystem.state.workspace.composite import CompositeBackend
from langgraph_filesystem.testing import (
    Applied,
    BackendConformance,
    RecallCommandConformance,
    RecallConformance,
)
from langgraph_filesystem.testing.commands import CommandJournal, Commands
from langgraph_filesystem.testing.suite import BackendFixture
from tests.state.backends.disk.places import fast_place


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A directory in memory: thousands of flushed writes take minutes on a disk."""
    with fast_place() as place:
        yield place.root


class TestStateBackend(BackendConformance):
    """Files in the state: nothing of them lies outside, so there is nothing to recall."""

    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        return Applied(StateBackend())


@pytest.mark.soak
class TestStateBackendMounted(BackendConformance):
    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        return Applied(StateBackend(), prefix="/deep/mount")


class Shell(BackendFixture, Commands, CommandJournal):
    """What shells add to the disk backend that they are."""

    complete = True


class TestLocalShellBackend(Shell):
    def make_backend(self, tmp_path: Path) -> Any:
        return LocalShellBackend(tmp_path)


class TestSandboxBackend(Shell):
    def make_backend(self, tmp_path: Path) -> Any:
        return SandboxBackend(tmp_path)


@pytest.mark.soak
class TestFilesOfSandboxBackend(RecallCommandConformance):
    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        return SandboxBackend(tmp_path)


@pytest.mark.soak
class TestCompositeBackend(RecallConformance):
    """Of the disk, with mounts that none of the tests touch."""

    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        return CompositeBackend(FilesystemBackend(tmp_path))


class TestCompositeBackendOfStates(BackendConformance):
    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        return Applied(CompositeBackend(StateBackend()))
