"""Texts to work on: real ones, from the standard library, and random ones that don't compress."""

import random
import string
import sysconfig
from collections.abc import Iterator
from functools import lru_cache
from itertools import cycle, product
from pathlib import Path

__all__ = ("many_files", "random_text", "real_text", "step", "with_steps")

_TOPICS = ("billing", "catalog", "identity", "orders", "reports", "search", "shipping", "support")
_LAYERS = ("adapters", "api", "domain", "jobs", "migrations", "models", "tests", "views")
_NAMES = ("account", "batch", "client", "event", "index", "ledger", "mapper", "quota", "session")
FILES_PER_TICKET = 25
"""How many files of `many_files` have a ticket in common."""


def real_text(place: int, size: int) -> str:
    """Return `size` characters of Python source; another `place` gives other ones."""
    text = _standard_library()
    start = place * size % max(1, len(text) - size)
    return text[start : start + size]


def random_text(place: int, size: int) -> str:
    """Return `size` random characters, in lines of 80."""
    letters = string.ascii_letters + string.digits + string.punctuation + " "
    drawn = "".join(random.Random(place).choices(letters, k=size))
    return "\n".join(drawn[start : start + 79] for start in range(0, size, 80))


def step(number: int, mark: str = " ") -> str:
    """Return what one edit looks for, or with a mark what it leaves behind."""
    return f"# [{mark}] step {number:04}"


def with_steps(text: str, steps: int) -> str:
    """Return the text with lines spread over it that can be edited, one after the other."""
    lines = text.split("\n")
    every = max(1, len(lines) // steps)
    for number in reversed(range(steps)):
        lines.insert(number * every, step(number))
    return "\n".join(lines)


def many_files(count: int, size: int = 1_000) -> dict[str, str]:
    """Return files as a large code base has them; each names its ticket in a line of its own."""
    places = zip(_paths(), range(count), strict=False)
    return {
        path: f"# ticket {place // FILES_PER_TICKET:04}, part {place}\n{real_text(place, size)}\n"
        for path, place in places
    }


def _paths() -> Iterator[str]:
    numbers = dict.fromkeys(product(_TOPICS, _LAYERS, _NAMES), 0)
    for topic, layer, name in cycle(numbers):
        number = numbers[topic, layer, name]
        numbers[topic, layer, name] += 1
        yield f"/src/{topic}/{layer}/{name}_{number:02}.py"


@lru_cache(maxsize=1)
def _standard_library() -> str:
    modules = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    return "".join(module.read_text("utf-8", "replace") for module in modules)
