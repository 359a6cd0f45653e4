"""What was begun is remembered until its thread has come to another message."""

import pytest

from langgraph_filesystem.state.backends.journal import Change, Journal, verdict


class Drawer:
    """A shelf in memory."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], bytes] = {}

    def get(self, directory: str, name: str) -> bytes | None:
        return self.kept.get((directory, name))

    def put(self, directory: str, name: str, value: bytes) -> None:
        self.kept[directory, name] = value

    def names(self, directory: str) -> list[str]:
        return [name for place, name in self.kept if place == directory]

    def remove(self, directory: str, name: str) -> None:
        del self.kept[directory, name]


def test_what_was_begun_is_found_under_its_key_only() -> None:
    journal = Journal(Drawer())
    journal.begin("thread.message.0", {"path": "/a"})
    assert journal.find("thread.message.0") == {"path": "/a"}
    assert journal.find("thread.message.1") is None
    assert journal.find("other.message.0") is None


def test_how_it_ended_takes_the_place_of_how_it_began() -> None:
    journal = Journal(Drawer())
    journal.begin("thread.message.0", {"command": "x"})
    journal.end("thread.message.0", {"exit_code": 0})
    assert journal.find("thread.message.0") == {"exit_code": 0}


def test_the_notes_of_a_message_go_when_the_thread_has_come_to_another() -> None:
    drawer = Drawer()
    journal = Journal(drawer)
    for key in ("thread.one.0", "thread.one.1", "other.one.0", "thread.two.0", "thread.two.1"):
        journal.begin(key, {})
    kept = {f"{directory}.{name}" for directory, name in drawer.kept}
    assert kept == {"other.one.0", "thread.two.0", "thread.two.1"}


def test_half_a_note_is_none() -> None:
    drawer = Drawer()
    journal = Journal(drawer)
    for value in (b"", b'{"path": "/', b"[1]", b"\xff"):
        drawer.put("thread", "message.0", value)
        assert journal.find("thread.message.0") is None


A, B = Change("/a", "1", "2"), Change("/b", None, "x")


@pytest.mark.parametrize(
    ("now", "later", "expected"),
    [
        (["2", "x"], [], True),
        (["1", None], [], None),
        (["2", None], [], None),  # in part: done again, it leads to the same
        (["3", "x"], [], False),
        (["3", "x"], [Change("/a", "2", "3")], True),
        (["1", "x"], [Change("/a", "2", "1")], True),
        (["3", None], [Change("/a", "2", "3")], None),
        (["3", "x"], [Change("/a", "1", "3"), Change("/b", "2", "3")], False),
    ],
)
def test_what_is_there_and_what_came_later_say_whether_it_was_done(
    now: list[str | None], later: list[Change], expected: bool | None
) -> None:
    assert verdict([A, B], now, later) is expected
