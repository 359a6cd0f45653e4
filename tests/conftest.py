"""What tests of every room share."""

from collections.abc import Iterator

import pytest

from tests import databases


@pytest.fixture(params=databases.KINDS)
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run the test on each kind of database: `open_database` opens that kind."""
    kind: str = request.param
    if kind == "postgres":
        databases.server_uri()
    with databases.choose(kind):
        yield kind
