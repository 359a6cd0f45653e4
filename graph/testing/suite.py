"""The conformance suite: what a backend must do, as pytest classes to inherit."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem.testing.commanding import Commanding
from langgraph_filesystem.testing.concurring import Concurring
from langgraph_filesystem.testing.driven import Driven
from langgraph_filesystem.testing.editing import Editing
from langgraph_filesystem.testing.globbing import Globbing
from langgraph_filesystem.testing.grepping import GrepOptions, Grepping
from langgraph_filesystem.testing.listing import Listing
from langgraph_filesystem.testing.loading import Digesting, Loading
from langgraph_filesystem.testing.naming import Naming
from langgraph_filesystem.testing.privacy import Privacy
from langgraph_filesystem.testing.reading import Reading
from langgraph_filesystem.testing.recalling import CommandRecalling, Recalling
from langgraph_filesystem.testing.removing import Deleting, Moving
from langgraph_filesystem.testing.writing import Writing

__all__ = (
    "BackendConformance",
    "CommandConformance",
    "RecallCommandConformance",
    "RecallConformance",
)


class BackendConformance(
    Reading,
    Writing,
    Editing,
    Deleting,
    Moving,
    Listing,
    Naming,
    Globbing,
    Grepping,
    GrepOptions,
    Loading,
    Digesting,
    Concurring,
    Privacy,
):
    """What every backend must do with files.

    Inherit it and say how your backend is made; pytest finds the rest:

    ```python
    from langgraph_filesystem.testing import BackendConformance

    class TestMine(BackendConformance):
        def make_backend(self, tmp_path):
            return MyBackend(tmp_path)
    ```

    Each test gets an empty backend and runs twice: with the methods, and with their `a`-twins (or
    in a thread, where there is none), as in a sync and in an async graph. What is optional is
    skipped with a reason where the backend has not got it: `delete`, `move`, `upload_files`,
    `download_files`, `digest`, and every keyword beyond those of `deepagents`. Set `complete` to
    have that fail instead.
    """

    complete = False
    """Whether the backend is to have every optional method and keyword."""

    def make_backend(self, tmp_path: Path) -> Any:
        """Return a new and empty backend. Keep what you need on the disk below `tmp_path`."""
        raise NotImplementedError("Say how your backend is made: define `make_backend`.")

    def end_backend(self, backend: Any) -> None:
        """Clean up after a test, where there is something to clean up."""

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


class RecallConformance(BackendConformance, Recalling):
    """For a backend whose effects lie outside the state: it takes `once`, and has `recall`."""


class CommandConformance(BackendConformance, Commanding):
    """For a backend that runs commands besides: it has `execute` and `id`."""


class RecallCommandConformance(RecallConformance, CommandConformance, CommandRecalling):
    """For a backend that does both."""
