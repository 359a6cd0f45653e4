"""What finding files by name and lines by text must do."""

from typing import Any

from langgraph_filesystem.testing.driven import Driven, failed

__all__ = ("Glob", "Grep", "GrepOptions")

TREE = ("/a.py", "/b.md", "/src/a.py", "/src/c.txt", "/src/deep/er/a.py", "/src/deep/d.md")


class Glob:
    """Patterns, and which files they match."""

    def test_a_pattern_without_a_slash_matches_names_at_any_depth(self, fs: Driven) -> None:
        _write_tree(fs)
        assert fs.found("*.py") == ["/a.py", "/src/a.py", "/src/deep/er/a.py"]
        assert fs.found("a.py", "/src") == ["/src/a.py", "/src/deep/er/a.py"]

    def test_a_pattern_with_a_slash_is_relative_to_the_directory(self, fs: Driven) -> None:
        _write_tree(fs)
        assert fs.found("src/*.py") == ["/src/a.py"]
        assert fs.found("deep/*.md", "/src") == ["/src/deep/d.md"]
        assert fs.found("src/*.py", "/src") == []

    def test_a_leading_slash_anchors_a_pattern_at_the_directory(self, fs: Driven) -> None:
        _write_tree(fs)
        assert fs.found("/*.py") == ["/a.py"]
        assert fs.found("/*.py", "/src") == ["/src/a.py"]

    def test_two_stars_cross_directories(self, fs: Driven) -> None:
        _write_tree(fs)
        assert fs.found("**/*.py") == ["/a.py", "/src/a.py", "/src/deep/er/a.py"]
        assert fs.found("src/**/*.md") == ["/src/deep/d.md"]
        assert fs.found("**/deep/**/a.py") == ["/src/deep/er/a.py"]

    def test_two_stars_at_the_end_match_everything_below(self, fs: Driven) -> None:
        _write_tree(fs)
        assert fs.found("src/deep/**") == ["/src/deep/d.md", "/src/deep/er/a.py"]
        assert fs.found("**") == sorted(TREE)

    def test_one_star_stays_within_a_name(self, fs: Driven) -> None:
        _write_tree(fs)
        assert fs.found("src/*/*.md") == ["/src/deep/d.md"]
        assert fs.found("/*/a.py") == ["/src/a.py"]

    def test_a_question_mark_matches_one_character(self, fs: Driven) -> None:
        for path in ("/a1", "/a22", "/é1"):
            fs.write(path, "x")
        assert fs.found("?1") == ["/a1", "/é1"]
        assert fs.found("a??") == ["/a22"]

    def test_brackets_match_one_of_several_characters(self, fs: Driven) -> None:
        for path in ("/a", "/b", "/c", "/-"):
            fs.write(path, "x")
        assert fs.found("[ab]") == ["/a", "/b"]
        assert fs.found("[!ab]") == ["/-", "/c"]
        assert fs.found("[a-c]") == ["/a", "/b", "/c"]

    def test_braces_match_one_of_several_texts(self, fs: Driven) -> None:
        _write_tree(fs)
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

    def test_glob_is_case_sensitive(self, fs: Driven) -> None:
        fs.write("/Read.ME", "x")
        assert fs.found("read.*") == []
        assert fs.found("Read.*") == ["/Read.ME"]

    def test_glob_searches_only_the_directory(self, fs: Driven) -> None:
        for path in ("/a/x", "/a/b/x", "/ab/x", "/x"):
            fs.write(path, "x")
        assert fs.found("x", "/a") == ["/a/b/x", "/a/x"]

    def test_a_glob_without_matches_is_not_an_error(self, fs: Driven) -> None:
        fs.write("/a", "x")
        assert fs.found("*.nothing") == []
        assert fs.found("none/**") == []

    def test_a_glob_in_a_missing_directory_is_an_error(self, fs: Driven) -> None:
        fs.write("/file", "x")
        failed(fs.glob("*", "/nothing"), "/nothing")
        failed(fs.glob("*", "/file"), "/file")

    def test_sizes_and_kinds_are_right_where_they_are_given(self, fs: Driven) -> None:
        fs.put("/a/é", "é😀")
        [match] = fs.glob("*").matches or []
        assert match.get("size") in (None, 6)
        assert not match.get("is_dir")

    def test_a_pattern_with_a_parent_directory_is_an_error(self, fs: Driven) -> None:
        fs.write("/a/b", "x")
        for pattern in ("../*", "a/../*", "/../*"):
            failed(fs.glob(pattern, "/a"))

    def test_an_invalid_pattern_is_an_error(self, fs: Driven) -> None:
        for pattern in ("", "/", "//", "a\0b", "x" * 5_000):
            failed(fs.glob(pattern))

    def test_a_pattern_of_too_many_alternatives_is_an_error(self, fs: Driven) -> None:
        failed(fs.glob("{a,b}" * 40))
        failed(fs.glob("{1..100000000}"))

    def test_a_pattern_of_many_stars_does_not_hang(self, fs: Driven) -> None:
        fs.write("/a" * 60 + "/b", "x")
        assert fs.found("**/a/" * 30 + "c") == []
        assert fs.found("*a" * 30) == []


def _write_tree(fs: Driven) -> None:
    for path in TREE:
        assert fs.write(path, "x").error is None


class Grep:
    """Searches for literal text."""

    def test_lines_with_the_text_are_found_with_their_numbers(self, fs: Driven) -> None:
        fs.write("/a.txt", "one\nneedle\nthree\na needle here\n")
        found = fs.grep("needle")
        assert found.matches == [
            {"path": "/a.txt", "line": 2, "text": "needle"},
            {"path": "/a.txt", "line": 4, "text": "a needle here"},
        ]

    def test_a_line_with_the_text_twice_is_found_once(self, fs: Driven) -> None:
        fs.write("/a.txt", "xx x\nx")
        assert fs.lines("x") == [("/a.txt", 1), ("/a.txt", 2)]

    def test_lines_come_in_the_order_of_their_paths_and_numbers(self, fs: Driven) -> None:
        for path in ("/b", "/a/z", "/a/b/c", "/a.txt", "/C"):
            fs.write(path, "x\nno\nx\n")
        files = sorted(("/b", "/a/z", "/a/b/c", "/a.txt", "/C"))
        assert fs.lines("x") == [(path, line) for path in files for line in (1, 3)]

    def test_the_text_is_literal_by_default(self, fs: Driven) -> None:
        fs.write("/a.txt", "a.c\nabc\n[x]*\n(y\n\\d+\n^$\n")
        for text, line in (("a.c", 1), ("[x]*", 3), ("(y", 4), (r"\d+", 5), ("^$", 6)):
            assert fs.lines(text) == [("/a.txt", line)]

    def test_text_that_looks_like_an_option_is_found(self, fs: Driven) -> None:
        fs.write("/a.txt", "-e\n--files\n-\n")
        assert fs.lines("-e") == [("/a.txt", 1)]
        assert fs.lines("--files") == [("/a.txt", 2)]
        assert len(fs.lines("-")) == 3

    def test_lines_of_other_directories_are_not_found(self, fs: Driven) -> None:
        for path in ("/a/x", "/a/b/x", "/ab/x", "/x"):
            fs.write(path, "needle")
        assert fs.lines("needle", "/a") == [("/a/b/x", 1), ("/a/x", 1)]

    def test_one_file_can_be_searched(self, fs: Driven) -> None:
        fs.write("/dir/a", "needle\n")
        fs.write("/dir/b", "needle\n")
        assert fs.lines("needle", "/dir/a") == [("/dir/a", 1)]

    def test_only_files_that_match_the_glob_are_searched(self, fs: Driven) -> None:
        for path in ("/a.py", "/b.md", "/src/c.py"):
            fs.write(path, "needle")
        assert fs.lines("needle", None, "*.py") == [("/a.py", 1), ("/src/c.py", 1)]
        assert fs.lines("needle", "/", "*.{md,txt}") == [("/b.md", 1)]

    def test_the_glob_of_a_search_is_relative_to_the_directory(self, fs: Driven) -> None:
        for path in ("/src/a.py", "/src/deep/b.py", "/lib/src/c.py"):
            fs.write(path, "needle")
        assert fs.lines("needle", None, "src/*.py") == [("/src/a.py", 1)]
        assert fs.lines("needle", "/src", "deep/*") == [("/src/deep/b.py", 1)]
        assert fs.lines("needle", "/src", "/*.py") == [("/src/a.py", 1)]

    def test_the_glob_applies_to_a_single_file_too(self, fs: Driven) -> None:
        fs.write("/dir/a.py", "needle")
        assert fs.lines("needle", "/dir/a.py", "*.py") == [("/dir/a.py", 1)]
        assert fs.lines("needle", "/dir/a.py", "*.md") == []

    def test_hidden_files_are_searched(self, fs: Driven) -> None:
        fs.write("/.env", "needle")
        fs.write("/.git/config", "needle")
        assert fs.lines("needle") == [("/.env", 1), ("/.git/config", 1)]

    def test_ignore_files_are_not_honoured(self, fs: Driven) -> None:
        for name, text in (("/.gitignore", "a.txt\n"), ("/.ignore", "a.txt\n"), ("/a.txt", "x\n")):
            fs.write(name, text)
        assert ("/a.txt", 1) in fs.lines("x", None, "a.txt")

    def test_a_search_without_matches_is_not_an_error(self, fs: Driven) -> None:
        assert fs.lines("needle") == []
        fs.write("/a", "text")
        assert fs.lines("needle") == []
        assert fs.lines("text", None, "*.py") == []

    def test_searching_a_missing_path_is_an_error(self, fs: Driven) -> None:
        fs.write("/file", "needle")
        failed(fs.grep("needle", "/nothing"), "/nothing")

    def test_an_empty_search_text_is_an_error(self, fs: Driven) -> None:
        fs.write("/a", "text")
        failed(fs.grep(""))

    def test_an_invalid_glob_of_a_search_is_an_error(self, fs: Driven) -> None:
        fs.write("/a", "text")
        failed(fs.grep("text", None, "../*"))
        failed(fs.grep("text", None, "{a,b}" * 40))

    def test_only_a_newline_ends_a_line(self, fs: Driven) -> None:
        fs.put("/odd", "a\rb\x0bc\x0cd\x85e\u2028f\u2029g\nneedle\n")
        assert fs.lines("needle") == [("/odd", 2)]
        assert fs.lines("e\u2028f") == [("/odd", 1)]

    def test_lines_that_end_in_crlf_are_found(self, fs: Driven) -> None:
        fs.put("/dos", b"one\r\nneedle\r\n")
        [match] = fs.grep("needle").matches or []
        assert (match["line"], match["text"].rstrip("\r")) == (2, "needle")

    def test_every_line_and_script_is_found(self, fs: Driven) -> None:
        fs.put("/a", "\ufeffneedle\nGröße\n日本\n😀 the end")
        for text, line in (("needle", 1), ("Größe", 2), ("本", 3), ("😀", 4), ("end", 4)):
            assert fs.lines(text) == [("/a", line)]

    def test_binary_files_do_not_hide_text_files(self, fs: Driven) -> None:
        fs.put("/a.bin", b"\0\xff\xfe" * 100 + b"needle\n")
        fs.put("/b.txt", b"needle\n")
        fs.put("/c.bin", b"\x80needle\xff\n\0")
        assert ("/b.txt", 1) in fs.lines("needle")

    def test_a_very_long_line_is_found(self, fs: Driven) -> None:
        fs.put("/long", "x" * 200_000 + "needle" + "y" * 200_000 + "\nafter needle\n")
        assert fs.lines("needle") == [("/long", 1), ("/long", 2)]


class GrepOptions:
    """The options of a search."""

    def test_a_limit_cuts_the_lines_of_all_files(self, fs: Driven) -> None:
        _write_lines(fs)
        found = fs.grep("x", max_count=3)
        assert len(found.matches or ()) == 3
        assert found.truncated

    def test_a_limit_that_is_just_enough_is_not_truncated(self, fs: Driven) -> None:
        _write_lines(fs)
        found = fs.grep("x", max_count=5)
        assert len(found.matches or ()) == 5
        assert not found.truncated

    def test_a_complete_search_is_not_truncated(self, fs: Driven) -> None:
        _write_lines(fs)
        assert not fs.grep("x").truncated

    def test_matching_lines_are_counted_for_each_file(self, fs: Driven) -> None:
        _write_lines(fs)
        for mode in ("count", "content"):
            found = fs.grep("x", output_mode=mode)
            assert found.counts == {"/a": 2, "/b": 2, "/dir/c": 1}
        assert len(found.matches or ()) == 5
        found = fs.grep("x", output_mode="files_with_matches")
        assert set(found.counts or ()) == {"/a", "/b", "/dir/c"}

    def test_a_limit_holds_for_counts_too(self, fs: Driven) -> None:
        _write_lines(fs)
        found = fs.grep("x", output_mode="count", max_count=3)
        assert sum((found.counts or {}).values()) == 3
        assert found.truncated

    def test_a_regex_is_matched(self, fs: Driven) -> None:
        fs.write("/a", "cat\ncot\ncoat\nCAT\n42 cats\n")
        assert _numbers(fs, "c[ao]t", regex=True) == [1, 2, 5]
        assert _numbers(fs, "^c.t$", regex=True) == [1, 2]
        assert _numbers(fs, r"\d+\s\w+", regex=True) == [5]
        assert _numbers(fs, "cot|coat", regex=True) == [2, 3]

    def test_a_regex_is_matched_line_by_line(self, fs: Driven) -> None:
        fs.write("/a", "one\ntwo\nthree\n")
        assert _numbers(fs, "one.*two", regex=True) == []
        assert _numbers(fs, "^t", regex=True) == [2, 3]
        assert _numbers(fs, "e$", regex=True) == [1, 3]

    def test_a_regex_matches_letters_of_every_script(self, fs: Driven) -> None:
        fs.write("/a", "Größe\n日本\n---\n")
        assert _numbers(fs, r"^\w+$", regex=True) == [1, 2]
        assert _numbers(fs, "Gr..e", regex=True) == [1]

    def test_a_malformed_regex_is_an_error(self, fs: Driven) -> None:
        fs.write("/a", "text")
        for pattern in ("(", "[a", "*", "a{2,1}", "(?P<"):
            failed(fs.grep(pattern, regex=True))

    def test_case_is_ignored_on_request(self, fs: Driven) -> None:
        fs.write("/a", "Needle\nNEEDLE\nneedle\nÉté\nété\n")
        assert _numbers(fs, "needle") == [3]
        assert _numbers(fs, "nEEDle", ignore_case=True) == [1, 2, 3]
        assert _numbers(fs, "ÉTÉ", ignore_case=True) == [4, 5]
        assert _numbers(fs, "^n.*E$", ignore_case=True, regex=True) == [1, 2, 3]

    def test_lines_around_a_match_come_with_it_on_request(self, fs: Driven) -> None:
        fs.write("/a", "1\n2\nneedle\n4\n")
        [match] = fs.grep("needle").matches or []
        assert not match.get("context_before")
        assert not match.get("context_after")
        for context, before in ((1, [2]), (5, [1, 2])):
            [match] = fs.grep("needle", context=context).matches or []
            lines = [{"line": number, "text": str(number)} for number in before]
            assert match.get("context_before") == lines
            assert match.get("context_after") == [{"line": 4, "text": "4"}]


def _write_lines(fs: Driven) -> None:
    for path, text in (("/a", "x\nno\nx\n"), ("/b", "x\nx\n"), ("/dir/c", "x"), ("/d", "no\n")):
        fs.write(path, text)


def _numbers(fs: Driven, pattern: str, **options: Any) -> list[int]:
    return [line for _, line in fs.lines(pattern, **options)]
