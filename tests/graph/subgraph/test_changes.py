"""What a graph hands back does to another copy what was done to its own."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage

from langgraph_filesystem.state.channels import merge_seen
from langgraph_filesystem.state.files import merge_files
from langgraph_filesystem.state.messages import merge_messages
from langgraph_filesystem.subgraph.changes import (
    ChangedFiles,
    changed_files,
    changed_messages,
    changed_seen,
    differences,
    merge_changed,
    whole_files,
)

PATHS = st.sampled_from(["/a", "/b", "/d/x"])
TEXTS = st.sampled_from(["", "one", "two", "one two", "one one two"])
DATA = st.builds(lambda text: {"content": text, "encoding": "utf-8", "created_at": "t"}, TEXTS)
EDITS = st.builds(
    lambda old, new, every: {"edits": [{"old": old, "new": new, "replace_all": every}]},
    TEXTS,
    TEXTS,
    st.booleans(),
)
FILES = st.dictionaries(PATHS, DATA)
UPDATES = st.lists(st.dictionaries(PATHS, st.one_of(DATA, EDITS, st.none())), max_size=5)


@given(files=FILES, updates=UPDATES, at=st.integers(0, 5))
def test_the_changes_make_the_same_files_again(files: Any, updates: Any, at: int) -> None:
    changed = merge_changed(ChangedFiles(files, files), updates)
    assert changed == merge_files(files, updates)
    assert merge_files(files, [changed.changes]) == changed
    in_two = merge_changed(merge_changed(ChangedFiles(files, files), updates[:at]), updates[at:])
    assert (in_two, in_two.changes) == (changed, changed.changes)


@given(files=FILES, others=FILES)
def test_differences_make_one_of_the_other(files: Any, others: Any) -> None:
    assert merge_files(files, [differences(files, others)]) == others
    assert changed_files(files, others).changes == differences(files, others)
    assert differences(files, dict(files)) == {}


def test_an_edit_stays_an_edit_and_a_file_that_was_written_takes_it_in() -> None:
    seed: Any = {"/a": {"content": "one two"}}
    edit: Any = {"edits": [{"old": "one", "new": "ONE", "replace_all": False}]}
    changed = merge_changed(ChangedFiles(seed, seed), [{"/a": edit}, {"/b": "one"}, {"/b": edit}])
    assert changed.changes["/a"] == edit
    assert changed.changes["/b"] == {"content": "ONE", "encoding": "utf-8"}
    assert whole_files(changed.changes, changed)["/a"] == {"content": "ONE two"}
    assert whole_files({"/gone": None}, {}) == {"/gone": None}


def test_what_came_and_went_is_no_change() -> None:
    seed: Any = {"/a": {"content": "a"}}
    changed = merge_changed(ChangedFiles(seed, seed), [{"/b": "b"}, {"/b": None, "/a": None}])
    assert changed.changes == {"/a": None}


def test_files_that_were_given_are_not_changed() -> None:
    seed: Any = {"/a": {"content": "a"}}
    first = ChangedFiles(seed, seed)
    second = merge_changed(first, [{"/a": None, "/b": "b"}])
    assert (dict(first), first.changes, seed) == (seed, {}, {"/a": {"content": "a"}})
    assert set(second) == {"/b"}


IDS = st.sampled_from("abcdef")
MESSAGES = st.lists(IDS, unique=True).map(lambda ids: [HumanMessage(id, id=id) for id in ids])


@given(before=MESSAGES, writes=st.lists(st.tuples(IDS, st.sampled_from("+-=")), max_size=8))
def test_changed_messages_make_the_same_conversation_again(
    before: list[AnyMessage], writes: list[tuple[str, str]]
) -> None:
    after = before
    for number, (id, kind) in enumerate(writes):
        message = RemoveMessage(id=id) if kind == "-" else AIMessage(f"{number}", id=id)
        after = merge_messages(after, [[message]])
    removed, messages = changed_messages(before, after)
    assert merge_messages(before, [[*removed, *messages]]) == after
    assert merge_messages(before, [removed, messages]) == after


def test_messages_that_are_the_same_are_not_handed_back() -> None:
    before: list[AnyMessage] = [HumanMessage("a", id="a"), AIMessage("b", id="b")]
    new = AIMessage("c", id="c")
    assert changed_messages(before, [*before, new]) == ([], [new])
    copies = [message.model_copy() for message in before]
    assert changed_messages(before, copies) == ([], [])
    shorter = AIMessage("evicted", id="b")
    assert changed_messages(before, [before[0], shorter, new]) == ([], [shorter, new])


SEEN = st.dictionaries(PATHS, st.sampled_from(["1", "2"]))


@given(before=SEEN, after=SEEN)
def test_changed_digests_make_the_same_again(before: Any, after: Any) -> None:
    changes: Any = changed_seen(before, after)
    assert merge_seen(before, [changes]) == after
    assert all(before.get(path) != digest for path, digest in changes.items())
