"""Settings: nonsense is refused when the graph is built, and how much an answer may fill."""

from typing import Any

import pytest

from langgraph_filesystem.nodes.settings import Settings
from langgraph_filesystem.state.workspace.mounts import Mounts
from tests.nodes.backends import Shelf, Shell


@pytest.mark.parametrize(
    "options",
    [
        {"evict_over": 0},
        {"evict_over": -1},
        {"max_execute_timeout": 0},
        {"max_execute_timeout": -5},
        {"token_counter": 5},
    ],
    ids=repr,
)
def test_nonsense_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        Settings(**options)


@pytest.mark.parametrize(
    ("evict_over", "budget"),
    [(None, 100_000), (20_000, 80_000), (25_000, 100_000), (10**9, 100_000), (1, 2_000)],
)
def test_the_budget_follows_the_limit_of_eviction(evict_over: int | None, budget: int) -> None:
    assert Settings(evict_over=evict_over).budget == budget


def test_shells_are_the_mounts_that_may_run_commands() -> None:
    mounts: Any = {"/": Shelf(), "/b/long": Shell(), "/a": lambda _: Shelf()}
    assert [mount.prefix for mount in Settings(Mounts(mounts)).shells] == ["/a", "/b/long"]
    assert Settings().shells == []
