"""Keys and paths: the one is the other below a prefix, and what is no path stays out."""

import pytest

from langgraph_filesystem.state.backends.objects import Entry
from langgraph_filesystem.state.backends.remote_keys import NOTES, Keys, check_reserved, listing
from langgraph_filesystem.state.errors import PathRefused


@pytest.mark.parametrize("root", ["", "team/files", "/srv/files", "bücket/a b"])
@pytest.mark.parametrize("path", ["/a", "/a/b.txt", "/ä ö/%41", "/team/files/a"])
def test_the_path_of_a_key_is_the_one_it_was_made_of(root: str, path: str) -> None:
    keys = Keys(root)
    assert keys.path(keys.key(path)) == path


@pytest.mark.parametrize(
    ("root", "path", "key"),
    [("", "/a/b", "a/b"), ("", "/", ""), ("p/q", "/a", "p/q/a"), ("/p", "/a", "/p/a")],
)
def test_a_key_is_spelled_as_the_store_spells_it(root: str, path: str, key: str) -> None:
    assert Keys(root).key(path) == key


@pytest.mark.parametrize("key", ["p", "p2/a", "q/a", "a", "", "/p/a", "p/../q", "p//a", "p/./a"])
def test_a_key_that_is_no_path_below_the_prefix_has_none(key: str) -> None:
    assert Keys("p").path(key) is None


def test_the_key_of_a_directory_may_end_in_a_slash() -> None:
    assert [Keys("").path("a/"), Keys("p").path("p/a/")] == ["/a", "/a"]


@pytest.mark.parametrize("path", [NOTES, f"{NOTES}/scope/1.0"])
def test_the_journal_is_reserved(path: str) -> None:
    with pytest.raises(PathRefused, match="reserved"):
        check_reserved(path)


@pytest.mark.parametrize("path", [f"{NOTES}2", f"/a{NOTES}", "/"])
def test_what_is_only_called_like_it_is_not(path: str) -> None:
    check_reserved(path)


def test_a_listing_has_paths_and_no_journal() -> None:
    files = [Entry("p/a", 1, "today", "v1"), Entry(f"p{NOTES}/s/1.0", 9), Entry("p/b", 2)]
    found = listing(Keys("p"), files, ["p/d/", f"p{NOTES}/"])
    assert found.files == [Entry("/a", 1, "today", "v1"), Entry("/b", 2)]
    assert (found.directories, found.note, found.whole) == ({"/d"}, None, True)


@pytest.mark.parametrize(
    ("files", "directories", "words"),
    [
        (["p//a.txt"], [], "'a.txt'."),
        (["p//a", "p/../b", "p/ok"], ["p//"], "'a' and 2 more."),
        ([], ["p/../"], "'..'."),
    ],
)
def test_what_is_left_out_is_noted_without_the_prefix(
    files: list[str], directories: list[str], words: str
) -> None:
    found = listing(Keys("p"), [Entry(key, 1) for key in files], directories)
    assert [entry.path for entry in found.files] == ["/ok"] * ("p/ok" in files)
    assert found.note is not None
    assert found.note.endswith(words)
    assert "p/" not in found.note
