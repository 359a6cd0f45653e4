"""What a sandbox sees, put together from nothing, as the arguments of bubblewrap.

The system is there read-only, `/proc`, `/dev`, `/tmp` and a home are its own, and of the host there
is one directory. Without a single capability root still owns the settings of the kernel in
`/proc/sys`: they are covered, or a sandbox of root could change the host.
"""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from langgraph_filesystem.state.backends.supervisor import BLOCK, DIRECTORY, INFO
from langgraph_filesystem.state.paths import is_within

__all__ = ("GROUP", "HOME", "INPUTS", "MERGED", "PASSWD", "View", "is_reserved")

HOME = "/run/home"
PASSWD, GROUP = 8, 9
"""As which handles bubblewrap finds what goes into `/etc`."""
INPUTS: Mapping[int, str] = {
    PASSWD: f"agent:x:1000:1000:agent:{HOME}:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    GROUP: "agent:x:1000:\nnogroup:x:65534:\n",
}
MERGED = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "run", "tmp")
"""Names below `/` that the system has too: of these the sandbox sees both."""

_OWN = ("dev", "etc", "proc", "run", "tmp")
_SYSTEM = MERGED[:7]
_STORES = ("/nix/store", "/gnu/store")
"""Where some systems keep what others have in `/usr`."""
_ETC = ("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "nsswitch.conf")
_ETC_OF_NETWORKS = (
    *("ca-certificates", "hosts", "pki/ca-trust/extracted", "pki/tls/certs", "protocols"),
    *("resolv.conf", "services", "ssl/cert.pem", "ssl/certs", "ssl/openssl.cnf"),
)
"""Not all of `/etc/ssl` and `/etc/pki`: private keys are there too."""
_SETTINGS = ("sys", "fs", "irq", "bus")
"""Directories of `/proc` that are of the whole machine; they can be read."""
_SECRETS = (
    *("iomem", "ioports", "kallsyms", "kcore", "key-users", "keys", "kmsg", "kpagecgroup"),
    *("kpagecount", "kpageflags", "latency_stats", "mtrr", "sched_debug", "slabinfo"),
    *("sysrq-trigger", "timer_list", "timer_stats", "vmallocinfo"),
)
"""Files of `/proc` that tell of the whole machine, or act on it."""
_SHARED_MEMORY = 64 * 1024 * 1024
_TOP = 64 * 1024 * 1024
"""Bytes for what a command makes right below `/`."""
_ETC_BYTES = 1024 * 1024
_MOST, _MOST_BOUND = 400, 64
"""Entries below `/`. 64 mounts take bubblewrap 40 ms, 200 take 200."""


def is_reserved(path: str) -> bool:
    """Say whether a directory can't be shown at a path, because the system is there."""
    names = {*MERGED, *_OWN, "sys", "nix", "gnu"} - {"tmp"}
    return any(is_within(path, f"/{name}") for name in names)


@dataclass(frozen=True)
class View:
    """A directory in a sandbox, and what is around it."""

    place: str
    """Where the directory is."""
    memory: int
    """Bytes of files in `/tmp`."""
    network: bool = False
    read_only: Sequence[str] = ()
    """More paths of the host that are shown."""
    hidden: Sequence[str] = ()
    """Directories in the directory that are not shown."""
    names: Mapping[str, Sequence[str]] | None = None
    """What the directory holds, if it is to be found right below `/` too; with what these hold, of
    those that the system has as well."""

    def taken(self) -> set[str]:
        """Return the names below `/` that the system has, and what is shown of the host."""
        paths = (self.place, *filter(os.path.lexists, (*_STORES, *self.read_only)))
        system = {name for name in _SYSTEM if os.path.lexists(f"/{name}")}
        return {*system, *_OWN, *(path.split("/", 2)[1] for path in paths)}

    def entries(self) -> list[str]:
        """Return what in the directory is shown below `/`."""
        names, taken = self.names or {}, self.taken()
        found = [name for name in names if name not in taken]
        for merged in (name for name in MERGED if name in names and name in taken):
            there = _there(merged)
            found += [f"{merged}/{name}" for name in names[merged] if name not in there]
        return found[:_MOST]

    def bound(self) -> list[str]:
        """Return the entries that are there as themselves."""
        return self.entries()[:_MOST_BOUND]

    def linked(self) -> list[str]:
        """Return the entries that are there as links: a mount takes longer with each of them."""
        return self.entries()[_MOST_BOUND:]

    def head(self) -> Iterator[str]:
        """Yield what bubblewrap is told before the entries."""
        yield from self._namespaces()
        yield from self._system()
        yield from self._own()
        yield from self._etc()
        for path in self.read_only:
            yield from ("--ro-bind-try", path, path)
        yield from ("--bind-fd", str(DIRECTORY), self.place)
        for name in self.hidden:
            yield from ("--size", "4096", "--tmpfs", f"{self.place}/{name}")
            yield from ("--remount-ro", f"{self.place}/{name}")

    def tail(self) -> Iterator[str]:
        """Yield what bubblewrap is told after the entries."""
        for path in self.linked():
            yield from ("--symlink", f"{self.place}/{path}", f"/{path}")
        for name in ("etc", *self._merged()):
            yield from ("--remount-ro", f"/{name}")
        if self.names is None:
            yield from ("--remount-ro", "/")
        yield from ("--chdir", self.place)

    def _namespaces(self) -> Iterator[str]:
        yield from ("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent")
        yield from ("--new-session", "--cap-drop", "ALL", "--hostname", "sandbox")
        yield from ("--uid", "1000", "--gid", "1000")
        yield from ("--info-fd", str(INFO), "--block-fd", str(BLOCK))
        if self.network:
            yield "--share-net"

    def _system(self) -> Iterator[str]:
        yield from ("--size", str(_TOP), "--tmpfs", "/")
        merged = self._merged()
        for name in _SYSTEM:
            path = f"/{name}"
            if name in merged:
                yield from _opened_up(path)
            elif os.path.islink(path):
                yield from ("--symlink", os.readlink(path), path)
            else:
                yield from ("--ro-bind-try", path, path)
        for path in _STORES:
            yield from ("--ro-bind-try", path, path)

    def _merged(self) -> list[str]:
        """Return the directories of the system among whose entries are others."""
        names = self.names or {}
        return [name for name in _SYSTEM if name in names and os.path.isdir(f"/{name}")]

    def _own(self) -> Iterator[str]:
        yield from ("--proc", "/proc", "--dev", "/dev")
        if os.geteuid() == 0:
            yield from _covered()
        yield from ("--size", str(_SHARED_MEMORY), "--perms", "1777", "--tmpfs", "/dev/shm")
        yield from ("--remount-ro", "/dev")
        yield from ("--size", str(self.memory), "--perms", "1777", "--tmpfs", "/tmp")
        yield from ("--size", str(self.memory), "--perms", "0755", "--tmpfs", "/run")
        yield from ("--perms", "0700", "--dir", HOME)

    def _etc(self) -> Iterator[str]:
        yield from ("--size", str(_ETC_BYTES), "--perms", "0755", "--tmpfs", "/etc")
        for name in (*_ETC, *(_ETC_OF_NETWORKS if self.network else ())):
            yield from ("--ro-bind-try", os.path.realpath(f"/etc/{name}"), f"/etc/{name}")
        for handle, name in ((PASSWD, "passwd"), (GROUP, "group")):
            yield from ("--perms", "0644", "--file", str(handle), f"/etc/{name}")


def _opened_up(path: str) -> Iterator[str]:
    """Show the entries of a directory of the system one by one, so that others can be added."""
    yield from ("--size", str(_TOP), "--perms", "0755", "--tmpfs", path)
    real = os.path.realpath(path)
    for name in os.listdir(real):
        if real == path:
            yield from ("--ro-bind", f"{path}/{name}", f"{path}/{name}")
        else:
            yield from ("--symlink", f"{real}/{name}", f"{path}/{name}")


def _covered() -> Iterator[str]:
    """Cover what is root's in `/proc`, and so a sandbox's that is made by root."""
    for name in _SETTINGS:
        if os.path.isdir(f"/proc/{name}"):
            yield from ("--ro-bind", f"/proc/{name}", f"/proc/{name}")
    for name in _SECRETS:
        if os.path.exists(f"/proc/{name}"):
            yield from ("--ro-bind", os.devnull, f"/proc/{name}")


def _there(name: str) -> Collection[str]:
    """Return the names that the sandbox has already in one of its directories."""
    match name:
        case "etc":
            given = (*_ETC, *_ETC_OF_NETWORKS, "passwd", "group")
            return {path.partition("/")[0] for path in given}
        case "run":
            return ("home",)
        case "tmp":
            return ()
        case _:
            return frozenset(os.listdir(f"/{name}"))
