"""What a composite knows of calls from before a crash, and hands on to those who keep notes."""

from typing import Any

import pytest

from langgraph_filesystem.state.backends.protocol import Outcome
from langgraph_filesystem.state.workspace.composite import CompositeBackend
from tests.nodes.backends import Shelf
from tests.state.test_effects import Keyed


class Noting(Shelf):
    """A shelf with a note for each change; it can break down before one of them."""

    def __init__(self, **files: Any) -> None:
        super().__init__(**files)
        self.notes: dict[str, Any] = {}
        self.breaks_before = ""

    def upload_files(self, files: Any, *, once: str | None = None) -> Any:
        self._note("upload", once)
        return super().upload_files(files)

    def delete(self, file_path: str, *, once: str | None = None) -> Any:
        self._note("delete", once)
        return super().delete(file_path)

    def recall(self, once: str) -> Outcome | None:
        return Outcome(finished=True) if once in self.notes else None

    def _note(self, what: str, once: str | None) -> None:
        if self.breaks_before == what:
            self.breaks_before = ""
            raise SystemExit("killed")
        self.notes[once or ""] = what


def test_a_key_is_handed_to_the_backend_that_has_the_path() -> None:
    one, two = Keyed(), Keyed()
    both = CompositeBackend(one, {"/m": two})
    both.write("/m/a", "x", once="s.g.1")
    assert (one.keys, two.keys) == ([], ["s.g.1"])


def test_what_any_backend_knows_of_a_call_is_known() -> None:
    both = CompositeBackend(Shelf(), {"/m": Keyed(Outcome(finished=True, occurrences=2))})
    assert both.recall("s.g.1") == Outcome(finished=True, occurrences=2)
    assert CompositeBackend(Shelf(), {"/m": Keyed()}).recall("s.g.1") is None
    assert CompositeBackend(Shelf()).recall("s.g.1") is None


@pytest.mark.parametrize("place", ["upload", "delete"])
def test_a_move_across_that_was_killed_is_carried_on(place: str) -> None:
    one, two = Noting(d__a="1", d__b="2"), Noting()
    (two if place == "upload" else one).breaks_before = place
    both = CompositeBackend(one, {"/m": two})
    with pytest.raises(SystemExit):
        both.move("/d", "/m/d", once="s.g.1")
    assert both.recall("s.g.1") is None
    assert both.move("/d", "/m/d", once="s.g.1").error is None
    assert (one.files, two.files) == ({}, {"/d/a": b"1", "/d/b": b"2"})
    assert both.recall("s.g.1") == Outcome(finished=True)
    assert both.move("/d", "/m/d", once="s.g.1").error is None


def test_a_digest_of_a_path_that_is_refused_is_none() -> None:
    both = CompositeBackend(Shelf(a="x"))
    assert both.digest("/../a") is None
    assert both.digest("/a") is not None


def test_a_mount_that_can_not_be_made_keeps_no_other_from_its_work() -> None:
    def broken(_: Any) -> Any:
        raise RuntimeError("it is down")

    known = Keyed(Outcome(finished=True))
    assert CompositeBackend(Shelf(), {"/down": broken}).recall("s.g.1") is None
    both = CompositeBackend(Shelf(), {"/a-long-way-down": broken, "/m": known})
    assert both.recall("s.g.1") == Outcome(finished=True)
    assert "it is down" in str(both.write("/a-long-way-down/a", "x").error)
