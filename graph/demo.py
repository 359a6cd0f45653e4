"""`make demo`: the command line on a copy of a small project, with no key and no network.

An agent edits files, the changes wait, one step is taken back, and the rest is applied.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from langgraph_filesystem.command_line.main import cli

__all__ = ("main",)

_TASK = """\
grep Mounts output_mode=content
read_file /README.md limit=3

edit_file /README.md "# A coding agent" "# A careful coding agent"
write_file /NOTES.md "- read the skills first\\n- then the reviewer\\n"

delete /skills
"""
_COMMANDS = (("run", _TASK), ("undo",), ("diff",), ("log",), ("apply",), ("status",))


def main(arguments: Sequence[str] | None = None) -> int:
    """Copy a directory, by default one of our examples, and run the commands there."""
    given = list(sys.argv[1:] if arguments is None else arguments) or ["examples/coding_agent"]
    with tempfile.TemporaryDirectory(prefix="lgfs-demo-") as place:
        project = shutil.copytree(given[0], Path(place) / "project")
        os.environ |= {"XDG_DATA_HOME": place, "PAGER": "cat"}
        for command in _COMMANDS:
            shown = " ".join(f"'{part.strip()}'" if "\n" in part else part for part in command)
            print(f"\n$ lgfs {shown}\n", flush=True)
            options = ["--root", str(project)]
            code = int(cli.main([*command, *options], "lgfs", standalone_mode=False))
            if code != 0:
                return code
    print("\nNow in a directory of yours: lgfs run, with a task or typed commands.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
