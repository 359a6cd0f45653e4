"""A program that applies a thread's changes, dies at the n-th moment of it, and does it again.

Run by `test_kills.py`. A moment is before or after each call that changes the disk or the store, or
that stores a checkpoint.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from langgraph_filesystem import FilesystemBackend, OverlayBackend, StoreBackend, history
from tests.databases import open_database
from tests.graph.history.obedient import deletes, edits, moves, obedient, told, writes
from tests.laws.killed_moments import DIED, ON_DISK, Fuse

FILES = {
    "/edited": b"one\ntwo\n",
    "/changed": b"one\ntwo\n",
    "/ours": b"one\n",
    "/gone": b"x",
    "/tree/a": b"a",
    "/tree/deep/b": b"\xff\x00",
    "/opaque/old": b"old",
    "/becomes/file": b"x",
}
CALLS = [
    [edits("/edited", "two", "2"), edits("/changed", "two", "2"), edits("/ours", "one", "1")],
    [deletes("/gone"), moves("/tree", "/moved"), deletes("/opaque"), deletes("/becomes")],
    [writes("/opaque/new", "new"), writes("/becomes", "a file"), writes("/new/deep/c", "c")],
]


class Scene:
    """One thread over files of its own."""

    def __init__(self, directory: Path, kind: str, number: int) -> None:
        self.database = directory / "agent.db"
        self.root = directory / f"files-{number}"
        self.kind = kind
        self.number = number
        self.config: Any = {"configurable": {"thread_id": str(number)}}

    def backend(self, store: Any) -> Any:
        if self.kind == "store":
            return StoreBackend(("applied", str(self.number)), store=store)
        self.root.mkdir(exist_ok=True)
        return FilesystemBackend(self.root)

    def agent(self, opened: Any) -> Any:
        backend = self.backend(opened.store)
        return obedient({"/": OverlayBackend(backend)}, opened.checkpointer)

    def fill(self) -> None:
        """Let the thread make its changes, and others make some below."""
        with open_database(self.database) as opened:
            backend = self.backend(opened.store)
            backend.upload_files(list(FILES.items()))
            if self.kind == "disk":
                (self.root / "tree/deep").chmod(0o750)
            agent = self.agent(opened)
            for calls in CALLS:
                agent.invoke(told(*calls), self.config)
            backend.upload_files([("/changed", b"zero\none\ntwo\n"), ("/ours", b"theirs\n")])

    def apply(self, fuse: Fuse) -> None:
        with open_database(self.database) as opened:
            agent = self.agent(opened)
            fuse.around(opened.checkpointer, "put", "put_writes")
            if self.kind == "store":
                fuse.around(opened.store, "batch")
            else:
                fuse.around(os, *ON_DISK)
            history.apply(agent, self.config, on_conflict="force")

    def outcome(self) -> dict[str, Any]:
        with open_database(self.database) as opened:
            values = self.agent(opened).get_state(self.config).values
            backend = self.backend(opened.store)
            paths = [info["path"] for info in backend.glob("**").matches]
            found = backend.download_files(paths)
        moved = self.root / "moved/deep"
        names = [str(path) for path in self.root.rglob("*")]
        return {
            "mode": oct(moved.stat().st_mode & 0o777) if self.kind == "disk" else "0o750",
            "waiting": [*values["files"], *values["overlay"]],
            "files": {path: repr(one.content) for path, one in zip(paths, found, strict=True)},
            "ours": [name for name in names if "lgfs" in name or "langgraph" in name],
        }


def life(scene: Scene, moments: int) -> bool:
    """Let a child apply for so many moments; say whether it ended by itself."""
    child = os.fork()
    if child == 0:
        scene.apply(Fuse(moments))
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status not in (0, DIED):
        raise SystemExit(f"the apply {scene.number} failed")
    return status == 0


def main(directory: Path, kind: str, stride: int) -> None:
    """Die at each moment, or some of them; apply again; print every outcome."""
    outcomes: list[dict[str, Any]] = []
    is_whole = False
    while not is_whole:
        scene = Scene(directory, kind, len(outcomes) * stride + 1)
        scene.fill()
        is_whole = life(scene, scene.number)
        if not is_whole:
            life(scene, 0)
        outcomes.append(scene.outcome())
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
