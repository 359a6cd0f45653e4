"""Rounds in which the contestants take turns: a busy moment of the machine hits them all."""

import gc
import statistics
from collections.abc import Callable, Hashable, Mapping
from typing import TypeVar

__all__ = ("medians",)

K = TypeVar("K", bound=Hashable)


def medians(measures: Mapping[K, Callable[[], float]], rounds: int) -> dict[K, float]:
    """Return the median of what each measure gives, after one round that warms up.

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
    return {key: statistics.median(values) for key, values in found.items()}
