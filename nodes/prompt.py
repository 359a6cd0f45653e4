"""The sections of the system prompt: exactly what this graph has."""

from collections.abc import Collection, Sequence

from langchain_core.messages import SystemMessage

from langgraph_filesystem.state.files import CONFLICTS
from langgraph_filesystem.state.paths import is_within
from langgraph_filesystem.state.workspace.mounts import Mount, Mounts

__all__ = ("CONFLICTS_SECTION", "filesystem_prompt", "system_message", "where_commands_run")

CONFLICTS_SECTION = f"""\
`{CONFLICTS}/` holds edits that did not fit because files were changed in parallel: read them, \
redo what is still needed, then delete them."""
"""What the model is told while there are any."""

_INTRODUCTION = """\
## Files

You have a filesystem. Paths are absolute and start with `/`."""

_STEPS = """\
## Steps

When a task has several steps, write them down with `write_todos` before you begin, and keep the \
list up to date while you work: people follow your progress there."""

_SUBAGENTS = """\
## Subagents

Give work to a subagent with `task` when it can be described by itself and takes many steps, which \
would only fill this conversation. What takes one or two calls, do yourself."""

_OTHERS = {"write_todos": _STEPS, "task": _SUBAGENTS}
"""Sections about what works on no files itself."""

_HINTS = {
    "read_file": "Large files come in pages: read on until you have seen what you need.",
    "write_file": "Keep what you will need later, such as plans, notes and long results, in files.",
    "grep": "To find something, search with `grep` instead of reading file after file.",
}
_COMMANDS = "Commands run in a shell with `execute`; look at the exit status."
_READ_FIRST = "Read a file before you change it; if it has changed since, the edit is refused."
_PARALLEL = (
    "Calls that belong together may be sent in one message: they take effect in the order you "
    "write them, and those that don't depend on each other run in parallel."
)
_KEEPING = frozenset({"write_file", "edit_file", "move"})
"""Operations that store something for later."""


def filesystem_prompt(
    operations: Collection[str], mounts: Mounts, *, read_before_edit: bool = True
) -> str:
    """Return the sections for these operations and mounts."""
    files = _files_section([n for n in operations if n not in _OTHERS], mounts, read_before_edit)
    others = [section for name, section in _OTHERS.items() if name in operations]
    return "\n\n".join(section for section in (files, *others) if section)


def _files_section(operations: Sequence[str], mounts: Mounts, read_before_edit: bool) -> str:
    if not operations:
        return ""
    lines = [f"- {hint}" for name, hint in _HINTS.items() if name in operations]
    if "execute" in operations:
        lines.append(f"- {_COMMANDS} {where_commands_run(mounts)}".rstrip())
    if read_before_edit and "edit_file" in operations:
        lines.append(f"- {_READ_FIRST}")
    lines.append(f"- {_PARALLEL}")
    places = [mount for mount in mounts.all if mount.prefix != "/"]
    if places:
        lines.append(f"- These directories are stored separately: {_listed(places)}.")
    if where := _lasting(mounts.all) if _KEEPING & set(operations) else "":
        lines.append(f"- {where} outlasts this conversation: later ones find it there.")
    names = ", ".join(f"`{name}`" for name in operations)
    return f"{_INTRODUCTION} Your operations are {names}.\n\n" + "\n".join(lines)


def system_message(own: str | SystemMessage | None, section: str) -> SystemMessage | None:
    """Return the user's system message, with our section appended as a content block."""
    ours = [{"type": "text", "text": section}] if section else []
    if own is None or own == "":
        return SystemMessage(section) if section else None
    if isinstance(own, str):
        own = SystemMessage(own)
    if not ours:
        return own
    theirs = (
        own.content if isinstance(own.content, list) else [{"type": "text", "text": own.content}]
    )
    return own.model_copy(update={"content": [*theirs, *ours]})


def where_commands_run(mounts: Mounts) -> str:
    """Return where commands run and how they name files; empty if only a run can tell."""
    shell = next(iter(mounts.shells), None)
    if shell is None or shell.capabilities is None:
        return ""
    here, root = shell.prefix, shell.capabilities.command_root
    unseen = ["your other files"] if here != "/" else []
    if hidden := mounts.below(here):
        unseen.append(_listed(hidden))
    others = f" They don't see {', nor '.join(unseen)}." if unseen else ""
    if root is None:
        # A foreign backend does not say how its commands name files.
        return "" if here == "/" else f"Commands see only the files of `{here}/`.{others}"
    if root == here:
        start = "" if here == "/" else f"Commands start in `{here}`. "
        return f"{start}Commands find files at the same paths as the other operations.{others}"
    example = f"{here.rstrip('/')}/src/a.py"
    if root == "/":
        return f"Commands know `{example}` as `/src/a.py`.{others}"
    return (
        f"Commands start in `{here}`, but know it under another path: use relative paths there, "
        f"`src/a.py` for `{example}`.{others}"
    )


def _listed(mounts: Sequence[Mount]) -> str:
    return ", ".join(f"`{prefix}/`" for prefix in sorted(mount.prefix for mount in mounts))


def _lasting(mounts: Sequence[Mount]) -> str:
    """Return the phrase that names the files that outlive the thread."""
    lasting = [mount for mount in mounts if _lasts(mount)]
    others = [mount for mount in mounts if not _lasts(mount)]
    if any(mount.prefix == "/" for mount in lasting):
        return f"What you keep outside of {_listed(others)}" if others else "What you keep in files"
    within = [one for one in others if any(is_within(one.prefix, it.prefix) for it in lasting)]
    but = f", but not in {_listed(within)}," if within else ""
    return f"What you keep in {_listed(lasting)}{but}" if lasting else ""


def _lasts(mount: Mount) -> bool:
    return mount.capabilities is not None and mount.capabilities.lasting
