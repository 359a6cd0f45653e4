"""Lineage: which checkpoints can go, and which others are built on."""

from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_filesystem.lineage import (
    Link,
    input_task,
    shortened,
    without_heirs,
)


def links(*pairs: str) -> list[Link]:
    """Read `id<parent` for one that stays and `id<parent!` for one that goes."""
    made = []
    for pair in pairs:
        id, _, parent = pair.rstrip("!").partition("<")
        made.append(Link("t", "", id, parent or None, pair.endswith("!")))
    return made


@pytest.mark.parametrize(
    ("chain", "gone", "freed"),
    [
        (["a", "b<a", "c<b"], "", ""),
        (["a", "b<a!", "c<b!"], "bc", "a"),
        (["a!", "b<a!"], "ab", ""),
        (["a", "b<a!", "c<b"], "", ""),
        (["a", "b<a!", "c<a"], "b", ""),
        (["a", "b<a!", "c<b!", "d<b"], "c", ""),
        (["a", "b<a!", "c<b!", "d<a", "e<d!"], "bce", "d"),
        (["b<gone!"], "b", ""),
    ],
)
def test_what_another_is_built_on_stays(chain: list[str], gone: str, freed: str) -> None:
    can_go, without_successor = without_heirs(links(*chain))
    assert sorted(place[2] for place in can_go) == sorted(gone)
    assert [place[2] for place in without_successor] == sorted(freed)


def test_threads_and_namespaces_are_apart() -> None:
    chain = [
        Link("t", "", "a", None, False),
        Link("t", "", "b", "a", True),
        Link("t", "sub", "b", "a", False),
        Link("u", "", "b", "a", False),
    ]
    assert without_heirs(chain) == ([("t", "", "b")], [("t", "", "a")])


def test_the_input_of_a_run_has_the_name_that_langgraph_gives_it() -> None:
    one = input_task("1f0c0000-0000-6000-8000-000000000000")
    assert one == input_task("1f0c0000-0000-6000-8000-000000000000")
    assert one != input_task("1f0c0000-0000-6000-8000-000000000001")


class Adapter(BaseCheckpointSaver[Any]):
    """Hands on what the base class does not have, as the adapter of a server does."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@pytest.mark.parametrize("saver", [None, True, False, InMemorySaver(), Adapter(InMemorySaver())])
def test_other_savers_are_left_alone(saver: Any) -> None:
    shortened(saver)
    assert "aget_delta_channel_history" not in getattr(saver, "__dict__", {})
