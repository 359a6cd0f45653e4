"""`make pictures`: runs the command line on a copy of an example, and draws what it printed."""

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

HERE = Path(__file__).parent
EXAMPLE = HERE.parent.parent / "examples" / "coding_agent"
WIDTH = 90
TASK = """\
read_file /README.md limit=3

edit_file /README.md "# A coding agent" "# A careful coding agent"
write_file /NOTES.md "- read the skills first\\n"
"""
PICTURES = {
    "run": [["run", TASK]],
    "changes": [["status"], ["diff"], ["undo", "NOTES.md"], ["apply"]],
    "doctor": [["doctor"]],
}
REDRAWN = re.compile(r"[^\n]*\n\x1b\[\?25h\r\x1b\[1A\x1b\[2K|[^\n]*\r\x1b\[2K|\x1b\[\?25[hl]")
"""Lines of the spinner, which the terminal has erased."""


def main() -> None:
    """Draw every picture."""
    with tempfile.TemporaryDirectory() as place:
        # A path that is the same in each picture.
        project = Path(shutil.copytree(EXAMPLE, Path(place) / "project"))
        for name, commands in PICTURES.items():
            console = Console(record=True, width=WIDTH, file=io.StringIO())
            for command in commands:
                typed = " ".join(f"'{part.strip()}'" if "\n" in part else part for part in command)
                console.print(Text(f"$ lgfs {typed}", "bold"))
                console.print(Text.from_ansi(said(command, project, place)))
            (HERE / f"{name}.svg").write_text(console.export_svg(title="lgfs"))


def said(command: list[str], project: Path, place: str) -> str:
    """Return what a command printed, with its colours."""
    ran = subprocess.run(
        [sys.executable, "-m", "langgraph_filesystem", *command],
        cwd=project,
        env={**os.environ, "XDG_DATA_HOME": place, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH)},
        capture_output=True,
        check=True,
    )
    plain = REDRAWN.sub("", ran.stdout.decode().replace("\r\n", "\n"))
    shown = plain.replace(os.path.realpath(project), "~/project").replace(place, "~/.local/share")
    return shown.replace(str(Path(sys.prefix).resolve()), "/usr").rstrip("\n")


if __name__ == "__main__":
    main()
