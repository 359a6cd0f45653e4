"""What a benchmark finds: rows of a table, each with its target beside it."""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ("Row", "printed")


@dataclass(frozen=True)
class Row:
    """One measurement."""

    what: str
    contestant: str
    value: float
    unit: str
    ratio: float | None = None
    """Ours divided by this one; for bytes, this one divided by what it must hold."""
    target: float | None = None
    """The most that `ratio`, or else `value`, may be."""

    @property
    def met(self) -> bool | None:
        """Say whether the target is met, or `None` where there is no target."""
        if self.target is None:
            return None
        return (self.value if self.ratio is None else self.ratio) <= self.target


def printed(title: str, rows: Sequence[Row]) -> str:
    """Return the rows as a table."""
    cells = [["what", "contestant", "value", "ratio", "target", ""], *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if place < 2 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    ]
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(["", title, "", *lines])


def _cells(row: Row) -> list[str]:
    digits = 2 if abs(row.value) < 100 else 0
    return [
        row.what,
        row.contestant,
        f"{row.value:,.{digits}f} {row.unit}",
        "" if row.ratio is None else f"{row.ratio:.2f}x",
        "" if row.target is None else f"<= {row.target:g}",
        {None: "", True: "ok", False: "MISSED"}[row.met],
    ]
