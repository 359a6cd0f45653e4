"""Skills: instructions for particular tasks, which the model reads when it needs them.

A skill is a directory with a `SKILL.md` in the Agent Skills format: YAML front matter with `name`
and `description`, then the instructions. `prepare` reads the front matter of each at the start of a
run. The model is told name, description and path, and reads the file when a task fits.
"""

import re
from collections.abc import Collection, Iterable
from functools import partial
from typing import Annotated, Any, ClassVar, NotRequired

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from langgraph_filesystem.nodes.memory import checked_paths, shown_error
from langgraph_filesystem.nodes.operation import read_files
from langgraph_filesystem.nodes.settings import Settings
from langgraph_filesystem.state.channels import StateChannel, latest
from langgraph_filesystem.state.errors import FileNotFound, FilesystemError
from langgraph_filesystem.state.files import FileData
from langgraph_filesystem.state.io import attempt, gather_limited, in_thread
from langgraph_filesystem.state.langgraph_internals import read_channels
from langgraph_filesystem.state.paths import normalize_path
from langgraph_filesystem.state.text import PathPart, escaped
from langgraph_filesystem.state.workspace.workspace import Workspace

__all__ = ("Skill", "Skills")

_FILE = "SKILL.md"
_HEAD = 8_000
"""Characters of a file in which the front matter must end."""
_MAX_BRACKETS = 200
"""In the front matter: the parser takes seconds for thousands of open ones."""
_MAX_PER_SOURCE = 100
"""Directories of one source that are looked into."""
_MAX_CHARACTERS = 40_000
"""Of all skills, in every request to the model: about 10,000 tokens."""
_MAX_NAME = 64
_MAX_DESCRIPTION = 1_024
"""Both limits are those of the Agent Skills format."""

_INTRODUCTION = """\
## Skills

A skill is a file with instructions for one kind of task. When a task fits a description below, \
read the file of the skill to its end with `read_file` before you begin, and follow it. Paths in \
it are relative to its directory."""

_NO_FRONT_MATTER = (
    "skipped, it does not begin with front matter: a line `---`, `name` and `description` in YAML, "
    f"and a line `---`, within {_HEAD:,} characters"
)

_TOO_DEEP = "skipped, its front matter is nested too deeply"


class Skill(TypedDict):
    """What is known of one skill, or of a directory that should hold some."""

    name: str
    description: str
    """Empty if it can't be used."""
    path: str
    note: NotRequired[str]
    """What is wrong with it."""


class Skills:
    """The skills that are offered to the model in the system message."""

    channel: ClassVar[str] = "skills"
    hint: ClassVar[Any] = NotRequired[Annotated[list[Skill], StateChannel(latest, list)]]
    """The type of the channel in the state schema."""

    def __init__(
        self, sources: Iterable[str], settings: Settings, operations: Collection[str]
    ) -> None:
        self.paths = [normalize_path(path) for path in checked_paths("skills", sources)]
        self._mounts = settings.mounts
        self._permissions = settings.permissions
        if self.paths and "read_file" not in operations:
            raise ValueError(
                "`skills` are files that the agent reads: add `read_file` to `operations`."
            )

    async def updates(self, config: RunnableConfig, runtime: Runtime[Any]) -> dict[str, Any]:
        """Look for skills, and return what that changes in the channel."""
        state = read_channels(config, self.channel)
        files = read_files(config, self._mounts)
        # What the agent may not read is not offered.
        workspace = Workspace(self._mounts, files, runtime, permissions=self._permissions)
        found = [skill for path in self.paths for skill in await _skills_in(workspace, path)]
        # A later skill replaces an earlier one with its name.
        usable = {skill["name"]: skill for skill in found if skill["description"]}
        skills = [*usable.values(), *(skill for skill in found if not skill["description"])]
        return {} if skills == state.get(self.channel) else {self.channel: skills}

    def section(self, skills: list[Skill] | None, operations: Collection[str]) -> str:
        """Return what the model is told, or nothing if there is no skill that it can read."""
        if not skills or "read_file" not in operations:
            return ""
        rows = [
            f"- `{skill['name']}` ({skill['path']}): {skill['description']}"
            for skill in skills
            if skill["description"]
        ]
        notes = [f"[{skill['path']}: {skill['note']}]" for skill in skills if "note" in skill]
        return "\n\n".join([_INTRODUCTION, "\n".join(_fitting([*rows, *notes]))])


async def _skills_in(workspace: Workspace, source: str) -> list[Skill]:
    listed = await attempt(workspace.ls(source), "list ", PathPart(source))
    if isinstance(listed, FileNotFound):
        return []
    if isinstance(listed, FilesystemError):
        return [_unusable(source, f"no skills were found: {shown_error(listed, source)}")]
    entries = listed.entries or []
    directories = sorted(e["path"].rstrip("/") for e in entries if e.get("is_dir"))
    read = await gather_limited(partial(_skill, workspace), directories[:_MAX_PER_SOURCE])
    found = [skill for skill in read if skill is not None]
    if len(directories) > _MAX_PER_SOURCE:
        left = len(directories) - _MAX_PER_SOURCE
        found.append(_unusable(source, f"{left:,} more directories were not looked into"))
    if listed.note:
        found.append(_unusable(source, escaped(listed.note)))
    return found


async def _skill(workspace: Workspace, directory: str) -> Skill | None:
    """Return the skill of a directory, or `None` if there is none."""
    path = f"{directory}/{_FILE}"
    skill = await attempt(_read(workspace, path), "read ", PathPart(path))
    if isinstance(skill, FileNotFound):
        return None
    if isinstance(skill, FilesystemError):
        return _unusable(path, f"skipped: {shown_error(skill, path)}")
    return skill


async def _read(workspace: Workspace, path: str) -> Skill:
    page = await workspace.read(path, 0, _HEAD, max_characters=_HEAD)
    file = page.file_data or FileData(content="")
    if file.get("encoding") == "base64":
        return _unusable(path, "skipped, it is not text")
    # In a thread: the parser takes its time, even for a text of this size.
    return await in_thread(_parsed, path, file["content"])


def _parsed(path: str, text: str) -> Skill:
    """Return the skill that the head of a file describes."""
    import yaml  # slow to import, and only skills need it

    matter = re.match(r"\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", text, re.DOTALL | re.MULTILINE)
    if matter is None:
        return _unusable(path, _NO_FRONT_MATTER)
    if sum(map(matter[1].count, "[{")) > _MAX_BRACKETS:
        return _unusable(path, _TOO_DEEP)
    try:
        # Every value is text for this loader: it makes no dates, numbers or objects.
        fields = yaml.load(matter[1], yaml.BaseLoader)
    except yaml.YAMLError as error:
        return _unusable(path, f"skipped, its front matter is not valid YAML: {_explained(error)}")
    except RecursionError:
        return _unusable(path, _TOO_DEEP)
    given = fields if isinstance(fields, dict) else {}
    name, description = _line(given.get("name")), _line(given.get("description"))
    if not name or not description:
        missing = "name" if not name else "description"
        return _unusable(path, f"skipped, its front matter has no `{missing}`")
    if len(name) > _MAX_NAME:
        return _unusable(path, f"skipped, its name is longer than {_MAX_NAME} characters")
    if len(description) > _MAX_DESCRIPTION:
        description = f"{description[: _MAX_DESCRIPTION - 1]}…"
    skill = Skill(name=name, description=description, path=escaped(path))
    directory = path.split("/")[-2]
    if name != directory:
        skill["note"] = f"its name is `{name}`, unlike that of its directory"
    return skill


def _unusable(path: str, note: str) -> Skill:
    return Skill(name="", description="", path=escaped(path), note=note)


def _line(value: object) -> str:
    """Return a text as one line, in which nothing can look like another entry."""
    return escaped(" ".join(value.split())) if isinstance(value, str) else ""


def _explained(error: Exception) -> str:
    problem = escaped(str(getattr(error, "problem", None) or "it can't be parsed"))[:200]
    mark = getattr(error, "problem_mark", None)
    # The front matter begins in the second line of the file.
    return f"{problem}, line {mark.line + 2}" if mark else problem


def _fitting(rows: list[str]) -> list[str]:
    """Return as many rows as fit, with a note about the others."""
    used = 0
    for shown, row in enumerate(rows):
        used += len(row) + 1
        if used > _MAX_CHARACTERS:
            return [*rows[:shown], f"[{len(rows) - shown:,} more lines are left out]"]
    return rows
