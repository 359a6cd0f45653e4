"""What finding files by name must do."""

import time

from langgraph_filesystem.testing.driven import Driven, failed

__all__ = ("Globbing",)

TREE = ("/a.py", "/b.md", "/src/a.py", "/src/c.txt", "/src/deep/er/a.py", "/src/deep/d.md")


class Globbing:
    """Patterns, and which files they mean."""

    def test_a_pattern_without_a_slash_matches_names_at_any_depth(self, fs: Driven) -> None:
        _plant(fs)
        assert fs.found("*.py") == ["/a.py", "/src/a.py", "/src/deep/er/a.py"]
        assert fs.found("a.py", "/src") == ["/src/a.py", "/src/deep/er/a.py"]

    def test_a_pattern_with_a_slash_is_relative_to_the_directory(self, fs: Driven) -> None:
        _plant(fs)
        assert fs.found("src/*.py") == ["/src/a.py"]
        assert fs.found("deep/*.md", "/src") == ["/src/deep/d.md"]
        assert fs.found("src/*.py", "/src") == []

    def test_a_slash_in_front_ties_a_pattern_to_the_directory(self, fs: Driven) -> None:
        _plant(fs)
        assert fs.found("/*.py") == ["/a.py"]
        assert fs.found("/*.py", "/src") == ["/src/a.py"]

    def test_two_stars_cross_directories(self, fs: Driven) -> None:
        _plant(fs)
        assert fs.found("**/*.py") == ["/a.py", "/src/a.py", "/src/deep/er/a.py"]
        assert fs.found("src/**/*.md") == ["/src/deep/d.md"]
        assert fs.found("**/deep/**/a.py") == ["/src/deep/er/a.py"]

    def test_two_stars_at_the_end_are_all_that_is_below(self, fs: Driven) -> None:
        _plant(fs)
        assert fs.found("src/deep/**") == ["/src/deep/d.md", "/src/deep/er/a.py"]
        assert fs.found("**") == sorted(TREE)

    def test_one_star_stays_within_a_name(self, fs: Driven) -> None:
        _plant(fs)
        assert fs.found("src/*/*.md") == ["/src/deep/d.md"]
        assert fs.found("/*/a.py") == ["/src/a.py"]

    def test_a_question_mark_is_one_character(self, fs: Driven) -> None:
        for path in ("/a1", "/a22", "/é1"):
            fs.write(path, "x")
        assert fs.found("?1") == ["/a1", "/é1"]
        assert fs.found("a??") == ["/a22"]

    def test_brackets_are_one_of_several_characters(self, fs: Driven) -> None:
        for path in ("/a", "/b", "/c", "/-"):
            fs.write(path, "x")
        assert fs.found("[ab]") == ["/a", "/b"]
        assert fs.found("[!ab]") == ["/-", "/c"]
        assert fs.found("[a-c]") == ["/a", "/b", "/c"]

    def test_braces_are_one_of_several_texts(self, fs: Driven) -> None:
        _plant(fs)
        assert fs.found("*.{md,txt}") == ["/b.md", "/src/c.txt", "/src/deep/d.md"]
        assert fs.found("{src/c,b}.*") == ["/b.md", "/src/c.txt"]

    def test_names_that_begin_with_a_dot_match_like_any_other(self, fs: Driven) -> None:
        for path in ("/.env", "/.git/config", "/src/.env"):
            fs.write(path, "x")
        assert fs.found("*") == ["/.env", "/.git/config", "/src/.env"]
        assert fs.found("**/config") == ["/.git/config"]
        assert fs.found("*env") == ["/.env", "/src/.env"]

    def test_only_files_are_found(self, fs: Driven) -> None:
        fs.write("/dir/deep/file", "x")
        assert fs.found("*") == ["/dir/deep/file"]
        assert fs.found("dir") == []
        assert fs.found("dir/*") == []

    def test_capitals_and_small_letters_are_different(self, fs: Driven) -> None:
        fs.write("/Read.ME", "x")
        assert fs.found("read.*") == []
        assert fs.found("Read.*") == ["/Read.ME"]

    def test_only_the_directory_is_searched(self, fs: Driven) -> None:
        for path in ("/a/x", "/a/b/x", "/ab/x", "/x"):
            fs.write(path, "x")
        assert fs.found("x", "/a") == ["/a/b/x", "/a/x"]

    def test_nothing_that_matches_is_no_error(self, fs: Driven) -> None:
        fs.write("/a", "x")
        assert fs.found("*.nothing") == []
        assert fs.found("none/**") == []

    def test_searching_a_directory_that_is_not_there_is_an_error(self, fs: Driven) -> None:
        fs.write("/file", "x")
        failed(fs.glob("*", "/nothing"), "/nothing")
        failed(fs.glob("*", "/file"), "/file")

    def test_sizes_and_kinds_are_right_where_they_are_given(self, fs: Driven) -> None:
        fs.put("/a/é", "é😀")
        [match] = fs.glob("*").matches or []
        assert match.get("size") in (None, 6)
        assert not match.get("is_dir")

    def test_a_pattern_that_leads_out_is_an_error(self, fs: Driven) -> None:
        fs.write("/a/b", "x")
        for pattern in ("../*", "a/../*", "/../*"):
            failed(fs.glob(pattern, "/a"))

    def test_no_pattern_is_an_error(self, fs: Driven) -> None:
        for pattern in ("", "/", "//", "a\0b", "x" * 5_000):
            failed(fs.glob(pattern))

    def test_a_pattern_of_too_many_alternatives_is_an_error_at_once(self, fs: Driven) -> None:
        began = time.monotonic()
        failed(fs.glob("{a,b}" * 40))
        failed(fs.glob("{1..100000000}"))
        assert time.monotonic() - began < 5

    def test_a_pattern_of_many_stars_takes_no_time(self, fs: Driven) -> None:
        fs.write("/a" * 60 + "/b", "x")
        began = time.monotonic()
        assert fs.found("**/a/" * 30 + "c") == []
        assert fs.found("*a" * 30) == []
        assert time.monotonic() - began < 5


def _plant(fs: Driven) -> None:
    for path in TREE:
        assert fs.write(path, "x").error is None
