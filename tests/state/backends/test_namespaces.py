"""Whose files a run sees: which namespaces are taken, and which is the default one."""

from dataclasses import dataclass
from typing import Any

import pytest
from langgraph.runtime import Runtime, ServerInfo
from langgraph.store.memory import InMemoryStore

from langgraph_filesystem.state.backends.namespaces import (
    OURS,
    checked_namespace,
    default_namespace,
)


@dataclass
class User:
    """As the server brings one along, or as the context of a run."""

    identity: str = ""
    user_id: str = ""


def runtime(context: Any = None, user: Any = None, assistant: str | None = None) -> Runtime[Any]:
    if user is None and assistant is None:
        return Runtime(context=context)
    server = ServerInfo(assistant_id=assistant or "", graph_id="graph", user=user)
    return Runtime(context=context, server_info=server)


@pytest.mark.parametrize("namespace", [("files",), ("a", "b c", "ä@%"), ("users", OURS)])
def test_a_namespace_that_a_store_takes_is_taken(namespace: tuple[str, ...]) -> None:
    assert checked_namespace(namespace) == namespace
    InMemoryStore().put(namespace, "key", {})


@pytest.mark.parametrize(
    "namespace", [(), "files", ["files"], None, ("",), ("a", 1), ("a.b",), ("a\n",), ("a", "\0")]
)
def test_what_is_no_namespace_is_refused(namespace: object) -> None:
    with pytest.raises(ValueError, match="namespace"):
        checked_namespace(namespace)


@pytest.mark.parametrize("first", ["langgraph", OURS])
def test_a_namespace_of_somebody_else_is_refused(first: str) -> None:
    with pytest.raises(ValueError, match="reserved"):
        checked_namespace((first, "files"))


ADA = User(identity="ada")


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (runtime(), ("filesystem",)),
        (runtime({"user_id": "ada"}), ("users", "ada", "filesystem")),
        (runtime(User(user_id="ada")), ("users", "ada", "filesystem")),
        (runtime({"user_id": ""}), ("filesystem",)),
        (runtime({"user_id": 7}), ("users", "7", "filesystem")),
        (runtime(user=ADA), ("users", "ada", "filesystem")),
        (runtime(assistant="helper"), ("helper", "filesystem")),
        (runtime(user=ADA, assistant="helper"), ("helper", "ada", "filesystem")),
        (runtime({"user_id": "eve"}, ADA, "helper"), ("helper", "ada", "filesystem")),
        (runtime({"user_id": "bob"}, None, "helper"), ("helper", "bob", "filesystem")),
    ],
)
def test_the_default_is_of_the_assistant_and_the_user(
    run: Runtime[Any], expected: tuple[str, ...]
) -> None:
    assert default_namespace(run) == expected


def test_any_user_has_a_namespace_that_is_taken_and_no_one_elses() -> None:
    users = ["a.b", "a%2Eb", "a\nb", "a b", "ab", "a%b", "langgraph"]
    found = {checked_namespace(default_namespace(runtime({"user_id": user}))) for user in users}
    assert len(found) == len(users)
