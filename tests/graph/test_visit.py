"""One visit: what a subgraph is handed, and what it hands back."""

import operator
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.channels import BinaryOperatorAggregate
from langgraph.types import Command, Overwrite

from langgraph_filesystem.parent import Parent
from langgraph_filesystem.state.langgraph_internals import MISSING
from langgraph_filesystem.state.seeded import seeded
from langgraph_filesystem.visit import Visit

NOWHERE = Parent({})


def visit(given: Any) -> Visit:
    return Visit(
        NOWHERE,
        given,
        seeded=["messages", "files", "seen"],
        inputs=["messages", "files", "topic"],
    )


def test_what_is_given_by_value_replaces_what_a_channel_begins_with() -> None:
    begun = visit({"messages": ["hi"], "files": {"a": "text"}, "topic": "t", "unknown": 1})
    assert begun.seeds == {}
    assert set(begun.input) == {"messages", "files", "topic"}
    assert begun.input["topic"] == "t"
    assert begun.input["files"] == Overwrite({"/a": {"content": "text", "encoding": "utf-8"}})
    [message] = begun.input["messages"].value
    assert (message.text, bool(message.id)) == ("hi", True)


def test_what_was_given_is_not_handed_back() -> None:
    begun = visit({"messages": [HumanMessage("hi", id="h")], "files": {"/a": "a", "/b": "b"}})
    given = begun.input["messages"].value
    files = {"/a": {"content": "a", "encoding": "utf-8"}, "/c": {"content": "c"}}
    begun.values = {"messages": [*given, AIMessage("yes", id="y")], "files": files, "seen": {}}
    assert begun.update() == {
        "messages": [AIMessage("yes", id="y")],
        "files": {"/c": {"content": "c"}, "/b": None},
    }


def test_nothing_changed_is_an_empty_update() -> None:
    begun = visit({"messages": [HumanMessage("hi", id="h")]})
    begun.values = {"messages": begun.input["messages"].value, "files": {}}
    assert begun.update() == {}


def test_messages_that_move_are_removed_first() -> None:
    begun = visit({"messages": [HumanMessage("1", id="1"), HumanMessage("2", id="2")]})
    one, two = begun.input["messages"].value
    between = AIMessage("between", id="b")
    begun.values = {"messages": [one, between, two]}
    update = begun.update()
    assert isinstance(update, Command)
    # In two updates: `add_messages` would leave a message where it was.
    assert update.update == [
        ("messages", [RemoveMessage(id="2")]),
        ("messages", [between, two]),
    ]


def test_other_keys_come_back_when_they_changed() -> None:
    class Array:
        def __eq__(self, other: object) -> Any:
            raise ValueError("The truth value of an array is ambiguous.")

    array = Array()
    begun = visit({"messages": [], "topic": array})
    begun.values = {"topic": array, "verdict": 1}
    assert begun.update() == {"verdict": 1}
    other = Array()
    begun.values = {"topic": other}
    assert begun.update()["topic"] is other


def test_a_key_with_a_reducer_that_nothing_was_written_to_is_not_handed_back() -> None:
    begun = visit({"messages": []})
    channel = seeded("log", BinaryOperatorAggregate(list, operator.add), ["seed"], begun.live)
    live = channel.from_checkpoint(MISSING)
    begun.values = {"log": live.get()}
    assert begun.update() == {}
    live.update([["new"]])
    begun.values = {"log": live.get()}
    # Nobody reduces it there, so it is the whole.
    assert begun.update() == {"log": ["seed", "new"]}


def test_a_command_that_ends_a_visit_takes_the_changes_along() -> None:
    for update in (None, {"topic": "t"}, [("topic", "t")]):
        begun = visit({"messages": []})
        begun.values = {"files": {"/a": {"content": "a"}}}
        command: Command[Any] = begun.followed_by(Command(goto="next", update=update))
        theirs = [("topic", "t")] if update else []
        assert command.update == [("files", {"/a": {"content": "a"}}), *theirs]
        assert command.goto == "next"
