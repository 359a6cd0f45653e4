"""Rounds in which the contestants take turns: a busy moment of the machine hits them all."""

import gc
import statistics
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

__all__ = ("median_ratio", "samples")

K = TypeVar("K", bound=Hashable)


def samples(measures: Mapping[K, Callable[[], float]], rounds: int) -> dict[K, list[float]]:
    """Return what each measure gives in each round, after one round that warms up.

    With no other rounds, that one counts.
    """
    found: dict[K, list[float]] = {key: [] for key in measures}
    for number in range(rounds + 1):
        order = list(measures)
        # Nobody is always the one behind the largest garbage.
        start = number % len(order)
        for key in order[start:] + order[:start]:
            gc.collect()
            value = measures[key]()
            if number or not rounds:
                found[key].append(value)
    return found


def median_ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the median of the ratios of the rounds: a slow minute slows both sides of one."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
