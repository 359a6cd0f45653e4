"""The conformance suite: what a backend must do, as pytest classes to inherit."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem.testing.commands import CommandJournal, Commands, Journal
from langgraph_filesystem.testing.driven import Driven
from langgraph_filesystem.testing.paths import Paths, Privacy
from langgraph_filesystem.testing.reading import Digests, Listing, Reading, Transfers
from langgraph_filesystem.testing.searching import Glob, Grep, GrepOptions
from langgraph_filesystem.testing.writing import Concurrency, Deleting, Editing, Moving, Writing

__all__ = (
    "BackendConformance",
    "BackendFixture",
    "CommandConformance",
    "RecallCommandConformance",
    "RecallConformance",
)


class BackendFixture:
    """How the tests of a suite get their backend."""

    complete = False
    """Whether the backend must have every optional method and keyword."""

    def make_backend(self, tmp_path: Path) -> Any:
        """Return a new and empty backend. Keep files on disk below `tmp_path`."""
        raise NotImplementedError("Say how your backend is made: define `make_backend`.")

    def end_backend(self, backend: Any) -> None:
        """Clean up after a test."""

    @pytest.fixture(params=["sync", "async"])
    def fs(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Driven]:
        """A new backend, as the tests call it."""
        backend = self.make_backend(tmp_path)
        driven = Driven(backend, request.param, complete=self.complete)
        try:
            yield driven
        finally:
            driven.close()
            self.end_backend(backend)


class BackendConformance(
    Reading,
    Writing,
    Editing,
    Deleting,
    Moving,
    Listing,
    Paths,
    Glob,
    Grep,
    GrepOptions,
    Transfers,
    Digests,
    Concurrency,
    Privacy,
    BackendFixture,
):
    """What every backend must do with files.

    Inherit it and say how your backend is made; pytest does the rest:

    ```python
    from langgraph_filesystem.testing import BackendConformance

    class TestMine(BackendConformance):
        def make_backend(self, tmp_path):
            return MyBackend(tmp_path)
    ```

    Each test gets an empty backend and runs twice: with the methods, and with their `a`-twins (or
    in a thread, where there is none), as in a sync and in an async graph. A test of something
    optional is skipped, with a reason, where the backend does not have it: `delete`, `move`,
    `upload_files`, `download_files`, `digest`, and every keyword beyond those of `deepagents`. Set
    `complete` to make such a test fail instead.
    """


class RecallConformance(BackendConformance, Journal):
    """For a backend whose effects lie outside the state: it takes `once`, and has `recall`."""


class CommandConformance(BackendConformance, Commands):
    """For a backend that also runs commands: it has `execute` and `id`."""


class RecallCommandConformance(RecallConformance, CommandConformance, CommandJournal):
    """For a backend that does both."""
