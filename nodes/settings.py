"""The settings of a graph that its nodes need."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from langgraph.runtime import Runtime

from langgraph_filesystem.nodes.answers import MAX_CHARACTERS
from langgraph_filesystem.nodes.choices import chosen
from langgraph_filesystem.state.workspace.mounts import Mounts

__all__ = ("CHARACTERS_PER_TOKEN", "Settings", "TokenCounter")

TokenCounter = Callable[[Iterable[Any]], int]
"""A function of messages, as LangChain's `count_tokens_approximately`."""
CHARACTERS_PER_TOKEN = 4
_LEAST_BUDGET = 2_000


@dataclass(frozen=True)
class Settings:
    """The settings that the graph was built with."""

    mounts: Mounts = field(default_factory=Mounts)
    evict_over: int | None = 20_000
    """Tokens over which a message is moved to a file; `None` leaves every message as it is."""
    token_counter: TokenCounter | None = None
    read_before_edit: bool = True
    max_execute_timeout: int = 3_600

    def __post_init__(self) -> None:
        if self.evict_over is not None and not _is_count(self.evict_over):
            raise ValueError(f"`evict_over` must be at least 1 token, not {self.evict_over!r}.")
        if not _is_count(self.max_execute_timeout):
            raise ValueError(
                f"`max_execute_timeout` must be at least 1 s, not {self.max_execute_timeout!r}."
            )
        if self.token_counter is not None and not callable(self.token_counter):
            raise ValueError("`token_counter` must be a function of messages.")

    def of_run(self, runtime: Runtime[Any]) -> "Settings":
        """Return the settings with the choices of a run."""
        over = chosen(runtime).evict_over
        return self if over is None else replace(self, evict_over=over)

    @property
    def budget(self) -> int:
        """Return how many characters a list, a page or a search may fill."""
        if self.evict_over is None:
            return MAX_CHARACTERS
        return min(MAX_CHARACTERS, max(_LEAST_BUDGET, self.evict_over * CHARACTERS_PER_TOKEN))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
