"""The rules of an agent, applied to the places of a workspace.

A rule is checked on the path that a call names, on what it leads to by links, and on what lies
below it. The path that a call names is special: if a person has to be asked for it, or for
something in a directory that is deleted or moved, the router has done so.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from langgraph_filesystem.state.backends.file_store import Access, Confinement, Skip
from langgraph_filesystem.state.backends.protocol import FileInfo
from langgraph_filesystem.state.errors import (
    DeniedByRule,
    FileNotFound,
    FilesystemError,
    Unsupported,
)
from langgraph_filesystem.state.io import in_thread
from langgraph_filesystem.state.paths import is_within
from langgraph_filesystem.state.text import Note, PathPart
from langgraph_filesystem.state.workspace.permissions import (
    FilesystemPermission,
    Permissions,
    stricter,
    strictest,
)

if TYPE_CHECKING:
    from langgraph_filesystem.state.workspace.mounts import Mounts
    from langgraph_filesystem.state.workspace.workspace import Place, Workspace

__all__ = ("LEFT_OUT", "Scope", "check_commands", "confine")

LEFT_OUT = "Paths that the rules of this agent don't allow are left out."
"""Said wherever there may be such paths, so that it tells nobody whether there are any."""


class Scope:
    """The paths that one call may work on: those that no rule restricts more than its own path.

    Args:
        permissions: The rules.
        operation: What the call does.
        path: The path that it names.
        alias_of: The path that this one is an alias of, if there is one.

    Raises:
        DeniedByRule: If a rule denies the path. Nothing has been looked at by then.
    """

    def __init__(
        self, permissions: Permissions, operation: str, path: str, alias_of: str | None = None
    ) -> None:
        self._permissions = permissions
        self.operation = operation
        self._path = path
        self._named = [path] if alias_of is None else [path, alias_of]
        self._mode = strictest(permissions.mode(operation, one) for one in self._named)
        self._resolved: dict[str, list[str]] = {}
        if self._mode == "deny":
            raise DeniedByRule(path, f"a rule of this agent denies `{operation}` here.")

    def excludes(self, path: str) -> bool:
        """Say whether a path is left out of what the call works on."""
        return self._permissions.is_stricter(self.operation, path, self._mode)

    async def check(self, place: "Place") -> None:
        """Raise if what the path leads to is denied, or a person would have to be asked for it."""
        if not self._permissions:
            return
        self.check_path(place.path)
        for inner in await self._resolve(place):
            self.check_path(place.mount.outer(inner))

    def check_path(self, path: str) -> None:
        """Raise if the call's own path leads to one that is denied, or where a person is asked."""
        mode = self._permissions.mode(self.operation, path)
        if mode == "deny":
            raise DeniedByRule(
                self._path,
                f"it leads to a path where a rule of this agent denies `{self.operation}`.",
            )
        if mode in stricter(self._mode):
            raise self._needs_person(path)

    async def check_below(self, place: "Place") -> None:
        """Raise if something in a directory can't be deleted or moved with it."""
        if not await self.may_exclude(place) and not self._may_have_links(place):
            return
        outer, real = place.mount.outer, (await self._resolve(place))[-1]
        # For what has to be approved below the path that the call names, a person was asked.
        approved = self._mode if place.path not in self._named else "interrupt"

        def is_protected(info: FileInfo) -> bool:
            path = info["path"]
            if self._permissions.is_stricter(self.operation, outer(path), approved):
                return True
            real_path = real.rstrip("/") + path[len(place.inner) :]
            return real != place.inner and self.excludes(outer(real_path))

        infos = await _tree(place)
        is_any = await in_thread(any, map(is_protected, infos))
        if is_any or any([await self.excludes_link(place, info) for info in infos]):
            raise self._protected("something in it")

    async def check_landing(self, place: "Place", source: "Place") -> None:
        """Raise if something of a source would be moved to a path that is denied."""
        skips = await self.skips(place)
        if skips is None:
            return
        names = [info["path"][len(source.inner) :] for info in await _tree(source)]
        landings = (skips(place.inner + name) for name in names)
        if await in_thread(any, landings):
            raise self._protected("a path in it")

    async def skips(self, place: "Place") -> Skip | None:
        """Return which paths of a store a search from a place leaves out; `None` for none."""
        if not await self.may_exclude(place):
            return None
        inner, outer = place.inner, place.mount.outer
        real = (await self._resolve(place))[-1]

        def skips(path: str) -> bool:
            names = [path]
            if real != inner and is_within(path, inner):
                names.append(real.rstrip("/") + path[len(inner) :])
            if path.endswith("/"):
                return any(self._excludes_all(outer(name)) for name in names)
            return any(self.excludes(outer(name)) for name in names)

        return skips

    async def excludes_link(self, place: "Place", info: FileInfo) -> bool:
        """Say whether an entry of a store is a link to a path that is left out."""
        if not self._permissions or not info.get("is_link"):
            return False
        names = await place.store.resolve(info["path"])
        return any(self.excludes(place.mount.outer(name)) for name in names)

    def may_exclude_below(self, path: str) -> bool:
        """Say whether something below a path may be left out."""
        modes = stricter(self._mode)
        return self._permissions.may_restrict_below(self.operation, path, modes)

    def shown(self, notes: Iterable[Note]) -> list[Note]:
        """Return the notes that name no path that is left out."""
        return [
            note
            for note in notes
            if not any(isinstance(part, PathPart) and self.excludes(part) for part in note.parts)
        ]

    async def may_exclude(self, place: "Place") -> bool:
        """Say whether something below a place may be left out."""
        if not self._permissions:
            return False
        real = place.mount.outer((await self._resolve(place))[-1])
        return any(self.may_exclude_below(path) for path in {place.path, real})

    async def _resolve(self, place: "Place") -> list[str]:
        """Return the links that a place goes by and its real path, asked for once."""
        if place.path not in self._resolved:
            with place.renaming():
                self._resolved[place.path] = await place.store.resolve(place.inner)
        return self._resolved[place.path]

    def _may_have_links(self, place: "Place") -> bool:
        return bool(self._permissions) and place.store.capabilities.on_machine

    def _excludes_all(self, directory: str) -> bool:
        return self._permissions.restricts_all(self.operation, directory, self._mode)

    def _protected(self, what: str) -> DeniedByRule:
        return DeniedByRule(
            self._path,
            f"a rule of this agent doesn't allow `{self.operation}` for {what}. Nothing was "
            "changed.",
        )

    def _needs_person(self, path: str) -> FilesystemError:
        """Name the path only to those who may list it."""
        is_listed = self._permissions.mode("ls", path) == "allow"
        return FilesystemError(
            PathPart(self._path),
            f": leads to a path where a person has to be asked for `{self.operation}`. Use the "
            "real path",
            *([", ", PathPart(path)] if is_listed else []),
            ".",
        )


async def confine(workspace: "Workspace", shell: "Place") -> Confinement | None:
    """Return what a command must be kept from; raise if a rule forbids it, or can't be enforced.

    In an overlay that includes the paths of other mounts under it: its files are in the state as
    theirs are, under the same paths.
    """
    permissions = workspace.permissions
    is_overlay = shell.mount.overlay is not None
    others = [one.prefix for one in workspace.mounts.below(shell.mount.prefix) if is_overlay]
    if not permissions and not others:
        return None
    Scope(permissions, "execute", shell.path)
    if not shell.store.capabilities.confines:
        for mount in workspace.mounts.all:
            if mount.is_factory and _is_restricted(permissions, workspace.mounts, mount.prefix):
                await workspace.place(mount.prefix)
        if _unenforced(permissions, workspace.mounts):
            raise Unsupported(
                "The command was not run: rules of this agent protect files that it could reach. "
                "Use the file operations."
            )
        return None
    outer = shell.mount.outer

    def access(path: str) -> Access:
        is_other = any(is_within(outer(path), prefix) for prefix in others)
        return "none" if is_other else permissions.access(outer(path))

    def may_differ_below(path: str) -> bool:
        has_others = any(is_within(prefix, outer(path)) for prefix in others)
        return has_others or permissions.may_differ_below(outer(path))

    if access("/") == "full" and not may_differ_below("/"):
        return None
    return Confinement(access, may_differ_below)


def check_commands(permissions: Permissions, mounts: "Mounts") -> None:
    """Raise `ValueError` for a rule that commands could evade; factories are checked in a run."""
    for mount in mounts.shells:
        if mount.capabilities is None:
            continue
        if mount.capabilities.confines or permissions.mode("execute", mount.prefix) == "deny":
            return
        if rule := _unenforced(permissions, mounts):
            raise ValueError(
                f"Commands of the mount {mount.prefix!r} ({mount.name}) are not confined, so the "
                f"permission for {', '.join(rule.paths)} can't be enforced on them. Mount a "
                "SandboxBackend instead, or leave `execute` out of `operations`."
            )
        return


def _unenforced(permissions: Permissions, mounts: "Mounts") -> FilesystemPermission | None:
    """Return a rule that a command without confinement could evade."""
    for mount in mounts.all:
        known = mount.capabilities
        is_reachable = known is not None and known.on_machine
        if is_reachable and (rule := _is_restricted(permissions, mounts, mount.prefix)):
            return rule
    return None


def _is_restricted(
    permissions: Permissions, mounts: "Mounts", prefix: str
) -> FilesystemPermission | None:
    """Return a rule that may deny or ask for reading or writing files of a mount."""
    others = [mount.prefix for mount in mounts.all]
    for rule in permissions.rules:
        is_about_files = set(rule.operations) != {"execute"}
        if is_about_files and rule.mode != "allow" and rule.may_cover_in(prefix, others):
            return rule
    return None


async def _tree(place: "Place") -> list[FileInfo]:
    try:
        with place.renaming():
            return await place.store.tree(place.inner)
    except FileNotFound:
        return []  # a call that is repeated after a crash may have moved or deleted it already
