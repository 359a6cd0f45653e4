"""What was left out is said in few words, whatever the names."""

from langgraph_filesystem.state.backends.omissions import Omissions, Tally


def tally(*names: str) -> Tally:
    found = Tally()
    for name in names:
        found.add(name)
    return found


def test_the_first_names_stand_for_the_others() -> None:
    assert str(tally("/a")) == "/a"
    assert str(tally("/c", "/b", "/a")) == "/a, /b, /c"
    names = [f"/{number:04}" for number in range(2_000)]
    assert str(tally(*names)) == "/0000, /0001, /0002 and 1,997 more"
    assert str(tally(*reversed(names))) == str(tally(*names))


def test_the_same_name_counts_once_and_a_directory_is_named_like_a_file() -> None:
    assert str(tally("/a", "/d/", "/d", "/a")) == "/a, /d"
    assert str(tally("/")) == "/"


def test_sizes_are_known_of_what_was_looked_at_to_the_end() -> None:
    assert Omissions(unreadable=tally("/u")).has_all_sizes
    for omissions in (
        Omissions(large=tally("/l")),
        Omissions(may_be_large=True),
        Omissions(is_late=True),
    ):
        assert not omissions.has_all_sizes


def test_a_name_that_is_no_text_or_too_long_is_shown_all_the_same() -> None:
    assert str(tally("/\udcff")) == "/\\xff"
    assert len(str(tally("/" + "x" * 4_000))) < 250


def test_nothing_left_out_is_nothing_said() -> None:
    assert Omissions().note(20, 10) is None


def test_all_that_was_left_out_is_said() -> None:
    omissions = Omissions(
        unreadable=tally("/u"), unnameable=tally("/\udce9"), large=tally("/l"), is_late=True
    )
    assert omissions.note(20.0, 1_000) == (
        "The search stopped after 20 s; search a smaller directory. "
        "Files over 1,000 bytes are searched only when `path` names them; left out: /l. "
        "Left out, as it can't be read: /u. Left out, as no path can name it: /\\xe9."
    )
