"""Whatever is tried, no answer tells whether a denied path exists, and nothing there changes."""

import json
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.store.memory import InMemoryStore

from langgraph_filesystem import (
    CommandModel,
    FilesystemBackend,
    FilesystemPermission,
    StateBackend,
    StoreBackend,
    create_filesystem_agent,
)
from tests.nodes.backends import Shelf
from tests.scripted import answers

SECRET = "very-secret"
FILES = {
    **{"/readme.md": "public", "/open/a.txt": "public", "/open/.b": "public", "/open/b.pem": "x"},
    **{"/safe/key.txt": "x", "/safe/.env": "x", "/safe/deep/er/k.txt": "x", "/safe/pub/c": "x"},
    **{"/safe/deep/er/q": "x", "/Müll/q": "x", "/app/q": "x"},
    **{"/Müll/Öl.txt": "x", "/Müll/z": "x", "/app/[id]/page": "x", "/app/i/page": "x"},
}
LINKS = {
    **{"/to-file": "safe/key.txt", "/to-dir": "safe", "/open/up": "../safe/deep"},
    **{"/twice": "open/up", "/safe/out": "../open/a.txt", "/dangling": "safe/none"},
    **{"/open/pem": "b.pem", "/to-open": "open", "/open/home": ".."},
}


def deny(*paths: str, operations: str = "read write") -> list[FilesystemPermission]:
    return [FilesystemPermission(operations.split(), paths, "deny")]


def allow(*paths: str) -> FilesystemPermission:
    return FilesystemPermission(["read", "write"], paths, "allow")


class Row(NamedTuple):
    """Patterns of a rule, the paths that they deny, and paths that they don't."""

    rules: list[FilesystemPermission]
    denied: str
    allowed: str
    links: str = ""
    """Paths that lead to a denied one, on disk."""
    given: str = ""
    """Other ways to write a denied path."""


NFD = unicodedata.normalize("NFD", "/Müll/Öl.txt")
TABLE = [
    Row(
        deny("/safe/**"),
        "/safe /safe/key.txt /safe/.env /safe/deep /safe/deep/er/k.txt /safe/pub/c /safe/new",
        "/readme.md /open/a.txt /open/.b /open/b.pem",
        "/to-file /to-dir /to-dir/key.txt /to-dir/out /to-dir/.env /open/up /open/up/er/k.txt"
        " /twice/er/k.txt /safe/out /dangling /to-open/up/er/k.txt /open/home/safe/key.txt"
        " /to-dir/new",
        "//safe//key.txt /./safe/key.txt /safe/./.env safe/key.txt /safe\\key.txt /SAFE/key.txt"
        " /Safe/KEY.TXT /safe/ /open/../safe/key.txt",
    ),
    Row(deny("/safe"), "/safe /safe/key.txt /safe/deep/er/k.txt", "/open/a.txt", "/to-dir/.env"),
    Row(
        deny("/safe/*.txt", "/safe/.*"),
        "/safe/key.txt /safe/.env",
        "/safe/pub/c /safe/deep/er/k.txt /readme.md",
        "/to-file /to-dir/key.txt /to-dir/.env /open/home/safe/.env",
        "/safe/Key.Txt /safe//.ENV",
    ),
    Row(
        deny("/**/*.{pem,txt}"),
        "/open/a.txt /open/b.pem /safe/key.txt /safe/deep/er/k.txt /Müll/Öl.txt",
        "/readme.md /open/.b /safe/.env /safe/pub/c",
        "/open/pem /to-file /twice/er/k.txt /to-open/a.txt /to-open/b.pem /safe/out",
        "/open/B.PEM",
    ),
    Row(
        deny("/**/.*"),
        "/open/.b /safe/.env",
        "/open/a.txt /safe/key.txt /readme.md",
        "/to-open/.b /to-dir/.env",
    ),
    Row(
        [allow("/safe/pub/**", "/open/**"), *deny("/**")],
        "/readme.md /safe/key.txt /safe/.env /safe/deep/er/k.txt /Müll/z /safe /new",
        "/safe/pub/c /open/a.txt /open/.b",
        "/to-file /to-dir/key.txt /open/up/er/k.txt /twice/er/k.txt /open/home/readme.md",
        "/safe/PUB/c",
    ),
    Row(
        deny("/müll/**"),
        "/Müll /Müll/Öl.txt /Müll/z",
        "/readme.md /open/a.txt",
        "/open/home/Müll/z",
        f"{NFD} /MÜLL/z /müll/z",
    ),
    Row(deny("/app/[id]/**"), "/app/[id]/page /app/i/page /app/i", "/readme.md"),
    Row(deny("/app/\\[id\\]/**"), "/app/[id]/page /app/[id]", "/app/i/page"),
    Row(deny("/safe/{deep,pub}/"), "/safe/deep /safe/deep/er/k.txt /safe/pub/c", "/safe/key.txt"),
]
SIZE = sum(len(f"{row.denied} {row.allowed} {row.links} {row.given}".split()) for row in TABLE)


class Own(FilesystemBackend):
    """A backend of somebody who overrides methods."""

    def ls(self, path: str) -> Any:
        return super().ls(path)

    def glob(self, pattern: str, path: str | None = None) -> Any:
        return super().glob(pattern, path)

    def read(self, file_path: str, *args: Any, **options: Any) -> Any:
        return super().read(file_path, *args, **options)


WORLDS = ("state", "disk", "mounted disk", "subclass", "shelf", "store")


class World:
    """Files behind mounts; `prefix` is where those of the table are."""

    def __init__(self, kind: str, root: Path, files: Mapping[str, str]) -> None:
        self.prefix = "" if kind in ("state", "disk") else "/m"
        self.has_links = "disk" in kind or kind == "subclass"
        self.given: dict[str, str] = {}
        self.mounts: dict[str, Any] = {"/": StateBackend()}
        if kind == "state":
            self.given = dict(files)
        elif self.has_links:
            make_tree(root, files)
            self.mounts[self.prefix or "/"] = (Own if kind == "subclass" else FilesystemBackend)(
                root
            )
        else:
            store = StoreBackend(("n",), store=InMemoryStore())
            self.mounts["/m"] = Shelf() if kind == "shelf" else store
            uploaded = [(path, text.encode()) for path, text in files.items()]
            self.mounts["/m"].upload_files(uploaded)

    def paths(self, text: str) -> list[str]:
        return [
            self.prefix + (path if path.startswith("/") else f"/{path}") for path in text.split()
        ]

    def rules(self, row: Row) -> list[FilesystemPermission]:
        return [
            FilesystemPermission(r.operations, [self.prefix + path for path in r.paths], r.mode)
            for r in row.rules
        ]

    async def replies(self, row: Row, groups: list[list[str]], mode: str) -> list[ToolMessage]:
        """Type groups of commands, each a message of the model, and return the answers."""
        agent = create_filesystem_agent(
            CommandModel(), mounts=self.mounts, permissions=self.rules(row), read_before_edit=False
        )
        typed = "\n\n".join("\n".join(group) for group in groups)
        given: Any = {"messages": [HumanMessage(typed)], "files": self.given}
        options: Any = {"recursion_limit": 5_000}
        state = (
            await agent.ainvoke(given, options) if mode == "async" else agent.invoke(given, options)
        )
        self.state = state
        return answers(state)

    def contents(self, paths: list[str]) -> list[str]:
        if self.given:
            return [self.state["files"][path]["content"] for path in paths]
        backend = self.mounts[self.prefix or "/"]
        inner = [path.removeprefix(self.prefix) for path in paths]
        return [found.content.decode() for found in backend.download_files(inner)]


def make_tree(root: Path, files: Mapping[str, str]) -> None:
    """Write the files and links to disk, with the directories of all files there ever are."""
    for path in (*FILES, *LINKS):
        (root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
    for path, content in files.items():
        (root / path[1:]).write_text(content)
    for path, target in LINKS.items():
        (root / path[1:]).symlink_to(target)


def typed(name: str, *args: str, **options: Any) -> str:
    words = [json.dumps(word, ensure_ascii=False) for word in args]
    return " ".join([name, *words, *(f"{key}={json.dumps(v)}" for key, v in options.items())])


def attacks(world: World, row: Row) -> list[list[str]]:
    """Return commands that try to get at denied paths in every way, and lists of everything."""
    paths = world.paths(f"{row.denied} {row.given} {row.links if world.has_links else ''}")
    lists = [typed("ls", path) for path in world.paths("/ /open /safe /app /Müll")]
    links = world.paths("/to-dir /to-open /open/home") if world.has_links else []
    for path in ["/", world.prefix or "/", *links]:
        lists += [typed("ls", path), typed("glob", "*", path), typed("glob", "**/*.txt", path)]
        for output in ("content", "count", "files_with_matches"):
            lists.append(typed("grep", "e", path, output_mode=output))
        lists.append(typed("grep", "s", path, output_mode="content", max_count=2, context=1))
    reads = [
        text
        for path in paths
        for text in (
            *(typed("read_file", path), typed("ls", path), typed("glob", "**", path)),
            *(typed("grep", SECRET, path), typed("grep", "s", path, output_mode="count")),
        )
    ]
    changes = [
        [typed("edit_file", path, "very", "not") for path in paths],
        [typed("write_file", path, "mine") for path in paths],
        [typed("write_file", path, "mine", overwrite=True) for path in paths],
        [typed("delete", path) for path in paths],
        [typed("move", path, f"{world.prefix}/open/stolen{n}") for n, path in enumerate(paths)],
        [typed("move", path, f"/stolen{n}") for n, path in enumerate(paths)],
        [typed("move", f"{world.prefix}/open/.b", path) for path in paths],
    ]
    return [lists, reads, *changes, lists]


def is_denied(row: Row, path: str) -> bool:
    below = any(path == one or path.startswith(f"{one}/") for one in row.denied.split())
    return below and path not in row.allowed.split()


CASES = [
    pytest.param(row, kind, id=f"{kind}: {' '.join(row.rules[0].paths)}")
    for row in TABLE
    for kind in WORLDS
    if kind in ("state", "disk") or row in (TABLE[0], TABLE[3], TABLE[5])
]


@pytest.mark.parametrize(("row", "kind"), CASES)
async def test_every_answer_is_as_if_denied_files_did_not_exist(
    row: Row, kind: str, tmp_path: Path
) -> None:
    secret = {path: SECRET if is_denied(row, path) else "public" for path in FILES}
    without = {path: text for path, text in secret.items() if text != SECRET}
    mode = "async" if kind in ("mounted disk", "shelf", "state") else "sync"
    worlds = [
        World(kind, tmp_path / name, files) for name, files in [("1", secret), ("2", without)]
    ]
    found, expected = [await world.replies(row, attacks(world, row), mode) for world in worlds]
    for one, other in zip(found, expected, strict=True):
        assert (one.text, one.artifact) == (other.text, other.artifact)
        assert SECRET not in f"{one.text} {one.artifact}".replace(f"matches {SECRET}", "")
    assert worlds[0].contents(worlds[0].paths(" ".join(secret))) == list(secret.values())


@pytest.mark.parametrize(("row", "kind"), CASES)
async def test_every_attempt_is_refused_and_the_rest_is_there(
    row: Row, kind: str, tmp_path: Path
) -> None:
    world = World(kind, tmp_path / "root", dict.fromkeys(FILES, "public"))
    denied, allowed = world.paths(row.denied), world.paths(row.allowed)
    _, *tries, _ = attacks(world, row)
    everything = [
        typed("glob", "**", world.paths(directory)[0]) for directory in ("/open", "/safe")
    ]
    replies = await world.replies(
        row, [*tries, [typed("read_file", path) for path in allowed], everything], "sync"
    )
    refused = replies[: sum(map(len, tries))]
    assert {reply.status for reply in refused} == {"error"}
    reads = replies[len(refused) : len(refused) + len(allowed)]
    assert [reply.text for reply in reads] == [
        "     1\tpublic\n[end of file: 1 line, no newline at the end]"
    ] * len(allowed)
    shown = "\n".join(reply.text for reply in replies[-2:]).split("\n")
    listed = [
        p for p in allowed if p.startswith((f"{world.prefix}/open/", f"{world.prefix}/safe/"))
    ]
    # A shelf finds no names that begin with a dot, and `/safe` itself may be denied.
    if kind != "shelf" and all(reply.status == "success" for reply in replies[-2:]):
        assert set(listed) <= set(shown)
    assert not set(denied) & set(shown)


def test_the_table_has_a_hundred_paths() -> None:
    assert SIZE >= 100
