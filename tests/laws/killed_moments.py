"""A program that changes files on a mount, dies at the n-th moment of it, and is resumed.

Run by `test_kills.py`. A moment is before or after each call that changes the disk or the store,
or that stores a checkpoint. This process imports everything once and forks, so that a life begins
in a few milliseconds.
"""

import functools
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.types import Command

from langgraph_filesystem import (
    CompositeBackend,
    FilesystemBackend,
    StateBackend,
    StoreBackend,
    Summarize,
    create_filesystem_agent,
)
from tests.databases import open_database
from tests.scripted import ScriptedModel, call, says
from tests.summarizing import Worker

DIED = 9
FILES = {"/one": b"one\n", "/many/a": b"a\r\n", "/many/deep/b": b"\xff\x00"}
MANY = {f"/in/{number % 3}/{number}": f"{number}\n" for number in range(5)}
EDITS = [("one", "two"), ("two", "one"), ("one", "two")]
SCRIPTS = {
    "moves": [
        says(
            call("move", "1", source="/m/one", destination="/out/one"),
            call("move", "2", source="/m/many", destination="/out/many"),
            call("ls", "3", path="/out"),
        )
    ],
    "edits": [
        says(call("read_file", "r", file_path="/m/one")),
        says(
            *(
                call("edit_file", f"{n}", file_path="/m/one", old_string=old, new_string=new)
                for n, (old, new) in enumerate(EDITS)
            )
        ),
    ],
    "reviews": [
        says(call("read_file", "r", file_path="/m/one")),
        says(
            call("edit_file", "0", file_path="/m/one", old_string="one", new_string="two"),
            call("edit_file", "1", file_path="/m/one", old_string="two", new_string="three"),
            call("delete", "2", file_path="/m/many"),
        ),
    ],
    "batches": [says(call("move", "1", source="/in", destination="/m/out"))],
    "trees": [says(call("move", "1", source="/m/many", destination="/n/deep/many"))],
}
TALK: list[Any] = [
    message
    for n in range(20)
    for message in (HumanMessage(f"<{n}>" + "x" * 900, id=f"q{n}"), AIMessage("yes", id=f"y{n}"))
]
"""A conversation that has to be summarized."""
ON_DISK = ("rename", "replace", "link", "symlink", "unlink", "rmdir", "mkdir", "fsync")
"""Every change of a directory on disk goes through one of these functions of `os`, or is not seen
before one of them."""


class Fuse:
    """Ends the process at the n-th moment, as a kill does; at none if it is 0."""

    def __init__(self, moments: int) -> None:
        self.left = moments

    def burn(self) -> None:
        """Come one moment closer."""
        self.left -= 1
        if self.left == 0:
            os._exit(DIED)

    def around(self, target: Any, *names: str) -> None:
        """Put a moment before and one after each call of some functions."""
        for name in names:
            setattr(target, name, self._burning(getattr(target, name)))

    def _burning(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def burning(*args: Any, **options: Any) -> Any:
            self.burn()
            result = function(*args, **options)
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

    def __init__(self, directory: Path, what: str, kind: str) -> None:
        self.database = directory / "agent.db"
        self.kind = kind
        self.what = what

    def agent(self, number: int, opened: Any) -> Any:
        """Return the agent of a thread."""
        checkpointer, store = opened
        summarizes = self.what == "summaries"
        return create_filesystem_agent(
            Worker(steps=2) if summarizes else ScriptedModel(SCRIPTS[self.what]),
            mounts=self.mounts(number, store),
            summarize=Summarize(over=4_000, keep=500) if summarizes else None,
            checkpointer=checkpointer,
            store=store,
            interrupt_on={"edit_file": True, "delete": True} if self.what == "reviews" else None,
        )

    def mounts(self, number: int, store: Any) -> dict[str, Any]:
        """Return the mounts of a thread."""
        backend = self.backend(number, store)
        if self.what == "summaries":
            return {"/": backend}
        if self.kind == "foreign":
            return {"/m": Unjournaled(backend)}
        if self.kind == "composite":
            return {"/": lambda _: CompositeBackend(StateBackend(), {"/m": backend})}
        return {"/m": backend, "/n": self.disk(f"others-{number}")}

    def backend(self, number: int, store: Any) -> Any:
        """Return the backend that has the files of a thread."""
        if self.kind == "store":
            return StoreBackend(("killed", str(number)), store=store)
        return self.disk(f"files-{number}")

    def disk(self, name: str) -> FilesystemBackend:
        """Return the backend of a directory."""
        root = self.database.parent / name
        root.mkdir(exist_ok=True)
        return FilesystemBackend(root)


def live(place: Place, number: int, fuse: Fuse) -> None:
    """Run a thread from wherever it is to its end, or to the end of the fuse."""
    config: Any = {"configurable": {"thread_id": str(number)}}
    with open_database(place.database) as opened:
        agent = place.agent(number, opened)
        begun = agent.get_state(config).created_at is not None
        fuse.around(opened.checkpointer, "put", "put_writes")
        if place.kind == "store":
            fuse.around(opened.store, "batch")
        else:
            fuse.around(os, *ON_DISK)
        files = MANY if place.what == "batches" else {}
        talk = TALK if place.what == "summaries" else []
        given: Any = {"messages": [*talk, HumanMessage("go", id="go")], "files": files}
        agent.invoke(None if begun else given, config)
        while waiting := agent.get_state(config).interrupts:
            agent.invoke(Command(resume=decisions(waiting[0].value)), config)


def decisions(request: Any) -> Any:
    """Edit the second of the calls, reject the last, and begin with a reply that does not fit."""
    actions = request["action_requests"]
    if len(actions) > 1:
        return {"decisions": []}
    name, args = actions[0]["name"], actions[0]["args"]
    if name == "delete":
        return {"decisions": [{"type": "reject"}]}
    if args["new_string"] == "three":
        edited = {"name": name, "args": {**args, "new_string": "two two"}}
        return {"decisions": [{"type": "edit", "edited_action": edited}]}
    return {"decisions": [{"type": "approve"}]}


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
    """Put the files on the mount."""
    with open_database(place.database) as (_, store):
        place.backend(number, store).upload_files(list(FILES.items()))


def outcome(place: Place, number: int) -> dict[str, Any]:
    """Return what the thread holds in the end, and what is on the mounts."""
    config: Any = {"configurable": {"thread_id": str(number)}}
    with open_database(place.database) as opened:
        state = place.agent(number, opened).get_state(config)
        left = _contents(place.backend(number, opened.store))
        others = _contents(place.disk(f"others-{number}"))
    answers = [m for m in state.values["messages"] if isinstance(m, ToolMessage)]
    return {
        "next": list(state.next),
        "first": state.values["messages"][0].text,
        "answers": [(m.tool_call_id, m.text) for m in answers],
        "files": {path: file["content"] for path, file in state.values.get("files", {}).items()},
        "left": left,
        "others": others,
    }


def _contents(backend: Any) -> dict[str, str]:
    paths = [info["path"] for info in backend.glob("**/*").matches]
    found = backend.download_files(paths)
    return {path: repr(one.content) for path, one in zip(paths, found, strict=True)}


def main(directory: Path, what: str, kind: str, stride: int) -> None:
    """Die at each moment of the run, or some of them; resume; print every thread's outcome."""
    place = Place(directory, what, kind)
    outcomes: list[dict[str, Any]] = []
    is_whole = False
    while not is_whole:
        number = len(outcomes) * stride + 1
        fill(place, number)
        is_whole = life(place, number, number)
        if not is_whole:
            life(place, number, 0)
        outcomes.append({"moment": number, **outcome(place, number)})
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))
