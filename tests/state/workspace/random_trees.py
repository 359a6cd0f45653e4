"""Random trees on disk, and random calls on them."""

import os
import random
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

NAMES = ("a", "b", "c.py", "d.md")
TEXTS = ("one\ntwo\n", "needle\n", "x needle y\nlast", "", "caf\u00e9\r\nneedle\r\n")
BYTES = (b"\0needle\n", b"caf\xe9 needle\n", b"\xff\xfe\0")
MODES = (0o644, 0o755, 0o600)


def grow(root: Path, dice: random.Random) -> None:
    """Make a tree of a few directories, files and links."""
    directories = [root]
    for _ in range(dice.randint(1, 5)):
        here = dice.choice(directories) / dice.choice(NAMES)
        if not os.path.lexists(here):
            here.mkdir(mode=dice.choice((0o755, 0o750)))
            directories.append(here)
    for _ in range(dice.randint(2, 10)):
        here = dice.choice(directories) / dice.choice(NAMES)
        if os.path.lexists(here):
            continue
        if dice.random() < 0.2:
            here.symlink_to(dice.choice(("a", "b", "../a", "a/b", "./c.py", "nothing", "/etc")))
        else:
            here.write_bytes(dice.choice([*(text.encode() for text in TEXTS), *BYTES]))
            here.chmod(dice.choice(MODES))


def path(dice: random.Random) -> str:
    """Return a path that may be in the tree."""
    return "/" + "/".join(dice.choice(NAMES) for _ in range(dice.choice((1, 1, 2, 2, 3))))


def change(dice: random.Random) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """Return a call that may change the tree: a method and its arguments."""
    makers: list[Callable[[], tuple[str, tuple[Any, ...], dict[str, Any]]]] = [
        lambda: ("write", (path(dice), dice.choice(TEXTS)), {"overwrite": dice.random() < 0.5}),
        lambda: ("edit", (path(dice), "needle", dice.choice(("pin", "needle 2"))), {}),
        lambda: ("edit", (path(dice), "n", "N", True), {}),
        lambda: ("delete", (path(dice),), {}),
        lambda: ("move", (path(dice), path(dice)), {}),
        lambda: ("upload_files", ([(path(dice), dice.choice(BYTES))],), {}),
    ]
    return dice.choice(makers)()


def look(backend: Any, dice: random.Random) -> list[Any]:
    """Return what a backend shows of its tree."""
    places = ["/", path(dice), path(dice)]
    seen: list[Any] = []
    for place in places:
        listed = backend.ls(place)
        seen.append((place, "ls", _entries(listed)))
        found = backend.glob(dice.choice(("*", "**", "*.py", "a/*", "**/b")), place)
        seen.append(
            (place, "glob", sorted(m["path"] for m in found.matches or ()), bool(found.error))
        )
        for options in ({}, {"max_count": 2}, {"output_mode": "count"}):
            lines = backend.grep("needle", place, dice.choice((None, "*.py")), **options)
            seen.append(
                (place, "grep", lines.matches, lines.counts, lines.truncated, bool(lines.error))
            )
        page = backend.read(place, 0, 2)
        data = page.file_data or {}
        seen.append((place, "read", data.get("content"), page.total_lines, bool(page.error)))
        seen.append((place, "digest", backend.digest(place)))
        seen.append(
            (place, "bytes", [(d.content, bool(d.error)) for d in backend.download_files([place])])
        )
    return seen


def _entries(listed: Any) -> Any:
    found = sorted((e["path"], e.get("is_dir", False)) for e in listed.entries or ())
    return found, bool(listed.error)


def tree_of(root: Path) -> dict[str, tuple[Any, ...]]:
    """Return everything below a directory: kinds, modes, contents and targets."""
    found: dict[str, tuple[Any, ...]] = {}
    for place in sorted(root.rglob("*")):
        status, name = place.lstat(), str(place.relative_to(root))
        if stat.S_ISLNK(status.st_mode):
            found[name] = ("link", os.readlink(place))
        elif stat.S_ISDIR(status.st_mode):
            found[name] = ("directory", oct(stat.S_IMODE(status.st_mode)))
        else:
            found[name] = ("file", oct(stat.S_IMODE(status.st_mode)), place.read_bytes())
    return found


def plant(root: Path, tree: dict[str, tuple[Any, ...]]) -> None:
    """Make a tree again."""
    for name, (kind, what, *content) in tree.items():
        if kind == "directory":
            (root / name).mkdir()
        elif kind == "link":
            (root / name).symlink_to(what)
        else:
            (root / name).write_bytes(content[0])
            (root / name).chmod(int(what, 8))
    for name, (kind, what, *_) in tree.items():
        if kind == "directory":
            (root / name).chmod(int(what, 8))
