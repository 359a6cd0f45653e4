"""Which letters are the same: all that Python takes for it, and no others.

That `rg` finds the same with them is in `test_dialect.py`.
"""

import re

import pytest

from langgraph_filesystem.state.backends.letter_case import ignoring_case, same_letters

ALL = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x1F800))))
BEYOND = "".join(map(chr, range(0x1F000, 0x110000)))


@pytest.mark.parametrize("letter", "aikKs\u00b5\u00df\u0130\u0131\u01c5\u03c2\u1e9e\u212a1-\u4e2d")
def test_the_same_letters_are_those_that_python_finds(letter: str) -> None:
    assert same_letters(letter) == "".join(re.findall(re.escape(letter), ALL, re.IGNORECASE))


@pytest.mark.parametrize(
    "characters", ["[a-z]", "[^a-z]", r"[\w]", "[\u0100-\u024f]", "[^\u03c3]", "[\U00010400]"]
)
def test_what_a_class_takes_in_and_what_it_loses(characters: str) -> None:
    more, less = ignoring_case(characters)
    plain, folded = (set(re.findall(characters, ALL, flags)) for flags in (0, re.IGNORECASE))
    assert (plain | set(more)) - set(less) == folded
    assert not set(more) & plain
    assert set(less) <= plain


def test_no_letter_with_a_case_is_overlooked() -> None:
    assert BEYOND.lower() == BEYOND == BEYOND.upper()
    for character in ALL:
        for other in (character.lower(), character.upper()):
            if other != character and re.fullmatch(character, other, re.IGNORECASE):
                assert other in same_letters(character)
