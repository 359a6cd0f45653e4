"""What tests of every room share."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests import databases

# No test depends on how fast the machine is.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


def pytest_sessionfinish() -> None:
    """Leave no server behind."""
    databases.stop_servers()


@pytest.fixture(params=databases.KINDS)
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run the test on each kind of database: `open_database` opens that kind."""
    kind: str = request.param
    if kind == "postgres":
        databases.server_uri()
    with databases.choose(kind):
        yield kind


@pytest.fixture
def persistence(database: str, tmp_path: Path) -> Iterator[Any]:
    """Yield a checkpointer and a store on each kind of database, for graphs that are invoked."""
    path = databases.emptied(tmp_path / f"{database}.db")
    with databases.open_database(path) as opened:
        yield opened


@pytest.fixture
def saver(persistence: Any) -> Any:
    """Return a checkpointer on each kind of database, for graphs that are invoked."""
    return persistence.checkpointer


@pytest.fixture
def store(persistence: Any) -> Any:
    """Return a store on each kind of database, for graphs that are invoked."""
    return persistence.store
