"""What the tests of files on disk begin with."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from tests.state.backends.disk.places import RESOLVERS, Place, open_handles


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture(params=RESOLVERS)
def backend(place: Place, request: pytest.FixtureRequest) -> Iterator[FilesystemBackend]:
    """A backend with each resolver; it must leave no handle open and no temporary file."""
    backend = FilesystemBackend(place.root, resolver=request.param, max_file_size_mb=2)
    before = open_handles()
    yield backend
    assert open_handles() <= before
    assert place.litter() == []
    assert place.is_untouched_outside()
    backend.close()
