"""What a move says of itself, and what a checkpoint keeps of that."""

import pytest

from langgraph_filesystem.state.moved import Moved


@pytest.mark.parametrize("moved", [Moved(0), Moved(1), Moved(2_000, empty=1, links=3)])
def test_what_is_kept_is_read_again(moved: Moved) -> None:
    assert Moved.read(moved.text) == moved
    assert moved.text.split() == [moved.text]


def test_what_an_earlier_release_kept_is_read_too() -> None:
    assert Moved.read("3") == Moved(3)


def test_only_what_was_lost_is_remarked() -> None:
    assert Moved(3).remarks == []
    assert Moved(3, empty=1, links=1, note="More.").remarks == [
        "1 empty directory was not kept: there are none at the destination.",
        "1 symbolic link is now what it led to.",
        "More.",
    ]
    assert Moved(None, empty=2_000, links=2).remarks == [
        "2,000 empty directories were not kept: there are none at the destination.",
        "2 symbolic links are now what they led to.",
    ]
