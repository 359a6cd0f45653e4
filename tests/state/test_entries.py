"""The `overlay` channel: the law of its reducer, and what it refuses."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_filesystem.state.channels import OverlayChannel
from langgraph_filesystem.state.entries import changed_entries, combined_entries, merge_overlay
from langgraph_filesystem.state.errors import InvalidFiles
from langgraph_filesystem.state.langgraph_internals import MISSING

PATHS = st.sampled_from(["/a", "/b", "/d/x"])
EDITS = st.lists(
    st.builds(lambda new: {"old": "x", "new": new, "replace_all": False}, st.sampled_from("yz")),
    min_size=1,
    max_size=2,
)
EDITED = st.builds(lambda edits: {"kind": "file", "base": "1", "edits": edits}, EDITS)
WHOLE = st.sampled_from(
    [
        {"kind": "file", "base": "1", "mode": 0o755},
        {"kind": "file"},
        {"kind": "deleted", "base": "2"},
        {"kind": "link", "target": "a"},
        {"kind": "directory"},
    ]
)
UPDATES = st.lists(st.dictionaries(PATHS, st.one_of(EDITED, WHOLE, st.none())), max_size=5)
ENTRIES = st.builds(lambda writes: merge_overlay({}, writes), UPDATES)


@given(entries=ENTRIES, updates=UPDATES, at=st.integers(0, 5))
def test_writes_merge_the_same_in_batches_of_any_size(entries: Any, updates: Any, at: int) -> None:
    before = dict(entries)
    at_once = merge_overlay(entries, updates)
    assert merge_overlay(merge_overlay(entries, updates[:at]), updates[at:]) == at_once
    assert entries == before


@given(entries=ENTRIES, one=UPDATES, other=UPDATES)
def test_two_updates_of_a_node_are_like_one(entries: Any, one: Any, other: Any) -> None:
    for first in one:
        for second in other:
            together = merge_overlay(entries, [combined_entries(first, second)])
            for path, entry in merge_overlay(entries, [first, second]).items():
                # Whoever removed an entry can't edit the file: if so, its edits are not kept.
                is_removed = path in first and first[path] is None
                expected = {k: v for k, v in entry.items() if k != "edits" or not is_removed}
                assert together[path] == (expected if is_removed else entry)


@given(given_=ENTRIES, updates=UPDATES, others=UPDATES)
def test_a_branch_hands_over_what_it_changed(given_: Any, updates: Any, others: Any) -> None:
    after = merge_overlay(given_, updates)
    changes = changed_entries(given_, after)
    handed = merge_overlay(given_, [changes])
    assert handed.keys() == after.keys()
    for path, entry in after.items():
        kept = {k: v for k, v in entry.items() if k != "edits"}
        assert {k: v for k, v in handed[path].items() if k != "edits"} == kept
        assert handed[path].get("edits") in (entry.get("edits"), None)


def test_edits_of_two_branches_are_both_kept() -> None:
    def edited(new: str) -> Any:
        edit = {"old": "x", "new": new, "replace_all": False}
        return {"/a": {"kind": "file", "base": "1", "edits": [edit]}}

    merged = merge_overlay({}, [edited("y"), edited("z")])
    assert [edit["new"] for edit in merged["/a"]["edits"]] == ["y", "z"]
    assert "edits" not in merge_overlay(merged, [{"/a": {"kind": "file"}}, edited("y")])["/a"]


@pytest.mark.parametrize(
    "update",
    [
        [],
        {"../a": None},
        {"/": {"kind": "deleted"}},
        {"/a": {"kind": "folder"}},
        {"/a": {"kind": "link"}},
        {"/a": {"kind": "file", "target": "b"}},
        {"/a": {"kind": "file", "mode": "755"}},
        {"/a": {"kind": "file", "base": 1}},
        {"/a": {"kind": "file", "edits": [{"old": "x"}]}},
        {"/a": "text"},
    ],
)
def test_invalid_entries_are_refused_and_a_stored_one_is_left_out(update: Any) -> None:
    with pytest.raises(InvalidFiles, match="overlay"):
        merge_overlay({}, [update])
    channel = OverlayChannel().from_checkpoint(MISSING)
    channel.replay_writes([("1", "overlay", {"/a": {"kind": "file"}}), ("2", "overlay", update)])
    assert channel.get() == {"/a": {"kind": "file"}}
