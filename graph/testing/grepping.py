"""What finding lines by their text must do."""

from typing import Any

from langgraph_filesystem.testing.driven import Driven, failed

__all__ = ("GrepOptions", "Grepping")


class Grepping:
    """Text that is looked for as it is."""

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

    def test_the_text_is_no_pattern_unless_that_is_said(self, fs: Driven) -> None:
        fs.write("/a.txt", "a.c\nabc\n[x]*\n(y\n\\d+\n^$\n")
        for text, line in (("a.c", 1), ("[x]*", 3), ("(y", 4), (r"\d+", 5), ("^$", 6)):
            assert fs.lines(text) == [("/a.txt", line)]

    def test_text_that_looks_like_an_option_is_text(self, fs: Driven) -> None:
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

    def test_only_files_of_some_names_are_searched(self, fs: Driven) -> None:
        for path in ("/a.py", "/b.md", "/src/c.py"):
            fs.write(path, "needle")
        assert fs.lines("needle", None, "*.py") == [("/a.py", 1), ("/src/c.py", 1)]
        assert fs.lines("needle", "/", "*.{md,txt}") == [("/b.md", 1)]

    def test_a_pattern_of_names_is_relative_to_the_directory(self, fs: Driven) -> None:
        for path in ("/src/a.py", "/src/deep/b.py", "/lib/src/c.py"):
            fs.write(path, "needle")
        assert fs.lines("needle", None, "src/*.py") == [("/src/a.py", 1)]
        assert fs.lines("needle", "/src", "deep/*") == [("/src/deep/b.py", 1)]
        assert fs.lines("needle", "/src", "/*.py") == [("/src/a.py", 1)]

    def test_a_file_that_is_searched_must_have_the_name_too(self, fs: Driven) -> None:
        fs.write("/dir/a.py", "needle")
        assert fs.lines("needle", "/dir/a.py", "*.py") == [("/dir/a.py", 1)]
        assert fs.lines("needle", "/dir/a.py", "*.md") == []

    def test_hidden_files_are_searched(self, fs: Driven) -> None:
        fs.write("/.env", "needle")
        fs.write("/.git/config", "needle")
        assert fs.lines("needle") == [("/.env", 1), ("/.git/config", 1)]

    def test_files_that_others_ignore_are_searched(self, fs: Driven) -> None:
        for name, text in (("/.gitignore", "a.txt\n"), ("/.ignore", "a.txt\n"), ("/a.txt", "x\n")):
            fs.write(name, text)
        assert ("/a.txt", 1) in fs.lines("x", None, "a.txt")

    def test_no_line_that_matches_is_no_error(self, fs: Driven) -> None:
        fs.write("/a", "text")
        assert fs.lines("needle") == []
        assert fs.lines("text", None, "*.py") == []

    def test_an_empty_backend_has_no_lines(self, fs: Driven) -> None:
        assert fs.lines("needle") == []

    def test_searching_what_is_not_there_is_an_error(self, fs: Driven) -> None:
        fs.write("/file", "needle")
        failed(fs.grep("needle", "/nothing"), "/nothing")

    def test_no_text_to_look_for_is_an_error(self, fs: Driven) -> None:
        fs.write("/a", "text")
        failed(fs.grep(""))

    def test_a_bad_pattern_of_names_is_an_error(self, fs: Driven) -> None:
        fs.write("/a", "text")
        failed(fs.grep("text", None, "../*"))
        failed(fs.grep("text", None, "{a,b}" * 40))

    def test_a_last_line_without_a_newline_is_found(self, fs: Driven) -> None:
        fs.write("/a", "one\ntwo")
        assert fs.lines("two") == [("/a", 2)]

    def test_only_a_newline_ends_a_line(self, fs: Driven) -> None:
        fs.put("/odd", "a\rb\x0bc\x0cd\x85e\u2028f\u2029g\nneedle\n")
        assert fs.lines("needle") == [("/odd", 2)]
        assert fs.lines("e\u2028f") == [("/odd", 1)]

    def test_lines_that_end_in_crlf_are_found(self, fs: Driven) -> None:
        fs.put("/dos", b"one\r\nneedle\r\n")
        [match] = fs.grep("needle").matches or []
        assert (match["line"], match["text"].rstrip("\r")) == (2, "needle")

    def test_the_first_line_of_a_file_with_a_bom_is_found(self, fs: Driven) -> None:
        fs.put("/bom", "\ufeffneedle\nsecond\n")
        assert fs.lines("needle") == [("/bom", 1)]

    def test_text_of_every_script_is_found(self, fs: Driven) -> None:
        fs.write("/a", "Größe\n日本\n😀 here\n")
        for text, line in (("Größe", 1), ("本", 2), ("😀", 3)):
            assert fs.lines(text) == [("/a", line)]

    def test_files_that_are_no_text_do_not_hide_those_that_are(self, fs: Driven) -> None:
        fs.put("/a.bin", b"\0\xff\xfe" * 100 + b"needle\n")
        fs.put("/b.txt", b"needle\n")
        fs.put("/c.bin", b"\x80needle\xff\n\0")
        assert ("/b.txt", 1) in fs.lines("needle")

    def test_a_very_long_line_is_found(self, fs: Driven) -> None:
        fs.put("/long", "x" * 200_000 + "needle" + "y" * 200_000 + "\nafter needle\n")
        assert fs.lines("needle") == [("/long", 1), ("/long", 2)]


class GrepOptions:
    """What a search can be asked for besides."""

    def test_a_limit_cuts_the_lines_of_all_files(self, fs: Driven) -> None:
        _plant(fs)
        found = fs.grep("x", max_count=3)
        assert len(found.matches or ()) == 3
        assert found.truncated

    def test_a_limit_that_is_just_enough_cuts_nothing(self, fs: Driven) -> None:
        _plant(fs)
        found = fs.grep("x", max_count=5)
        assert len(found.matches or ()) == 5
        assert not found.truncated

    def test_a_search_that_was_not_cut_says_so(self, fs: Driven) -> None:
        _plant(fs)
        assert not fs.grep("x").truncated

    def test_matching_lines_are_counted_for_each_file(self, fs: Driven) -> None:
        _plant(fs)
        assert fs.grep("x", output_mode="count").counts == {"/a": 2, "/b": 2, "/dir/c": 1}

    def test_files_with_matches_are_named(self, fs: Driven) -> None:
        _plant(fs)
        found = fs.grep("x", output_mode="files_with_matches")
        assert set(found.counts or ()) == {"/a", "/b", "/dir/c"}

    def test_counts_come_with_the_lines(self, fs: Driven) -> None:
        _plant(fs)
        found = fs.grep("x", output_mode="content")
        assert found.counts == {"/a": 2, "/b": 2, "/dir/c": 1}
        assert len(found.matches or ()) == 5

    def test_a_limit_holds_for_counts_too(self, fs: Driven) -> None:
        _plant(fs)
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

    def test_a_regex_knows_letters_of_every_script(self, fs: Driven) -> None:
        fs.write("/a", "Größe\n日本\n---\n")
        assert _numbers(fs, r"^\w+$", regex=True) == [1, 2]
        assert _numbers(fs, "Gr..e", regex=True) == [1]

    def test_a_regex_that_is_malformed_is_an_error(self, fs: Driven) -> None:
        fs.write("/a", "text")
        for pattern in ("(", "[a", "*", "a{2,1}", "(?P<"):
            failed(fs.grep(pattern, regex=True))

    def test_capitals_match_small_letters_when_that_is_asked_for(self, fs: Driven) -> None:
        fs.write("/a", "Needle\nNEEDLE\nneedle\nÉté\nété\n")
        assert _numbers(fs, "needle") == [3]
        assert _numbers(fs, "nEEDle", ignore_case=True) == [1, 2, 3]
        assert _numbers(fs, "ÉTÉ", ignore_case=True) == [4, 5]
        assert _numbers(fs, "^n.*E$", ignore_case=True, regex=True) == [1, 2, 3]

    def test_lines_around_a_match_come_with_it(self, fs: Driven) -> None:
        fs.write("/a", "1\n2\nneedle\n4\n5\n")
        [match] = fs.grep("needle", context=1).matches or []
        assert match.get("context_before") == [{"line": 2, "text": "2"}]
        assert match.get("context_after") == [{"line": 4, "text": "4"}]

    def test_lines_around_a_match_end_with_the_file(self, fs: Driven) -> None:
        fs.write("/a", "needle\n2\n")
        [match] = fs.grep("needle", context=5).matches or []
        assert match.get("context_before") == []
        assert match.get("context_after") == [{"line": 2, "text": "2"}]

    def test_no_lines_come_around_a_match_unasked(self, fs: Driven) -> None:
        fs.write("/a", "1\nneedle\n3\n")
        [match] = fs.grep("needle").matches or []
        assert not match.get("context_before")
        assert not match.get("context_after")


def _plant(fs: Driven) -> None:
    for path, text in (("/a", "x\nno\nx\n"), ("/b", "x\nx\n"), ("/dir/c", "x"), ("/d", "no\n")):
        fs.write(path, text)


def _numbers(fs: Driven, pattern: str, **options: Any) -> list[int]:
    return [line for _, line in fs.lines(pattern, **options)]
