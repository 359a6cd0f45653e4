"""What the tests of a directory on disk begin with; some modules have their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from langgraph_filesystem.state.backends.disk.jail import Jail
from tests.state.backends.disk.places import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def jail(place: Place) -> Iterator[Jail]:
    jail = Jail(place.root)
    yield jail
    jail.close()
