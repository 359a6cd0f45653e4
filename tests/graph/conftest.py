"""A database of its own for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from langgraph_filesystem.sqlite import SqlitePersistence, open_sqlite


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "agent.db"


@pytest.fixture
def opened(file: Path) -> Iterator[SqlitePersistence]:
    with open_sqlite(file) as persistence:
        yield persistence
