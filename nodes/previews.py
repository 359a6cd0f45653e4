"""Previews: the head and the tail of a text that went to a file."""

__all__ = ("preview",)

_LINES = 10
"""Lines shown at either end."""
_LINE = 1_000
"""Characters of a line that are shown."""
_LEAST = 400


def preview(text: str, budget: int) -> str:
    """Return numbered lines from both ends of a text, in about `budget` characters."""
    lines = text.split("\n")
    if lines[-1] == "" and len(lines) > 1:
        lines.pop()
    cut = min(_LINE, max(_LEAST, budget) // (2 * _LINES))
    if len(lines) == 1:
        return _ends(lines[0], max(cut, min(_LINE, budget // 2)))
    head = lines[:_LINES]
    tail_start = max(len(head), len(lines) - _LINES)
    rows = [_row(number, line, cut) for number, line in enumerate(head, 1)]
    if tail_start > len(head):
        rows.append(f"[... {tail_start - len(head):,} lines left out ...]")
    tail = enumerate(lines[tail_start:], tail_start + 1)
    return "\n".join([*rows, *(_row(number, line, cut) for number, line in tail)])


def _row(number: int, line: str, cut: int) -> str:
    shown = line if len(line) <= cut else f"{line[:cut]} [... {len(line):,} characters]"
    return f"{number:>6}\t{shown}"


def _ends(line: str, cut: int) -> str:
    if len(line) <= 2 * cut:
        return f"{1:>6}\t{line}"
    left_out = len(line) - 2 * cut
    return f"{1:>6}\t{line[:cut]}\n[... {left_out:,} characters left out ...]\n\t{line[-cut:]}"
