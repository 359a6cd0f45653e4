"""Permissions: which operations may work on which paths, and for which a person is asked.

>>> rules = Permissions([FilesystemPermission(["write"], ["/docs/**"], "deny")])
>>> rules.mode("edit_file", "/docs/a.md"), rules.mode("read_file", "/docs/a.md")
('deny', 'allow')

The first rule that covers a path decides; where none does, the operation is allowed. A rule that
denies or asks is wider than its patterns, because a narrow one could be evaded: it covers
everything below a path that matches, and ignores case and Unicode form, as some disks do.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, TypeAlias, get_args

import bracex  # a part of wcmatch, whose own expansion of braces is not public

from langgraph_filesystem.state.backends.file_store import Access
from langgraph_filesystem.state.errors import PatternRefused
from langgraph_filesystem.state.globs import Glob
from langgraph_filesystem.state.paths import ancestors, is_within

__all__ = ("FilesystemPermission", "Mode", "Permissions", "read_only", "stricter", "strictest")

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
_READING = tuple(name for name, groups in _GROUPS.items() if groups == ("read",))
_WRITING = tuple(name for name, groups in _GROUPS.items() if "write" in groups)
_KNOWN = frozenset({*_GROUPS, "read", "write", "execute"})
_SPECIAL = frozenset("*?[{\\")


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
            _ = self._exact, self._folded
        except (PatternRefused, bracex.ExpansionLimitException) as refused:
            raise ValueError(str(refused)) from None

    def names(self, operation: str, group: str) -> bool:
        """Say whether the rule is about an operation, as a member of a group."""
        return operation in self.operations or group in self.operations

    def covers(self, path: str) -> bool:
        """Say whether the rule is about a path."""
        if self._exact.match(path):
            return True
        if self._folded is None:
            return False
        folded = _folded(path)
        if folded == path and self._folded.patterns == self._exact.patterns:
            return False
        return self._folded.match(folded)

    def may_cover_below(self, directory: str) -> bool:
        """Say whether the rule may be about something below a directory."""
        if self._exact.may_match_below(directory):
            return True
        return self._folded is not None and self._folded.may_match_below(_folded(directory))

    def may_cover_in(self, mount: str, others: Iterable[str]) -> bool:
        """Say whether the rule may be about files of a mount, with other mounts below it."""
        below = [prefix for prefix in others if prefix != mount and is_within(prefix, mount)]
        for pattern in self._exact.patterns:
            start = _literal_start(pattern)
            if any(is_within(start, prefix) for prefix in below):
                continue  # another mount has all of it
            if is_within(start, mount) or (is_within(mount, start) and self._reaches(mount)):
                return True
        return False

    def _reaches(self, directory: str) -> bool:
        return self.covers(directory) or self.may_cover_below(directory)

    @cached_property
    def _exact(self) -> "_Patterns":
        return _Patterns(self.paths, with_below=self.mode != "allow")

    @cached_property
    def _folded(self) -> "_Patterns | None":
        if self.mode == "allow":
            return None
        return _Patterns([_folded(path) for path in self.paths], with_below=True)


Rules: TypeAlias = tuple[FilesystemPermission, ...]


class Permissions:
    """The rules of a graph, in their order."""

    def __init__(self, rules: Iterable[FilesystemPermission] = ()) -> None:
        if isinstance(rules, FilesystemPermission):
            raise ValueError(f"`permissions` must be a list of rules, such as [{rules!r}].")
        self.rules: Rules = tuple(rules)
        for rule in self.rules:
            if not isinstance(rule, FilesystemPermission):
                raise ValueError(
                    "`permissions` must be a list of langgraph_filesystem.FilesystemPermission, "
                    f"not of {rule!r}."
                )
        self._of = {operation: self._named(operation) for operation in _GROUPS}
        self._reading = _distinct(rules for name in _READING for rules in self._of[name])
        self._writing = _distinct(self._of[name][-1] for name in _WRITING)

    def __bool__(self) -> bool:
        """Say whether anything is denied, or a person asked."""
        return any(rule.mode != "allow" for rule in self.rules)

    def mode(self, operation: str, path: str) -> Mode:
        """Return whether an operation on a path is allowed; a tool that is not ours always is."""
        return strictest(_mode_of(rules, path) for rules in self._of.get(operation, ()))

    def is_stricter(self, operation: str, path: str, than: Mode) -> bool:
        """Say whether a path has a stricter mode than this one."""
        return self.mode(operation, path) in stricter(than)

    def may_restrict_below(
        self, operation: str, directory: str, modes: Sequence[Mode] = ("interrupt", "deny")
    ) -> bool:
        """Say whether some path below a directory may have one of these modes."""
        return any(
            rule.mode in modes and rule.may_cover_below(directory)
            for rules in self._of.get(operation, ())
            for rule in rules
        )

    def restricts_all(self, operation: str, directory: str, than: Mode) -> bool:
        """Say whether a directory and everything below it has a stricter mode than this one."""
        # A rule that restricts a directory covers what is below it, unless a laxer one comes first.
        return self.is_stricter(operation, directory, than) and not any(
            rule.mode not in stricter(than) and rule.may_cover_below(directory)
            for rules in self._of[operation]
            for rule in rules
        )

    def access(self, path: str) -> Access:
        """Return what a command may do with a path: no person is asked for a part of a command."""
        if any(_mode_of(rules, path) != "allow" for rules in self._reading):
            return "none"
        is_restricted = any(_mode_of(rules, path) != "allow" for rules in self._writing)
        return "read-only" if is_restricted else "full"

    def may_differ_below(self, directory: str) -> bool:
        """Say whether a command may have another access to something below a directory."""
        access = self.access(directory)
        reading, writing = (
            _may_change(self._reading, directory),
            _may_change(self._writing, directory),
        )
        if access == "none":
            return "allow" in reading
        if "deny" in reading or "interrupt" in reading:
            return True
        return "allow" in writing if access == "read-only" else bool(writing - {"allow"})

    def _named(self, operation: str) -> list[Rules]:
        """Return the rules about an operation, for each group that it is in."""
        return [
            tuple(rule for rule in self.rules if rule.names(operation, group))
            for group in _GROUPS[operation]
        ]


def strictest(modes: Iterable[Mode]) -> Mode:
    """Return the mode that restricts most."""
    return max(modes, key=_STRICTNESS.index, default="allow")


def stricter(mode: Mode) -> Sequence[Mode]:
    """Return the modes that restrict more than this one."""
    return _STRICTNESS[_STRICTNESS.index(mode) + 1 :]


def read_only(*paths: str) -> FilesystemPermission:
    """Return the rule that protects directories: `permissions=[read_only("/docs/")]`."""
    return FilesystemPermission(["write"], [f"{path.rstrip('/')}/**" for path in paths], "deny")


def _mode_of(rules: Rules, path: str) -> Mode:
    return next((rule.mode for rule in rules if rule.covers(path)), "allow")


def _may_change(groups: Iterable[Rules], directory: str) -> set[Mode]:
    """Return the modes of the rules that may be about something below a directory."""
    return {rule.mode for rules in groups for rule in rules if rule.may_cover_below(directory)}


def _distinct(groups: Iterable[Rules]) -> list[Rules]:
    found: list[Rules] = []
    for rules in groups:
        if rules not in found:
            found.append(rules)
    return found


class _Patterns:
    """Patterns of a rule, as they are written or folded."""

    def __init__(self, paths: Iterable[str], *, with_below: bool) -> None:
        self.patterns = list(dict.fromkeys(one for path in paths for one in _expanded(path)))
        # `/a/**` is about `/a` too.
        self._tops = frozenset(one.removesuffix("/**") or "/" for one in self.patterns)
        texts = dict.fromkeys([*self.patterns, *self._tops])
        self._globs = [Glob(text) for text in texts if text != "/"]
        self._with_below = with_below
        # Siblings ask about the same directories: without a cache a walk takes 5 times as long.
        self._is_directory_matched = lru_cache(maxsize=4_096)(self._is_matched)

    def match(self, path: str) -> bool:
        """Say whether a path matches or, with `with_below`, is below one that does."""
        if self._is_matched(path):
            return True
        return self._with_below and any(map(self._is_directory_matched, (*ancestors(path), "/")))

    def may_match_below(self, directory: str) -> bool:
        """Say whether something below a directory may match."""
        if self._with_below and self.match(directory):
            return True
        if any(glob.may_match_below(directory[1:]) for glob in self._globs):
            return True
        return any(is_within(one, directory) for one in self._tops)

    def _is_matched(self, path: str) -> bool:
        # A path may be written as it is, with characters that mean something in a pattern.
        return path in self._tops or any(glob.matches(path[1:]) for glob in self._globs)


def _expanded(path: str) -> list[str]:
    """Return the patterns that braces expand to; `/a/` means everything below `/a`."""
    if path.strip("/"):
        Glob(path.rstrip("/"))  # raises for one that is invalid
    expanded = bracex.expand(path, keep_escapes=True, limit=256)
    return [f"{one.rstrip('/')}/**" if one.endswith("/") else one for one in expanded]


def _literal_start(pattern: str) -> str:
    """Return the directory, or the path, in which everything lies that a pattern matches."""
    names = [name for name in pattern.split("/") if name not in ("", ".")]
    literal = next((n for n, name in enumerate(names) if _SPECIAL & set(name)), len(names))
    return "/" + "/".join(names[:literal])


def _folded(path: str) -> str:
    """Return a path without what some disks ignore: case, and the form of accents."""
    if path.isascii():
        return path.lower()
    # Folding can undo the normal form, so it comes last.
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
