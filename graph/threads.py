"""Taking back, copying and pruning threads: what is done, whatever the database.

Each of them is a plan, which hands out statements and is handed rows. A saver carries it out in one
transaction, whether it blocks or awaits.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol
from uuid import uuid4

from langgraph.checkpoint.base import CheckpointTuple, writes_sort_key

from langgraph_filesystem.lineage import Link, Place, input_task, without_heirs

__all__ = (
    "BASE",
    "Details",
    "Plan",
    "Statement",
    "Tables",
    "acarried_out",
    "carried_out",
    "check_pruned",
    "copied",
    "is_base",
    "pruned",
    "taken_back",
)

BASE = "filesystem_base"
"""In the metadata of a checkpoint that is there only for another one to be rebuilt from."""

Statement = tuple[str, Any]
Plan = Generator[Statement, Sequence[Sequence[Any]], None]

_SENDS_WITHIN = 4
"""The version of checkpoints since which one says itself what is to run next."""


class Details(NamedTuple):
    """What is to be known of a checkpoint."""

    version: int
    stored: frozenset[str]
    """The channels that have their values in it."""
    changing: frozenset[str]
    """The channels of which changes are stored: without their value here, it is rebuilt."""
    parents: Mapping[str, str]
    """From which checkpoints of which graphs the one of a subgraph was started."""


class Tables(Protocol):
    """How a kind of database says what a plan asks for."""

    def begin(self, thread: str) -> Statement:
        """Begin to change a thread: one after the other."""

    def links(self, run: str) -> Statement:
        """Select `Link`s of the threads of a run, and which of them are bases.

        These go unless something is built on them.
        """

    def copies(self, source: str, target: str) -> Iterable[Statement]:
        """Copy a thread."""

    def checkpoints(self, thread: str) -> Statement:
        """Select namespace, id and parent of all checkpoints of a thread."""

    def details(self, place: Place) -> Statement:
        """Select what `read` reads."""

    def read(self, row: Sequence[Any]) -> Details:
        """Return what `details` found."""

    def writes(self, place: Place) -> Statement:
        """Select path, task, number and channel of what was written to a checkpoint."""

    def move(self, place: Place, task: str, number: int, *, to: tuple[str, str, int]) -> Statement:
        """Add a write to another checkpoint of the namespace, as this task's with this number."""

    def relink(self, place: Place, parent: str | None, *, base: bool) -> Statement:
        """Give a checkpoint another parent, and mark it if it is only a base from now on."""

    def delete_writes(self, place: Place, *, but: str = "", of: str = "") -> Statement:
        """Delete what was written to a checkpoint: but that of a task, or only that of a task."""

    def delete(self, thread: str, namespace: str, ids: Sequence[str]) -> Iterable[Statement]:
        """Delete checkpoints, and what was written to them."""

    def tidy(self, thread: str) -> Iterable[Statement]:
        """Delete what no checkpoint of the thread refers to any more."""


def carried_out(cursor: Any, plan: Plan) -> None:
    """Execute the statements of a plan."""
    for statement in _handed_out(plan, answer := _Answer()):
        cursor.execute(*statement)
        answer.rows = cursor.fetchall() if cursor.description else []


async def acarried_out(cursor: Any, plan: Plan) -> None:
    """Execute the statements of a plan, awaited."""
    for statement in _handed_out(plan, answer := _Answer()):
        await cursor.execute(*statement)
        answer.rows = await cursor.fetchall() if cursor.description else []


class _Answer:
    rows: Sequence[Any] = ()


def _handed_out(plan: Plan, answer: _Answer) -> Iterator[Statement]:
    try:
        statement = next(plan)
        while True:
            yield statement
            rows = [tuple(r.values()) if isinstance(r, dict) else r for r in answer.rows]
            statement = plan.send(rows)
    except StopIteration:
        return


def _each(statements: Iterable[Statement]) -> Plan:
    for statement in statements:  # noqa: UP028 (rows are sent, which an iterator does not take)
        yield statement


def check_pruned(thread_ids: Sequence[str], strategy: str) -> list[str]:
    """Return the names of threads to prune, or raise if that can't be what is meant."""
    if strategy not in ("keep_latest", "delete", "delete_all"):
        raise ValueError(
            f"There is no strategy {strategy!r} to prune threads: use 'keep_latest' or 'delete'."
        )
    if isinstance(thread_ids, str):
        raise TypeError(f"Threads to prune are given as a list: [{thread_ids!r}].")
    return [str(thread) for thread in thread_ids]


def is_base(found: CheckpointTuple) -> bool:
    """Say whether a checkpoint is no state of its thread, but what the others are rebuilt from."""
    metadata: Mapping[str, Any] = found.metadata
    return BASE in metadata


def taken_back(tables: Tables, runs: Sequence[str]) -> Plan:
    """Take runs back: their checkpoints, and their input from where it was given.

    What a later run was built on stays, or its thread could not be read any more.
    """
    yield tables.begin("")
    for run in map(str, runs):
        rows = yield tables.links(run)
        links = [Link(a, b, c, parent, bool(goes)) for a, b, c, parent, goes, _ in rows]
        gone, freed = without_heirs(links)
        kept = _foundations(rows, gone)
        gone = [place for place in gone if place[:2] not in kept]
        for thread, namespace in sorted({place[:2] for place in gone}):
            ids = [place[2] for place in gone if place[:2] == (thread, namespace)]
            yield from _each(tables.delete(thread, namespace, ids))
        for place in freed:
            yield tables.delete_writes(place, of=input_task(place[2]))
        for thread in sorted({place[0] for place in gone}):
            yield from _each(tables.tidy(thread))


def _foundations(rows: Iterable[Sequence[Any]], gone: Iterable[Place]) -> set[tuple[str, str]]:
    """Return the threads, with their namespaces, whose foundations would go with a run.

    What was there before the run has been pruned, so that there is nothing to go back to.
    """
    bases = {(row[0], row[1], row[2]) for row in rows if row[5]}
    return {place[:2] for place in bases.intersection(gone)}


def copied(tables: Tables, source: str, target: str) -> Plan:
    """Copy a thread with its whole history, in its order."""
    yield tables.begin(str(target))
    if (yield tables.checkpoints(str(target))):
        raise ValueError(f"There is a thread {target!r} already: copy to a new one.")
    yield from _each(tables.copies(str(source), str(target)))


def pruned(tables: Tables, thread: str) -> Plan:
    """Forget all states of a thread but the newest.

    Channels that store changes are rebuilt from the past. What they need of it stays, moved
    together: for each channel the last checkpoint with its value, with all that was written to the
    channel since then, in its order. Such a base is no state any more, and is not listed.
    """
    yield tables.begin(thread)
    known: dict[str, dict[str, str | None]] = {}
    for namespace, id, parent in (yield tables.checkpoints(thread)):
        known.setdefault(namespace, {})[id] = parent
    for namespace, parents in known.items():
        newest = max(parents)
        details = tables.read((yield tables.details((thread, namespace, newest)))[0])
        if _is_past_call(namespace, details, known.get("", {})):
            yield from _each(tables.delete(thread, namespace, list(parents)))
        elif details.version >= _SENDS_WITHIN:
            yield from _pruned_namespace(tables, (thread, namespace, newest), details, parents)
    yield from _each(tables.tidy(thread))


def _is_past_call(namespace: str, details: Details, roots: Mapping[str, Any]) -> bool:
    """Say whether a namespace is of one call of a subgraph, by a checkpoint that is to go.

    The name of a call has its task in it. A subgraph that keeps its state has none, and stays.
    """
    root = details.parents.get("")
    return ":" in namespace and root in roots and root != max(roots)


class _Write(NamedTuple):
    id: str
    task: str
    number: int
    channel: str


def _pruned_namespace(
    tables: Tables, place: Place, details: Details, parents: Mapping[str, str | None]
) -> Plan:
    thread, namespace, newest = place
    missing = set(details.changing - details.stored)
    needed: list[_Write] = []
    homes: dict[str, str] = {}
    before = list(_before(newest, parents))
    for id in before:
        if not missing:
            break
        found = tables.read((yield tables.details((thread, namespace, id)))[0])
        writes = yield tables.writes((thread, namespace, id))
        ordered = sorted(writes, key=lambda row: writes_sort_key(row[0], row[1], row[2]))
        needed += [_Write(id, *row[1:]) for row in reversed(ordered) if row[3] in missing]
        homes |= dict.fromkeys(missing & found.stored, id)
        missing -= found.stored
    bases = list(dict.fromkeys(homes.values()))
    if needed and not bases:
        bases = before[:1]
    gone = [id for id in parents if id != newest and id not in bases]
    if not gone and not bases:
        return
    task = str(uuid4())
    for number, write in enumerate(reversed(needed)):
        to = homes.get(write.channel) or bases[-1]
        source = (thread, namespace, write.id)
        yield tables.move(source, write.task, write.number, to=(to, task, number))
    for id in bases:
        yield tables.delete_writes((thread, namespace, id), but=task)
    for id, parent in zip([newest, *bases], [*bases, None], strict=True):
        yield tables.relink((thread, namespace, id), parent, base=id != newest)
    yield from _each(tables.delete(thread, namespace, gone))


def _before(id: str, parents: Mapping[str, str | None]) -> Iterator[str]:
    """Yield the checkpoints that one is built on, the newest first."""
    seen = {id}
    current = parents[id]
    while current is not None and current in parents and current not in seen:
        yield current
        seen.add(current)
        current = parents[current]
