"""`StoreBackend`: whose files a run sees, and what it does to a store that others use too."""

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langgraph.runtime import Runtime, ServerInfo
from langgraph.store.base import BaseStore, GetOp, PutOp
from langgraph.store.memory import InMemoryStore

from langgraph_filesystem.state.backends.file_store import MountContext
from langgraph_filesystem.state.backends.objects.store import StoreBackend, default_namespace
from langgraph_filesystem.state.backends.protocol import Backend
from tests import databases
from tests.state.backends.objects.counting import CountingStore

HERE = ("files",)


@pytest.fixture(params=["memory", *databases.KINDS])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BaseStore]:
    """Each kind of store, new and empty."""
    if request.param == "memory":
        yield InMemoryStore()
        return
    with databases.choose(request.param):
        path = databases.emptied(tmp_path / "db")
        with databases.open_database(path) as (_, opened):
            yield opened


def backend(store: BaseStore, namespace: Any = HERE) -> StoreBackend:
    return StoreBackend(namespace, store=store)


def names(result: Any) -> list[str]:
    assert result.error is None
    found = result.entries if hasattr(result, "entries") else result.matches
    return sorted(entry["path"].rstrip("/") + "/" * entry.get("is_dir", False) for entry in found)


def text(file: Any) -> str:
    assert file.error is None
    return str(file.file_data["content"])


def test_it_is_a_backend() -> None:
    assert isinstance(StoreBackend(HERE), Backend)
    with pytest.raises(ValueError, match="max_file_size_mb"):
        StoreBackend(HERE, max_file_size_mb=0)


# Whose files


def test_namespaces_below_and_beside_are_not_seen(store: BaseStore) -> None:
    for namespace in (("files",), ("files", "below"), ("files2",), ("file",), ("other", "files")):
        backend(store, namespace).write("/of.txt", "needle " + "/".join(namespace))

    here = backend(store, ("files",))

    assert names(here.ls("/")) == ["/of.txt"]
    assert names(here.glob("**")) == ["/of.txt"]
    assert [match["text"] for match in here.grep("needle").matches or ()] == ["needle files"]
    assert here.delete("/of.txt").error is None
    assert names(here.glob("**")) == []
    assert names(backend(store, ("files", "below")).ls("/")) == ["/of.txt"]


def test_the_journal_is_in_no_namespace_of_files(store: BaseStore) -> None:
    backend(store).write("/a", "x", once="scope.group.1")
    listed = store.list_namespaces(limit=100)
    assert {namespace[0] for namespace in listed} == {"files", "langgraph-filesystem"}
    with pytest.raises(ValueError, match="reserved"):
        StoreBackend(("langgraph-filesystem", "journal"))


@pytest.mark.parametrize(
    "namespace",
    [(), ("",), ("a.b",), ("a", 1), ["a"], "files", ("a", "\0"), ("langgraph", "x"), ("a\n",)],
)
def test_an_invalid_namespace_is_rejected(namespace: Any) -> None:
    with pytest.raises(ValueError, match="namespace"):
        StoreBackend(namespace)


def test_an_invalid_namespace_from_a_function_is_an_error_of_the_call() -> None:
    found = StoreBackend(lambda runtime: ("a.b",), store=InMemoryStore()).ls("/")
    assert "namespace" in str(found.error)


def test_without_a_store_the_error_says_how_to_give_one() -> None:
    assert "StoreBackend(store=" in str(StoreBackend(HERE).read("/a").error)
    assert "create_filesystem_agent(..., store=" in str(StoreBackend(HERE).ls("/").error)
    [download] = StoreBackend(HERE).download_files(["/a"])
    assert "no store" in str(download.error)


@dataclass
class User:
    """As the server brings one along, or as the context of a run."""

    identity: str = ""
    user_id: str = ""


ADA = User(identity="ada")


def runtime(
    context: Any = None, user: Any = None, assistant: str | None = None, store: Any = None
) -> Runtime[Any]:
    if user is None and assistant is None:
        return Runtime(context=context, store=store)
    server = ServerInfo(assistant_id=assistant or "", graph_id="graph", user=user)
    return Runtime(context=context, server_info=server, store=store)


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (runtime({"user_id": "ada"}), ("users", "ada", "filesystem")),
        (runtime(User(user_id="ada")), ("users", "ada", "filesystem")),
        (runtime({"user_id": 7}), ("users", "7", "filesystem")),
        (runtime(user=ADA), ("users", "ada", "filesystem")),
        (runtime(user=ADA, assistant="helper"), ("helper", "ada", "filesystem")),
        # Whom the server has authenticated, no context makes another user.
        (runtime({"user_id": "eve"}, ADA, "helper"), ("helper", "ada", "filesystem")),
        (runtime({"user_id": "bob"}, None, "helper"), ("helper", "bob", "filesystem")),
    ],
)
def test_the_default_namespace_is_that_of_the_assistant_and_the_user(
    run: Runtime[Any], expected: tuple[str, ...]
) -> None:
    assert default_namespace(run) == expected


def test_any_user_has_a_valid_namespace_and_no_one_elses() -> None:
    store = InMemoryStore()
    users = ["a.b", "a%2Eb", "a\nb", "a b", "ab", "a%b", "langgraph"]
    for user in users:
        namespace = default_namespace(runtime({"user_id": user}))
        assert backend(store, namespace).write("/a", user).error is None
    assert len(store.search(())) == len(users)


async def _write_as(mounted: StoreBackend, run: Runtime[Any], path: str) -> list[str]:
    """Write a file in a run, and return the files that the run sees then."""
    opened = mounted.open(MountContext(runtime=run))
    await opened.write(path, "x")
    return sorted(info["path"] for info in (await opened.glob("**")).matches or ())


async def test_users_who_are_not_signed_in_share_files_unless_the_context_names_them() -> None:
    store, mounted = InMemoryStore(), StoreBackend()
    assert await _write_as(mounted, runtime(store=store), "/a") == ["/a"]
    assert await _write_as(mounted, runtime({"user_id": ""}, store=store), "/b") == ["/a", "/b"]
    assert await _write_as(mounted, runtime({"user_id": "ada"}, store=store), "/c") == ["/c"]
    assert await _write_as(mounted, runtime({"user_id": "bob"}, store=store), "/d") == ["/d"]
    assert await _write_as(mounted, runtime(assistant="helper", store=store), "/e") == ["/e"]
    assert await _write_as(mounted, runtime(assistant="helper", store=store), "/f") == ["/e", "/f"]


async def test_a_namespace_may_be_a_function_of_the_runtime() -> None:
    store = InMemoryStore()
    mounted = StoreBackend(lambda runtime: ("teams", runtime.context["team"]))
    await _write_as(mounted, runtime({"team": "red"}, store=store), "/a")
    assert store.get(("teams", "red"), "/a") is not None


# How the store is used


async def test_sync_calls_use_sync_methods_of_the_store_and_async_calls_async_ones() -> None:
    store = CountingStore(InMemoryStore())
    files = backend(store)
    files.write("/a", "one", once="scope.group.1")
    files.edit("/a", "one", "two")
    files.move("/a", "/b")
    assert text(files.read("/b")) == "two"
    assert store.called == {"batch"}
    store.forget()
    await files.awrite("/c", "one", once="scope.group.1")
    await files.aedit("/c", "one", "two")
    await files.amove("/c", "/d")
    assert (await files.agrep("two")).counts == {"/b": 1, "/d": 1}
    assert store.called == {"abatch"}


async def test_a_store_without_async_methods_works_in_async_calls() -> None:
    class SyncStore(InMemoryStore):
        async def abatch(self, ops: Any) -> Any:
            raise NotImplementedError

    files = backend(SyncStore())
    assert (await files.awrite("/a", "x")).error is None
    assert text(await files.aread("/a")) == "x"


def test_a_read_fetches_one_file_by_its_key() -> None:
    store = CountingStore(InMemoryStore())
    files = backend(store)
    files.upload_files([(f"/{n}", b"x" * 1_000) for n in range(50)])
    store.forget()
    assert text(files.read("/7"))
    assert store.ops == [GetOp(HERE, "/7")]


def test_thousands_of_files_are_all_listed_searched_moved_and_deleted(store: BaseStore) -> None:
    # Those of one batch have the same time, by which stores sort.
    files = backend(store)
    many = [(f"/many/{n % 7}/{n:04}", b"needle") for n in range(2_345)]
    assert not [answer for answer in files.upload_files(many) if answer.error]
    assert len(names(files.ls("/many/3"))) == 335
    assert len(names(files.glob("**"))) == 2_345
    assert len(files.grep("needle", output_mode="count").counts or ()) == 2_345
    assert files.move("/many", "/moved").files == 2_345
    assert files.delete("/moved").error is None
    assert store.search(HERE) == []


def test_more_files_than_the_first_search_asks_for_are_all_listed() -> None:
    files = backend(InMemoryStore())
    files.upload_files([(f"/{n}", b"") for n in range(10_500)])
    assert len(names(files.glob("**"))) == 10_500


def test_nothing_is_embedded_and_the_default_time_to_live_holds() -> None:
    class Living(CountingStore):
        supports_ttl = True
        ttl_config = {"default_ttl": 5.0, "refresh_on_read": False}  # noqa: RUF012

    store = Living(InMemoryStore())
    files = backend(store)
    files.write("/a", "x", once="scope.group.1")
    files.read("/a")
    puts = [op for op in store.ops if isinstance(op, PutOp)]
    assert {(op.index, op.ttl) for op in puts} == {(False, 5.0)}
    assert not any(getattr(op, "refresh_ttl", False) for op in store.ops)


def test_a_write_that_another_process_undid_is_an_error(store: BaseStore) -> None:
    class Busy(CountingStore):
        """Another process writes the same file right after us."""

        def batch(self, ops: Any) -> Any:
            ops = list(ops)
            results = super().batch(ops)
            if any(isinstance(op, PutOp) and op.key.startswith("/a") for op in ops):
                self.store.put(HERE, ops[0].key, {"content": "theirs"})
            return results

    backend(store).write("/a", "one")
    busy = backend(Busy(store))
    assert "another writer changed it" in str(busy.edit("/a", "one", "two").error)
    assert "another writer changed it" in str(busy.write("/a2", "ours").error)
    assert text(backend(store).read("/a")) == "theirs"


def test_a_path_that_postgres_could_not_hold_is_refused(store: BaseStore) -> None:
    files = backend(store)
    long = "/" + "/".join(["n" * 250] * 8)
    assert "longer than" in str(files.write(long, "x").error)
    assert files.write(long[:1_700], "x").error is None


async def test_edits_of_threads_and_of_tasks_all_land(store: BaseStore) -> None:
    files = backend(store)
    files.write("/a", "".join(f"<{n}>\n" for n in range(40)))
    awaited = [files.aedit("/a", f"<{n}>", f"[{n}]") for n in range(20)]
    with ThreadPoolExecutor(8) as pool:
        edits = [pool.submit(files.edit, "/a", f"<{n}>", f"[{n}]") for n in range(20, 40)]
        results = await asyncio.gather(*awaited, *map(asyncio.wrap_future, edits))
    assert [result.error for result in results] == [None] * 40
    assert text(files.read("/a")) == "".join(f"[{n}]\n" for n in range(40))


# What others do to the namespace


def test_what_others_add_change_and_delete_is_noticed(store: BaseStore) -> None:
    files = backend(store)
    for name in "abc":
        files.write(f"/{name}", name)
    # As many as before, but not the same ones.
    store.batch([PutOp(HERE, "/a", None), PutOp(HERE, "/d/new", {"content": "new"})])
    store.put(HERE, "/b", {"content": "longer"})
    assert names(files.ls("/")) == ["/b", "/c", "/d/"]
    assert names(files.glob("new")) == ["/d/new"]
    assert {info["path"]: info.get("size") for info in files.ls("/").entries or ()}["/b"] == 6


def test_items_that_are_not_files_are_left_alone_and_noted(store: BaseStore) -> None:
    values: dict[str, dict[str, Any]] = {
        "prefs": {"food": "cake"},
        "/odd": {"content": 1},
        "rel.txt": {"content": "x"},
        "/../up": {"content": "x"},
        "/64": {"content": "?", "encoding": "base64"},
        "/coded": {"content": "x", "encoding": "rot13"},
        "/edited": {"content": "x", "edits": []},
    }
    for key, value in values.items():
        store.put(HERE, key, value)
    files = backend(store)
    files.write("/a", "needle")

    listed = files.ls("/")
    assert names(listed) == ["/a"]
    assert "Left out: '/../up' and 6 more" in str(listed.note)
    found = files.grep("e")
    assert (found.counts, found.note) == ({"/a": 1}, listed.note)
    assert files.read("/odd").error is not None
    assert "not a file" in str(files.write("/odd", "mine").error)
    assert "not a file" in str(files.write("/odd", "mine", overwrite=True).error)
    assert [
        answer.error is None for answer in files.upload_files([("/odd", b""), ("/b", b"")])
    ] == [
        False,
        True,
    ]
    assert files.delete("/").error is None
    assert {item.key: item.value for item in store.search(HERE)} == values


def test_times_of_a_file_are_kept_by_an_edit_and_a_move(store: BaseStore) -> None:
    store.put(HERE, "/a", {"content": "x", "created_at": "2024-01-01T00:00:00+00:00"})
    files = backend(store)
    files.edit("/a", "x", "y")
    files.move("/a", "/b")
    item = store.get(HERE, "/b")
    assert item is not None
    assert item.value["created_at"] == "2024-01-01T00:00:00+00:00"
    assert item.value["modified_at"] > "2026"


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (b"", "utf-8"),
        ("ä\r\n😀".encode(), "utf-8"),
        (b"\xff\xfe", "base64"),
        (b"a\0b", "base64"),  # PostgreSQL could not hold it as text
    ],
)
def test_a_file_is_an_item_of_plain_values(content: bytes, encoding: str) -> None:
    store = InMemoryStore()
    backend(store).upload_files([("/a", content)])
    item = store.get(HERE, "/a")
    assert item is not None
    value = json.loads(json.dumps(item.value))
    assert sorted(value) == ["content", "created_at", "encoding", "modified_at"]
    assert (value["encoding"], value["created_at"]) == (encoding, value["modified_at"])
    assert backend(store).download_files(["/a"])[0].content == content


def test_we_and_deepagents_read_and_edit_each_others_files(store: BaseStore) -> None:
    from deepagents.backends import StoreBackend as Theirs

    theirs = Theirs(namespace=lambda runtime: HERE, store=store)
    ours = backend(store)
    theirs.write("/notes/theirs.md", "one\r\ntwo\n")
    theirs.upload_files([("/raw", b"\x00\xff")])
    store.put(HERE, "/old", {"content": ["one", "two"], "created_at": "2024", "modified_at": "y"})
    ours.write("/notes/ours.md", "one\ntwo\n")

    assert names(ours.ls("/")) == names(theirs.ls("/")) == ["/notes/", "/old", "/raw"]
    assert text(ours.read("/notes/theirs.md")) == "one\r\ntwo\n"
    assert ours.download_files(["/raw"])[0].content == b"\x00\xff"
    assert ours.edit("/old", "two", "2").error is None
    assert text(theirs.read("/old")) == "one\n2"
    assert theirs.edit("/notes/ours.md", "two", "2").error is None
    assert text(ours.read("/notes/ours.md")) == "one\n2\n"
