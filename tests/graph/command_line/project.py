"""A small project, and the command line on it, in this process."""

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from langgraph_filesystem.command_line.main import cli

README = "# A project\n\nIt has teh code.\n"
CODE = "def answer():\n    return 41\n"
TASK = """\
read_file /README.md
read_file /src/answer.py

edit_file /README.md teh the
write_file /notes.txt "one\\ntwo\\n"

edit_file /src/answer.py 41 42
"""


class Project:
    """A directory with files, a database of its own, and the commands."""

    def __init__(self, place: Path) -> None:
        self.root = place / "project"
        self.database = place / "threads.db"
        (self.root / "src").mkdir(parents=True)
        (self.root / "README.md").write_text(README)
        (self.root / "src" / "answer.py").write_text(CODE)

    def __call__(self, *args: str, code: int = 0, stdin: str = "") -> str:
        """Run a command in the directory, and return what it printed; errors too."""
        return self.result(*args, code=code, stdin=stdin).output

    def result(self, *args: str, code: int = 0, stdin: str = "") -> Result:
        """Run a command, and check its exit code."""
        name, *rest = args
        options = ["--root", str(self.root)]
        if "--db" not in rest:
            options += ["--db", str(self.database)]
        result = CliRunner().invoke(cli, [name, *options, *rest], input=stdin, prog_name="lgfs")
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result

    def rows(self, *args: str, code: int = 0, stdin: str = "") -> list[Any]:
        """Run a command with `--json`, and return its lines."""
        said = self.result(*args, "--json", code=code, stdin=stdin).stdout
        return [json.loads(line) for line in said.splitlines()]

    def files(self) -> dict[str, str]:
        """Return the files on disk."""
        found = (path for path in self.root.rglob("*") if path.is_file())
        return {str(path.relative_to(self.root)): path.read_text() for path in found}
