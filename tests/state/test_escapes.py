"""Names and lines that could pass for something else are shown escaped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_filesystem.state.text import escaped
from tests.nodes.test_ls import is_plain


@given(st.text(st.characters(), max_size=50))
def test_escaped_text_is_one_plain_line(text: str) -> None:
    shown = escaped(text)
    assert "\n" not in shown
    assert is_plain(shown.replace("\t", ""))
    assert escaped(shown) == shown
    shown.encode()


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("/plain name.txt", "/plain name.txt"),
        ("a\nb\rc", r"a\nb\rc"),
        ("\x1b[31m", r"\x1b[31m"),
        ("\u202e", r"\u{202e}"),
        ("\ud800", r"\u{d800}"),
        ("é日😀", "é日😀"),
        ("\U000e0001", r"\u{e0001}"),
    ],
)
def test_escapes_look_like_this(raw: str, shown: str) -> None:
    assert escaped(raw) == shown
