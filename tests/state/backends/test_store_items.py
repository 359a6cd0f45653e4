"""Files as items of a store: what is a file, and that bytes come back as they were."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from langgraph.store.base import Item

from langgraph_filesystem.state.backends.store_items import blob_of, item_value


def item(value: Any, key: str = "/a.txt") -> Item:
    now = datetime.now(UTC)
    return Item(value=value, key=key, namespace=("files",), created_at=now, updated_at=now)


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (b"", "utf-8"),
        ("ä\r\n😀".encode(), "utf-8"),
        (b"\xff\xfe", "base64"),
        (b"a\0b", "base64"),  # PostgreSQL could not hold it as text
        (bytes(range(256)), "base64"),
    ],
)
def test_bytes_come_back_as_they_were(content: bytes, encoding: str) -> None:
    value = json.loads(json.dumps(item_value(content)))
    assert value["encoding"] == encoding
    blob = blob_of(item(value))
    assert blob is not None
    assert (blob.content, blob.size) == (content, len(content))
    assert (blob.created_at, blob.modified_at) == (value["created_at"], value["modified_at"])


def test_the_time_of_creation_is_kept_and_that_of_the_change_is_now() -> None:
    value = item_value(b"a", "2001-02-03T04:05:06+00:00")
    assert value["created_at"] == "2001-02-03T04:05:06+00:00"
    age = datetime.now(UTC) - datetime.fromisoformat(value["modified_at"])
    assert 0 <= age.total_seconds() < 60


def test_a_new_file_is_created_when_it_is_changed() -> None:
    value = item_value(b"a")
    assert value["created_at"] == value["modified_at"]


def test_an_item_without_times_is_a_file_all_the_same() -> None:
    blob = blob_of(item({"content": "ab", "encoding": "utf-8"}))
    assert blob is not None
    assert (blob.content, blob.created_at, blob.modified_at) == (b"ab", None, None)


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"text": "a"},
        {"content": 7, "encoding": "utf-8"},
        {"content": "a", "encoding": "rot13"},
        {"content": "%", "encoding": "base64"},
        {"edits": [], "content": "a", "encoding": "utf-8"},
        ["content"],
    ],
    ids=str,
)
def test_an_item_with_something_else_in_it_is_no_file(value: Any) -> None:
    assert blob_of(item(value)) is None


@pytest.mark.parametrize("key", ["a.txt", "/", "/a/", "/a//b", "/a/../b", "", "/a\0"])
def test_an_item_whose_key_is_no_path_is_no_file(key: str) -> None:
    assert blob_of(item(item_value(b"a"), key)) is None
