"""A program that changes files on a mount, dies at the n-th moment of it, and is resumed.

Run by `test_moves_killed.py`. The moments are before and after each change on the mount, and with
`all` before and after each thing that is stored, too. This process imports everything once and
forks, so that a life begins in a few milliseconds.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage, ToolMessage

from langgraph_filesystem import create_filesystem_agent
from langgraph_filesystem.state import copies
from langgraph_filesystem.state.backends import claims, removal
from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from langgraph_filesystem.state.backends.objects.store import StoreBackend
from langgraph_filesystem.state.backends.state import StateBackend
from langgraph_filesystem.state.workspace.composite import CompositeBackend
from tests.databases import open_database
from tests.scripted import ScriptedModel, call, says

DIED = 9
FILES = {"/one": b"one\n", "/many/a": b"a\r\n", "/many/deep/b": b"\xff\x00"}
EDITS = [("one", "two"), ("two", "one"), ("one", "two")]
EDIT_SCRIPT = [
    says(call("read_file", "r", file_path="/m/one")),
    says(
        *(
            call("edit_file", f"{n}", file_path="/m/one", old_string=old, new_string=new)
            for n, (old, new) in enumerate(EDITS)
        )
    ),
]
MOVE_SCRIPT = [
    says(
        call("move", "1", source="/m/one", destination="/out/one"),
        call("move", "2", source="/m/many", destination="/out/many"),
        call("ls", "3", path="/out"),
    )
]
MANY = {f"/in/{number % 3}/{number}": f"{number}\n" for number in range(5)}
MANY_SCRIPT = [says(call("move", "1", source="/in", destination="/m/out"))]
DISK_SCRIPT = [says(call("move", "1", source="/m/many", destination="/n/deep/many"))]
SCRIPTS = {"moves": MOVE_SCRIPT, "edits": EDIT_SCRIPT, "batches": MANY_SCRIPT, "trees": DISK_SCRIPT}
STEPS = ("delete", "delete_copied", "edit", "upload_files")
CLAIM_STEPS = ("_claim", "_settled_mark", "_renamed", "_remove")
"""How a disk deletes what was copied: a claim, a look, another name, and the deletion."""
NAMESPACE = ("killed",)


class Fuse:
    """Ends the process at the n-th moment, as a kill does."""

    def __init__(self, moments: int) -> None:
        self.left = moments

    def burn(self) -> None:
        """Come one moment closer."""
        self.left -= 1
        if self.left == 0:
            os._exit(DIED)

    def around(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method with a moment before and one after it."""

        def burning(*args: Any, **options: Any) -> Any:
            self.burn()
            result = method(*args, **options)
            self.burn()
            return result

        return burning


class Unjournaled:
    """What a backend of others has: the methods on files, without keys and without a journal."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def ls(self, path: str) -> Any:
        return self._backend.ls(path)

    def download_files(self, paths: list[str]) -> Any:
        return self._backend.download_files(paths)

    def delete(self, file_path: str) -> Any:
        return self._backend.delete(file_path)


class Place:
    """Where the threads are kept, what they do, and the mount with the files."""

    def __init__(self, database: Path, moments: str, kind: str, what: str) -> None:
        self.database = database
        self.has_all_moments = moments == "all"
        self.kind = kind
        self.script = SCRIPTS[what]
        self.files = MANY if what == "batches" else {}

    def agent(self, number: int, opened: Any, fuse: Fuse) -> Any:
        """Return the agent of a thread."""
        checkpointer, store = opened
        return create_filesystem_agent(
            ScriptedModel(self.script),
            mounts=self.mounts(number, store, fuse),
            checkpointer=checkpointer,
            store=store,
        )

    def mounts(self, number: int, store: Any, fuse: Fuse) -> dict[str, Any]:
        """Return the mounts of a thread."""
        backend = self.backend(number, store)
        for method in (step for step in STEPS if hasattr(backend, step)):
            # A disk takes the files of a batch one by one: it may die between two of them.
            step = "_upload" if method == "upload_files" and hasattr(backend, "_upload") else method
            setattr(backend, step, fuse.around(getattr(backend, step)))
        if self.kind == "foreign":
            return {"/m": Unjournaled(backend)}
        if self.kind == "composite":
            return {"/": lambda _: CompositeBackend(StateBackend(), {"/m": backend})}
        if self.script is DISK_SCRIPT:
            end = self.second(number)
            end.receive = fuse.around(end.receive)  # type: ignore[method-assign]
            return {"/m": backend, "/n": end}
        return {"/m": backend}

    def second(self, number: int) -> FilesystemBackend:
        """Return the backend of a thread to which a disk moves files."""
        root = self.database.parent / f"others-{number}"
        root.mkdir(exist_ok=True)
        return FilesystemBackend(root)

    def backend(self, number: int, store: Any) -> Any:
        """Return the backend that has the files of a thread."""
        if self.kind == "store":
            return StoreBackend((*NAMESPACE, str(number)), store=store)
        root = self.database.parent / f"files-{number}"
        root.mkdir(exist_ok=True)
        return FilesystemBackend(root)


def live(place: Place, number: int, fuse: Fuse) -> None:
    """Run a thread from wherever it is to its end, or to the end of the fuse."""
    config: Any = {"configurable": {"thread_id": str(number)}}
    if place.has_all_moments or place.script is DISK_SCRIPT:
        for step in CLAIM_STEPS:
            setattr(claims, step, fuse.around(getattr(claims, step)))
        removal._emptied = fuse.around(removal._emptied)
    with open_database(place.database) as opened:
        agent = place.agent(number, opened, fuse)
        begun = agent.get_state(config).created_at is not None
        for method in ("put", "put_writes") if place.has_all_moments else ():
            setattr(opened.checkpointer, method, fuse.around(getattr(opened.checkpointer, method)))
        given: Any = {"messages": [HumanMessage("go", id="go")], "files": place.files}
        agent.invoke(None if begun else given, config)


def life(place: Place, number: int, moments: int) -> bool:
    """Let a child live for so many moments; say whether it ended by itself."""
    child = os.fork()
    if child == 0:
        live(place, number, Fuse(moments))
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status not in (0, DIED):
        raise SystemExit(f"the run {number} failed")
    return status == 0


def fill(place: Place, number: int) -> None:
    """Put the files on the mount that are to be moved."""
    with open_database(place.database) as (_, store):
        place.backend(number, store).upload_files(list(FILES.items()))


def outcome(place: Place, number: int) -> dict[str, Any]:
    """Return what the thread holds in the end, and what is left on the mount."""
    config: Any = {"configurable": {"thread_id": str(number)}}
    with open_database(place.database) as opened:
        state = place.agent(number, opened, Fuse(0)).get_state(config)
        backend = place.backend(number, opened.store)
        left, others = _contents(backend), _contents(place.second(number))
    answers = [m for m in state.values["messages"] if isinstance(m, ToolMessage)]
    return {
        "next": list(state.next),
        "answers": {m.tool_call_id: m.text for m in answers},
        "count": len(answers),
        "files": {path: file["content"] for path, file in state.values.get("files", {}).items()},
        "left": left,
        "others": others,
        "seen": [name for name in state.values.get("seen", {}) if not name.startswith("/")],
    }


def _contents(backend: Any) -> dict[str, str]:
    paths = [info["path"] for info in backend.glob("**/*").matches]
    found = backend.download_files(paths)
    return {path: repr(one.content) for path, one in zip(paths, found, strict=True)}


def outcomes_of(place: Place) -> list[dict[str, Any]]:
    """Die at each moment of the run, resume, and return every thread's outcome."""
    outcomes: list[dict[str, Any]] = []
    is_whole = False
    while not is_whole:
        number = len(outcomes) + 1
        fill(place, number)
        is_whole = life(place, number, number)
        if not is_whole:
            life(place, number, 0)
        outcomes.append(outcome(place, number))
    return outcomes


def main(directory: Path, moments: str, cases: list[str]) -> None:
    """Print the outcomes of each case: what is done on which kind of mount."""
    copies._BATCH_FILES = 2  # so that a few files are several batches
    found = {}
    for case in cases:
        (directory / case).mkdir(parents=True)
        what, kind = case.split("-")
        found[case] = outcomes_of(Place(directory / case / "agent.db", moments, kind, what))
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
