"""`StoreBackend`: whose files a run sees, what it reads of the store, and what others do to it."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore, GetOp, PutOp
from langgraph.store.memory import InMemoryStore

from langgraph_filesystem import create_filesystem_agent
from langgraph_filesystem.state.backends.protocol import Backend
from langgraph_filesystem.state.backends.store import StoreBackend
from tests import databases
from tests.scripted import ScriptedModel, answer, answers, arun, call, run, says
from tests.state.backends.counting import CountingStore

HERE = ("files",)


@pytest.fixture(params=["memory", *databases.KINDS])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BaseStore]:
    """Each kind of store, new and empty."""
    if request.param == "memory":
        yield InMemoryStore()
        return
    with databases.choose(request.param), databases.open_database(tmp_path / "db") as (_, opened):
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


# Whose files


def test_namespaces_below_and_beside_are_not_seen(store: BaseStore) -> None:
    for namespace in (("files",), ("files", "below"), ("files2",), ("file",), ("other", "files")):
        backend(store, namespace).write("/of.txt", "needle " + "/".join(namespace))

    here = backend(store, ("files",))

    assert names(here.ls("/")) == ["/of.txt"]
    assert names(here.glob("**")) == ["/of.txt"]
    found = here.grep("needle").matches
    assert found is not None
    assert [match["text"] for match in found] == ["needle files"]
    assert here.delete("/of.txt").error is None
    assert names(here.glob("**")) == []
    assert names(backend(store, ("files", "below")).ls("/")) == ["/of.txt"]


def test_what_we_keep_beside_the_files_is_in_no_namespace_of_files(store: BaseStore) -> None:
    backend(store).write("/a", "x", once="scope.group.1")
    listed = store.list_namespaces(limit=100)
    assert {namespace[0] for namespace in listed} == {"files", "langgraph-filesystem"}
    with pytest.raises(ValueError, match="reserved"):
        StoreBackend(("langgraph-filesystem", "journal"))


@pytest.mark.parametrize(
    "namespace",
    [(), ("",), ("a.b",), ("a", 1), ["a"], "files", ("a", "\0"), ("langgraph", "x"), ("a\n",)],
)
def test_a_namespace_that_no_store_takes_is_refused(namespace: Any) -> None:
    with pytest.raises(ValueError, match="namespace"):
        StoreBackend(namespace)


def test_a_namespace_function_that_gives_a_bad_one_is_an_error_reply() -> None:
    mounted = {"/memories/": StoreBackend(lambda runtime: ("a.b",))}
    said = answer(call("ls", path="/memories"), mounts=mounted, store=InMemoryStore())
    assert said.status == "error"
    assert "namespace" in str(said.content)


def test_without_a_store_the_reply_says_how_to_give_one() -> None:
    said = answer(call("ls", path="/memories"), mounts={"/memories/": StoreBackend(HERE)})
    assert said.status == "error"
    assert "create_filesystem_agent(..., store=" in str(said.content)
    assert "StoreBackend(store=" in str(StoreBackend(HERE).read("/a").error)
    [download] = StoreBackend(HERE).download_files(["/a"])
    assert "no store" in str(download.error)


@dataclass
class Context:
    user_id: str


def test_the_namespace_is_by_default_that_of_the_user_in_the_context() -> None:
    store = InMemoryStore()
    agent = create_filesystem_agent(
        ScriptedModel([says(call("write_file", file_path="/memories/me.md", content="I"))]),
        mounts={"/memories/": StoreBackend()},
        context_schema=Context,
        store=store,
    )
    for user in ("ada", "bob@example.com"):
        agent.invoke({"messages": [HumanMessage("go")]}, context=Context(user))
    agent.invoke({"messages": [HumanMessage("go")]})

    places = {item.namespace for item in store.search(()) if item.key == "/me.md"}
    files = {place for place in places if place[0] != "langgraph-filesystem"}
    assert files == {
        ("users", "ada", "filesystem"),
        ("users", "bob@example%2Ecom", "filesystem"),
        ("filesystem",),
    }


class User:
    """As the server brings one along."""

    def __init__(self, identity: str) -> None:
        self.identity = identity


@pytest.mark.parametrize(
    ("configurable", "expected"),
    [
        ({"assistant_id": "helper"}, ("helper", "filesystem")),
        (
            {"assistant_id": "helper", "langgraph_auth_user": User("ada")},
            ("helper", "ada", "filesystem"),
        ),
        ({"langgraph_auth_user": User("ada")}, ("users", "ada", "filesystem")),
    ],
)
def test_the_namespace_is_by_default_that_of_assistant_and_user_of_the_server(
    configurable: dict[str, Any], expected: tuple[str, ...]
) -> None:
    store = InMemoryStore()
    agent = create_filesystem_agent(
        ScriptedModel([says(call("write_file", file_path="/memories/me.md", content="I"))]),
        mounts={"/memories/": StoreBackend()},
        context_schema=Context,
        store=store,
    )
    # Whom the server has authenticated, no context makes another one.
    context = Context("eve") if "langgraph_auth_user" in configurable else None
    config: RunnableConfig = {
        "configurable": configurable,
        "metadata": {k: v for k, v in configurable.items() if k == "assistant_id"},
    }
    agent.invoke({"messages": [HumanMessage("go")]}, config, context=context)
    assert store.get(expected, "/me.md") is not None


def test_a_namespace_may_be_a_function_of_the_runtime() -> None:
    def of_team(runtime: Runtime[Any]) -> tuple[str, ...]:
        return ("teams", runtime.context.user_id)

    store = InMemoryStore()
    agent = create_filesystem_agent(
        ScriptedModel([says(call("write_file", file_path="/memories/a", content="x"))]),
        mounts={"/memories/": StoreBackend(of_team)},
        context_schema=Context,
        store=store,
    )
    agent.invoke({"messages": [HumanMessage("go")]}, context=Context("red"))
    assert store.get(("teams", "red"), "/a") is not None


# Through a graph


def _turns() -> list[dict[str, Any]]:
    return [
        call("write_file", file_path="/memories/a.md", content="one\ntwo\n"),
        call("edit_file", file_path="/memories/a.md", old_string="two", new_string="2"),
        call("move", source="/memories/a.md", destination="/memories/notes/b.md"),
        call("read_file", file_path="/memories/notes/b.md"),
        call("grep", pattern="2", path="/memories", output_mode="content"),
        call("ls", path="/memories"),
    ]


def test_an_agent_keeps_its_memories_across_threads(store: BaseStore) -> None:
    mounts: dict[str, Any] = {"/memories/": StoreBackend(HERE)}
    said = [str(m.content) for m in answers(run(*_turns(), mounts=mounts, store=store))]
    assert "one" in said[3]
    assert "/memories/notes/b.md" in said[4]
    assert "notes/" in said[5]
    again = run(call("read_file", file_path="/memories/notes/b.md"), mounts=mounts, store=store)
    assert "2" in str(answers(again)[-1].content)
    assert "files" not in again or not again["files"]


@pytest.mark.parametrize("kind", ["memory", *databases.KINDS])
async def test_an_async_agent_uses_the_async_methods_of_the_store(
    kind: str, tmp_path: Path
) -> None:
    async def check(store: BaseStore) -> None:
        counting = CountingStore(store)
        mounts: dict[str, Any] = {"/memories/": StoreBackend(HERE)}
        state = await arun(*_turns(), mounts=mounts, store=counting)
        assert [m.status for m in answers(state)] == ["success"] * len(_turns())
        assert counting.called == {"abatch"}

    if kind == "memory":
        await check(InMemoryStore())
        return
    with databases.choose(kind):
        async with databases.aopen_database(tmp_path / "db") as (_, store):
            await check(store)


async def test_a_store_that_can_not_be_awaited_works_in_an_async_agent(tmp_path: Path) -> None:
    with databases.choose("sqlite"), databases.open_database(tmp_path / "db") as (_, store):
        state = await arun(*_turns(), mounts={"/memories/": StoreBackend(HERE)}, store=store)
        assert [m.status for m in answers(state)] == ["success"] * len(_turns())


# What is read


def test_a_list_of_many_large_files_reads_little() -> None:
    counting = CountingStore(InMemoryStore())
    files = backend(counting)
    files.upload_files([(f"/dir{n % 10}/{n:04}.txt", b"x" * 100_000) for n in range(1_000)])
    counting.forget()

    assert len(names(files.ls("/dir3"))) == 100
    assert counting.given < 500_000  # of 100,000,000

    counting.forget()
    assert len(names(files.glob("*.txt"))) == 1_000
    assert counting.given < 500_000


def test_a_read_fetches_one_file_by_its_key() -> None:
    counting = CountingStore(InMemoryStore())
    files = backend(counting)
    files.upload_files([(f"/{n}", b"x" * 1_000) for n in range(50)])
    counting.forget()

    assert text(files.read("/7"))
    assert counting.ops == [GetOp(HERE, "/7")]
    assert counting.given < 2_000


def test_a_search_below_a_directory_fetches_what_is_below_it() -> None:
    counting = CountingStore(InMemoryStore())
    files = backend(counting)
    files.upload_files([(f"/{n}/file", b"needle " * 10_000) for n in range(20)])
    counting.forget()
    found = files.grep("needle", "/3").counts
    assert found == {"/3/file": 1}
    assert counting.given < 4 * 70_000


def test_more_than_a_thousand_items_are_all_listed_and_searched(store: BaseStore) -> None:
    files = backend(store)
    files.upload_files([(f"/many/{n:04}", b"needle") for n in range(1_234)])
    assert len(names(files.ls("/many"))) == 1_234
    assert len(names(files.glob("**"))) == 1_234
    assert len(files.grep("needle", output_mode="count").counts or ()) == 1_234
    assert files.delete("/many").error is None
    assert names(files.ls("/")) == []
    assert store.search(HERE) == []


# What others do to the namespace


def _put(store: BaseStore, key: str, content: Any = "x") -> None:
    store.put(HERE, key, {"content": content})


def test_what_others_add_and_delete_is_noticed(store: BaseStore) -> None:
    files = backend(store)
    for name in "abc":
        files.write(f"/{name}", name)
    assert names(files.ls("/")) == ["/a", "/b", "/c"]
    _put(store, "/d/new")
    assert names(files.ls("/")) == ["/a", "/b", "/c", "/d/"]
    assert names(files.glob("new")) == ["/d/new"]
    store.delete(HERE, "/a")
    assert names(files.ls("/")) == ["/b", "/c", "/d/"]
    # As many as before, but not the same ones.
    store.batch([PutOp(HERE, "/b", None), PutOp(HERE, "/z", {"content": "new"})])
    assert names(files.ls("/")) == ["/c", "/d/", "/z"]


def test_a_list_that_others_made_wrong_unseen_is_right_when_that_is_met(store: BaseStore) -> None:
    files = backend(store)
    for name in "abc":
        _put(store, f"/{name}")
    assert names(files.ls("/")) == ["/a", "/b", "/c"]
    store.delete(HERE, "/b")
    _put(store, "/hidden")
    files.write("/mine", "later")
    files.ls("/")
    assert files.read("/b").error is not None
    assert names(files.ls("/")) == ["/a", "/c", "/hidden", "/mine"]


def test_the_names_are_found_again_when_our_own_are_lost(store: BaseStore) -> None:
    files = backend(store)
    files.upload_files([(f"/{n % 7}/{n}", b"x") for n in range(300)])
    before = names(files.glob("**"))
    for item in store.search(("langgraph-filesystem",), limit=1_000):
        store.delete(item.namespace, item.key)
    assert names(files.glob("**")) == before
    counting = CountingStore(store)
    assert names(backend(counting).glob("**")) == before
    assert counting.given < 100_000
    assert not any(isinstance(op, PutOp) for op in counting.ops)


def test_wrong_names_of_our_own_are_put_right(store: BaseStore) -> None:
    files = backend(store)
    files.write("/a", "x")
    [marker] = store.search(("langgraph-filesystem",))
    for wrong in ("/b", "/c"):
        store.put(marker.namespace, wrong, marker.value)
    store.put(marker.namespace, "/a", {"rubbish": 1})
    assert names(files.ls("/")) == ["/a"]
    assert [item.key for item in store.search(("langgraph-filesystem",))] == ["/a"]


def test_a_file_that_others_changed_has_its_new_size(store: BaseStore) -> None:
    files = backend(store)
    files.write("/a", "x")
    _put(store, "/a", "longer")
    [entry] = files.ls("/").entries or []
    assert entry.get("size") == 6


def test_foreign_items_are_left_alone_and_noted(store: BaseStore) -> None:
    values: dict[str, dict[str, Any]] = {
        "prefs": {"food": "cake"},
        "/odd": {"content": 1},
        "rel.txt": {"content": "x"},
        "/../up": {"content": "x"},
        "/64": {"content": "?", "encoding": "base64"},
    }
    for key, value in values.items():
        store.put(HERE, key, value)
    files = backend(store)
    files.write("/a", "needle")

    listed = files.ls("/")
    assert names(listed) == ["/a"]
    assert "no file" in str(listed.note)
    assert "4 more" in str(listed.note)
    assert names(files.glob("**")) == ["/a"]
    found = files.grep("e")
    assert found.counts == {"/a": 1}
    assert "no file" in str(found.note)
    assert files.read("/odd").error is not None
    assert files.write("/odd", "mine").error is not None
    assert files.write("/odd", "mine", overwrite=True).error is not None
    assert files.upload_files([("/odd", b"mine")])[0].error is not None
    assert files.delete("/").error is None
    for key, value in values.items():
        item = store.get(HERE, key)
        assert item is not None
        assert item.value == value


def test_a_list_stays_cheap_beside_foreign_items() -> None:
    counting = CountingStore(InMemoryStore())
    files = backend(counting)
    counting.put(HERE, "prefs", {"food": "cake"})
    files.upload_files([(f"/{n}", b"x" * 10_000) for n in range(100)])
    files.ls("/")
    counting.forget()
    files.ls("/")
    assert counting.given < 50_000


# Together with `deepagents`


def _theirs(store: BaseStore) -> Any:
    from deepagents.backends import StoreBackend as Theirs

    return Theirs(namespace=lambda runtime: HERE, store=store)


def test_we_read_what_deepagents_wrote(store: BaseStore) -> None:
    theirs, ours = _theirs(store), backend(store)
    assert theirs.write("/notes/a.md", "one\r\ntwo\n").error is None
    theirs.upload_files([("/raw", b"\x00\xff")])
    store.put(HERE, "/old", {"content": ["one", "two"], "created_at": "2024", "modified_at": "y"})

    assert names(ours.ls("/")) == ["/notes/", "/old", "/raw"]
    assert text(ours.read("/notes/a.md")) == "one\r\ntwo\n"
    assert text(ours.read("/old")) == "one\ntwo"
    assert ours.download_files(["/raw"])[0].content == b"\x00\xff"
    assert ours.edit("/old", "two", "2").error is None
    assert text(theirs.read("/old")) == "one\n2"


def test_deepagents_reads_what_we_wrote(store: BaseStore) -> None:
    theirs, ours = _theirs(store), backend(store)
    ours.write("/notes/a.md", "one\ntwo\n")
    ours.upload_files([("/raw", b"\x00\xff")])
    assert text(theirs.read("/notes/a.md")) == "one\ntwo\n"
    assert theirs.download_files(["/raw"])[0].content == b"\x00\xff"
    assert names(theirs.ls("/")) == ["/notes/", "/raw"]
    assert theirs.edit("/notes/a.md", "two", "2").error is None
    assert text(ours.read("/notes/a.md")) == "one\n2\n"
    [entry] = ours.ls("/notes").entries or []
    assert entry.get("size") == 6


def test_a_deepagents_agent_works_with_our_backend() -> None:
    from deepagents import create_deep_agent

    store = InMemoryStore()
    script = [
        says(call("write_file", file_path="/a.md", content="one\ntwo\n")),
        says(call("edit_file", file_path="/a.md", old_string="two", new_string="2")),
        says(call("read_file", file_path="/a.md")),
    ]
    agent = create_deep_agent(ScriptedModel(script), backend=StoreBackend(HERE), store=store)
    state = agent.invoke({"messages": [HumanMessage("go")]})
    assert [message.status for message in answers(state)] == ["success"] * 3
    item = store.get(HERE, "/a.md")
    assert item is not None
    assert item.value["content"] == "one\n2\n"


# How it is written


def test_nothing_is_embedded_and_the_default_time_to_live_holds() -> None:
    class Living(CountingStore):
        supports_ttl = True
        ttl_config = {"default_ttl": 5.0, "refresh_on_read": False}  # noqa: RUF012

    counting = Living(InMemoryStore())
    files = backend(counting)
    files.write("/a", "x", once="scope.group.1")
    files.read("/a")
    puts = [op for op in counting.ops if isinstance(op, PutOp)]
    assert puts
    assert {op.index for op in puts} == {False}
    assert {op.ttl for op in puts} == {5.0}
    assert not any(getattr(op, "refresh_ttl", False) for op in counting.ops)


def test_a_write_that_somebody_else_undid_is_told(store: BaseStore) -> None:
    class Busy(CountingStore):
        """Another process writes the same file right after us."""

        def batch(self, ops: Any) -> Any:
            ops = list(ops)
            results = super().batch(ops)
            if any(isinstance(op, PutOp) and op.key == "/a" for op in ops):
                _put(self.store, "/a", "theirs")
            return results

    backend(store).write("/a", "one")
    result = backend(Busy(store)).edit("/a", "one", "two")
    assert "somebody else changed it" in str(result.error)
    assert text(backend(store).read("/a")) == "theirs"


def test_a_path_that_postgres_could_not_hold_is_refused(store: BaseStore) -> None:
    files = backend(store)
    long = "/" + "/".join(["n" * 250] * 8)
    assert "longer than" in str(files.write(long, "x").error)
    assert files.write(long[:1_700], "x").error is None


def test_times_of_a_file_are_kept_by_an_edit_and_a_move(store: BaseStore) -> None:
    store.put(HERE, "/a", {"content": "x", "created_at": "2024-01-01T00:00:00+00:00"})
    files = backend(store)
    files.edit("/a", "x", "y")
    files.move("/a", "/b")
    item = store.get(HERE, "/b")
    assert item is not None
    assert item.value["created_at"] == "2024-01-01T00:00:00+00:00"
    assert item.value["modified_at"] > "2026"


async def test_edits_of_threads_and_of_tasks_all_land(store: BaseStore) -> None:
    files = backend(store)
    files.write("/a", "".join(f"<{n}>\n" for n in range(60)))
    awaited = [files.aedit("/a", f"<{n}>", f"[{n}]") for n in range(30)]
    with ThreadPoolExecutor(8) as pool:
        edits = [pool.submit(files.edit, "/a", f"<{n}>", f"[{n}]") for n in range(30, 60)]
        results = await asyncio.gather(*awaited, *map(asyncio.wrap_future, edits))
    assert [result.error for result in results] == [None] * 60
    assert text(files.read("/a")) == "".join(f"[{n}]\n" for n in range(60))
