"""The `grep` node: searches the text of files."""

import re
from typing import Annotated

from pydantic import Field

from langgraph_filesystem.nodes.answers import (
    Answer,
    Arguments,
    VirtualPath,
    escaped,
    listed,
    notes_of,
)
from langgraph_filesystem.state.backends.file_store import Query
from langgraph_filesystem.state.backends.protocol import GrepMatch, OutputMode
from langgraph_filesystem.state.backends.search import cut_line, locate
from langgraph_filesystem.state.io import in_thread
from langgraph_filesystem.state.workspace.workspace import Workspace

__all__ = ("Grep", "grep")

_LIKE_A_ROW = re.compile(r":\d+(?::|$)")
_LONG = 1_000
"""A line that is cut has at least this many characters."""


class Grep(Arguments):
    """Search the text of files, line by line. The pattern is literal unless `regex` is set. By
    default returns the files that match; `content` returns lines as `path:line:text`, `count` the
    number of matching lines per file. Line numbers are those of `read_file`.
    """

    pattern: Annotated[str, Field(description="The text to search for, or a regex.")]
    path: Annotated[VirtualPath, Field(description="Directory or file to search.")] = "/"
    glob: Annotated[
        str | None, Field(description="Search only files that match, such as `*.py`.")
    ] = None
    output_mode: Annotated[OutputMode, Field(description="What to return.")] = "files_with_matches"
    regex: Annotated[bool, Field(description="The pattern is a regex in Python syntax.")] = False
    ignore_case: Annotated[bool, Field(description="Ignore case.")] = False
    context: Annotated[
        int, Field(ge=0, le=50, description="Lines to show around each match, in `content`.")
    ] = 0
    max_count: Annotated[
        int | None, Field(ge=1, description="Stop after this many matching lines in total.")
    ] = None


async def grep(args: Grep, workspace: Workspace) -> Answer:
    """Return what matches, in the form that was asked for."""
    workspace.progress({"event": "search", "pattern": args.pattern[:200], "path": args.path})
    query = Query(
        args.pattern, args.regex, args.ignore_case, args.context, args.max_count, args.output_mode
    )
    found = await workspace.grep(query, args.path, args.glob)
    notes = notes_of(found.note)
    counts = found.counts or {}
    workspace.progress({"event": "found", "files": len(counts), "lines": sum(counts.values())})
    artifact = {"files": len(counts), "lines": sum(counts.values()), "truncated": found.truncated}
    if found.truncated and not any("The search stopped" in note for note in notes):
        notes.append("[there are more matches: the search stopped at its limit]")
    if not counts:
        none = f"No line in {escaped(args.path)} matches {escaped(args.pattern[:200])}."
        return Answer("\n".join([none, *notes]), artifact)
    matches = await _shortened(args, found.matches or [], workspace.limits.characters)
    text, left_out = listed(_rows(args, counts, matches), workspace.limits.characters, "lines")
    return Answer("\n".join([text, *notes]), {**artifact, "left_out": left_out})


async def _shortened(args: Grep, matches: list[GrepMatch], budget: int) -> list[GrepMatch]:
    """Sort the matches, and cut long lines around the match."""
    matches = sorted(matches, key=lambda match: (match["path"], match["line"]))
    # Our own backends cut long lines themselves, as they know where the match is.
    long = [match for match in matches if cut_line(match["text"]) != match["text"]]
    # More of them don't fit into the answer, and a regex takes its time for each.
    lines = [match["text"] for match in long[: budget // _LONG + 1]]
    if lines:
        query = Query(args.pattern, args.regex, args.ignore_case)
        columns = iter(await in_thread(locate, query, lines))
        for match in long:
            match["text"] = cut_line(match["text"], next(columns, 0))
    return matches


def _rows(args: Grep, counts: dict[str, int], matches: list[GrepMatch]) -> list[str]:
    if args.output_mode == "files_with_matches":
        return sorted(map(escaped, counts))
    if args.output_mode == "count":
        return sorted(f"{_unmistakable(path)}:{count}" for path, count in counts.items())
    if not args.context:
        return [_row(match["path"], match["line"], ":", match["text"]) for match in matches]
    return _rows_with_context(matches)


def _rows_with_context(matches: list[GrepMatch]) -> list[str]:
    """Lines that two matches share are shown once; a gap is marked, as by `grep -C`."""
    lines: dict[tuple[str, int], tuple[str, str]] = {}
    for match in matches:
        beside = [*match.get("context_before", ()), *match.get("context_after", ())]
        for line in beside:
            lines.setdefault((match["path"], line["line"]), ("-", cut_line(line["text"])))
        lines[match["path"], match["line"]] = (":", match["text"])
    rows: list[str] = []
    last: tuple[str, int] | None = None
    for place in sorted(lines):
        if last and (place[0] != last[0] or place[1] > last[1] + 1):
            rows.append("--")
        rows.append(_row(*place, *lines[place]))
        last = place
    return rows


def _row(path: str, line: int, mark: str, text: str) -> str:
    return f"{_unmistakable(path)}{mark}{line}{mark}{escaped(text)}"


def _unmistakable(path: str) -> str:
    """Escape a name such as `a.txt:7:text`, which would read as a line of another file."""
    shown = escaped(path)
    return shown.replace(":", "\\x3a") if _LIKE_A_ROW.search(shown) else shown
