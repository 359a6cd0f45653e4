"""Notes with paths that can be renamed, and text that can't be mistaken for other text."""

import pickle
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_filesystem.state.text import Note, PathPart, escaped, join_notes


def mounted(path: str) -> str:
    return ("/m" + path).rstrip("/")


def test_a_note_is_a_text_with_paths_that_can_be_renamed() -> None:
    note = Note("Not searched: ", PathPart("/a/b"), " and ", PathPart("/"), ", not /a/b.")
    assert note == "Not searched: /a/b and /, not /a/b."
    assert note.renamed(mounted) == "Not searched: /m/a/b and /m, not /a/b."
    assert note.renamed(mounted).renamed(mounted) == "Not searched: /m/m/a/b and /m/m, not /a/b."


def test_notes_keep_their_paths_in_other_notes() -> None:
    first = Note("see ", PathPart("/a"))
    whole = Note(PathPart("/b"), ": ", first)
    assert whole.renamed(mounted) == "/m/b: see /m/a"
    joined = join_notes("\n", [first, None, "plain /a", ""])
    assert joined is not None
    assert joined.renamed(mounted) == "see /m/a\nplain /a"
    assert join_notes("\n", [None, ""]) is None


def test_a_note_can_be_pickled_with_its_paths() -> None:
    loaded = pickle.loads(pickle.dumps(Note("see ", PathPart("/a"))))
    assert loaded.renamed(mounted) == "see /m/a"


@given(st.text(st.characters(), max_size=50))
def test_escaped_text_is_one_line_that_can_be_printed(text: str) -> None:
    shown = escaped(text)
    assert escaped(shown) == shown
    shown.encode()
    for char in shown.replace("\t", ""):
        assert unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("/plain name.txt", "/plain name.txt"),
        ("a\nb\rc\td", "a\\nb\\rc\td"),
        ("\x1b[31m", r"\x1b[31m"),
        ("\u202e\u2028", r"\u{202e}\u{2028}"),
        ("\ud800", r"\u{d800}"),
        ("é日😀", "é日😀"),
    ],
)
def test_escapes_look_like_this(raw: str, shown: str) -> None:
    assert escaped(raw) == shown
