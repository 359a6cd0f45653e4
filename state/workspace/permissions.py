"""Permissions: which operations may work on which paths, and for which a person is asked.

>>> rules = Permissions([FilesystemPermission(["write"], ["/docs/**"], "deny")])
>>> rules.mode("edit_file", "/docs/a.md"), rules.mode("read_file", "/docs/a.md")
('deny', 'allow')

The first rule that covers a path decides; where none does, the operation is allowed. A rule that
denies or asks is wider than its patterns, because a narrow one could be evaded: it covers
everything below a path that matches, and ignores case and Unicode form, as some disks do.
"""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias, get_args

import bracex  # a part of wcmatch, whose own expansion of braces is not public

from langgraph_filesystem.state.errors import PatternRefused
from langgraph_filesystem.state.globs import Glob
from langgraph_filesystem.state.paths import ancestors

__all__ = ("FilesystemPermission", "Mode", "Permissions", "read_only")

Mode: TypeAlias = Literal["allow", "interrupt", "deny"]

_STRICTNESS: tuple[Mode, ...] = get_args(Mode)
_GROUPS: dict[str, tuple[str, ...]] = {
    "ls": ("read",),
    "read_file": ("read",),
    "glob": ("read",),
    "grep": ("read",),
    "write_file": ("write",),
    # Whoever may edit or move a file can find out what it holds.
    "edit_file": ("read", "write"),
    "move": ("read", "write"),
    "delete": ("write",),
    "execute": ("execute",),
}
"""The groups of operations that a rule can name."""
_KNOWN = frozenset({*_GROUPS, "read", "write", "execute"})


@dataclass(frozen=True)
class FilesystemPermission:
    """A rule: what to do when one of these operations works on one of these paths.

    Args:
        operations: `read`, `write`, `execute`, or names of operations such as `delete`.
        paths: Patterns such as `/secrets/**` or `/**/*.{pem,key}`. Names that begin with a dot
            match like any other, and `/secrets/**` covers `/secrets` itself too.
        mode: `allow`, `deny`, or `interrupt` to ask a person.
    """

    operations: Sequence[str]
    paths: Sequence[str]
    mode: Mode = "allow"

    def __post_init__(self) -> None:
        for name, value in (("operations", self.operations), ("paths", self.paths)):
            if isinstance(value, str) or not value:
                raise ValueError(f"`{name}` of a permission must be a list of text, not {value!r}.")
        if unknown := [name for name in self.operations if name not in _KNOWN]:
            raise ValueError(
                f"A permission can't name {', '.join(map(repr, unknown))}. There are: "
                f"{', '.join(sorted(_KNOWN))}."
            )
        if self.mode not in _STRICTNESS:
            raise ValueError(
                f"The mode of a permission must be one of {', '.join(_STRICTNESS)}, not "
                f"{self.mode!r}."
            )
        for path in self.paths:
            if not str(path).startswith("/"):
                raise ValueError(f"The path of a permission must begin with '/', not {path!r}.")
            try:
                _patterns(path)
            except (PatternRefused, bracex.ExpansionLimitException) as refused:
                raise ValueError(str(refused)) from None

    def names(self, operation: str, group: str) -> bool:
        """Say whether the rule is about an operation, as a member of a group."""
        return operation in self.operations or group in self.operations

    def covers(self, path: str) -> bool:
        """Say whether the rule is about a path."""
        if self.mode == "allow":
            return self._matches(path)
        folded = _folded(path)
        return any(self._matches(one) for one in (folded, *ancestors(folded), "/"))

    def may_cover_below(self, directory: str) -> bool:
        """Say whether the rule may be about something below a directory."""
        folded = directory if self.mode == "allow" else _folded(directory)
        return any(glob.may_match_below(folded[1:]) for glob in self._globs)

    def _matches(self, path: str) -> bool:
        return path in self._literals or any(glob.matches(path[1:]) for glob in self._globs)

    @property
    def _spelled(self) -> list[str]:
        fold: Callable[[str], str] = str if self.mode == "allow" else _folded
        return [pattern for path in self.paths for pattern in _patterns(fold(path))]

    @cached_property
    def _globs(self) -> list[Glob]:
        return [Glob(pattern) for pattern in self._spelled if pattern != "/"]

    @cached_property
    def _literals(self) -> frozenset[str]:
        """Paths that patterns are, among them the root, which is no pattern."""
        return frozenset(self._spelled)


class Permissions:
    """The rules of a graph, in their order."""

    def __init__(self, rules: Iterable[FilesystemPermission] = ()) -> None:
        self.rules = tuple(rules)
        for rule in self.rules:
            if not isinstance(rule, FilesystemPermission):
                raise ValueError(f"`permissions` must be a list of rules, not of {rule!r}.")

    def __bool__(self) -> bool:
        """Say whether anything is denied, or a person asked."""
        return any(rule.mode != "allow" for rule in self.rules)

    def mode(self, operation: str, path: str) -> Mode:
        """Return whether an operation on a path is allowed; a tool that is not ours always is."""
        found: Mode = "allow"
        for group in _GROUPS.get(operation, ()):
            rules = (rule for rule in self.rules if rule.names(operation, group))
            if first := next((rule for rule in rules if rule.covers(path)), None):
                found = max(found, first.mode, key=_STRICTNESS.index)
        return found

    def may_restrict_below(
        self, operation: str, directory: str, modes: Sequence[Mode] = ("interrupt", "deny")
    ) -> bool:
        """Say whether some path below a directory may have one of these modes."""
        return any(
            rule.mode in modes and rule.names(operation, group) and rule.may_cover_below(directory)
            for rule in self.rules
            for group in _GROUPS.get(operation, ())
        )


def read_only(*paths: str) -> FilesystemPermission:
    """Return the rule that protects directories: `permissions=[read_only("/docs/")]`."""
    covered = [f"{path.rstrip('/')}/**" for path in paths]
    return FilesystemPermission(["write"], covered, "deny")


def _patterns(path: str) -> list[str]:
    """Return the patterns that braces expand to; `/a/**` is about `/a` too."""
    if path.strip("/"):
        Glob(path)  # raises for one that is invalid
    expanded = bracex.expand(path, keep_escapes=True, limit=256)
    above = [one.removesuffix("/**") or "/" for one in expanded if one.endswith("/**")]
    return list(dict.fromkeys([*(one.rstrip("/") or "/" for one in expanded), *above]))


def _folded(path: str) -> str:
    """Return a path without what some disks ignore: case, and the form of accents."""
    # Folding can undo the normal form, so it comes last.
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
