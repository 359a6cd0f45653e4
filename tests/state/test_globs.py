"""Glob patterns: what they match, and that none of them takes for ever."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcmatch import glob as wcglob

from langgraph_filesystem.state.errors import PatternRefused
from langgraph_filesystem.state.globs import Glob, compile_glob

WCMATCH = wcglob.GLOBSTAR | wcglob.BRACE | wcglob.DOTGLOB | wcglob.FORCEUNIX


@pytest.mark.parametrize(
    ("pattern", "matched", "not_matched"),
    [
        # Without a slash: names, at any depth.
        ("*.py", ["a.py", "src/a.py", "a/b/c.py", ".py", "src/.x.py"], ["a.pyc", "a.py/b", "apy"]),
        ("plan.md", ["plan.md", "a/plan.md"], ["plan.md/a", "my_plan.md"]),
        ("?", ["a", "d/é", "\n"], ["ab", "a/bc"]),
        ("[ab].txt", ["a.txt", "x/b.txt"], ["c.txt"]),
        ("[!ab].txt", ["c.txt"], ["a.txt"]),
        ("[a-c]", ["b"], ["d"]),
        ("{a,b}.md", ["a.md", "x/b.md"], ["c.md", "{a,b}.md"]),
        ("{a,{b,c}d}", ["a", "bd", "x/cd"], ["b", "ad"]),
        ("*", ["a", "a/b", ".hidden", "a/.b"], []),
        ("**", ["a", "a/b/c", ".hidden"], []),
        ("***", ["a", "a/b"], []),
        ("a**b", ["ab", "a--b", "x/a.b"], ["a/b"]),
        # With a slash: the path from the directory that is searched.
        ("src/*.py", ["src/a.py"], ["a.py", "src/b/a.py", "x/src/a.py"]),
        ("/*.py", ["a.py"], ["src/a.py"]),
        ("/src", ["src"], ["a/src"]),
        ("src/**", ["src/a", "src/a/b"], ["src", "a/src/b"]),
        ("src/**/", ["src/a", "src/a/b"], ["src"]),
        ("**/a", ["a", "x/a", "x/y/a"], ["a/x", "xa"]),
        ("**/*.py", ["a.py", "x/y/a.py"], ["a.md"]),
        ("src/**/test/*.py", ["src/test/a.py", "src/x/y/test/a.py"], ["src/a.py", "test/a.py"]),
        ("**/a/**/b/**", ["a/b/c", "x/a/y/b/c/d"], ["a/b", "b/a/c", "a/c"]),
        ("**/a/a/**/a", ["a/a/a", "a/x/a/a/y/a"], ["a/a", "a/x/a"]),
        ("*/*", ["a/b"], ["a", "a/b/c"]),
        ("{src,lib}/**/*.{py,md}", ["src/a.py", "lib/x/b.md"], ["src/a.txt", "x/src/a.py"]),
        ("{a/b,c}", ["a/b", "c"], ["x/c", "a"]),
        ("src/{,test/}a.py", ["src/a.py", "src/test/a.py"], ["a.py"]),
        ("a//b", ["a/b"], ["a//c"]),
        ("./a/./b", ["a/b"], ["x/a/b"]),
        # A directory is named, and only files are matched.
        ("src/", [], ["src", "src/a"]),
        ("*/", [], ["src", "src/a"]),
        ("{,a}", ["a"], ["b", ""]),
        # What is no pattern is itself.
        ("a[", ["a["], ["a"]),
        ("{a", ["{a"], ["a"]),
        ("{a}", ["{a}"], ["a"]),
        (r"\*", ["*", "x/*"], ["a"]),
        (r"\{a,b}", ["{a,b}"], ["a"]),
        ("a.c", ["a.c"], ["abc"]),
        ("(a|b)+", ["(a|b)+"], ["a"]),
        ("!a", ["!a"], ["b"]),
        ("-a", ["-a"], ["b"]),
        ("~", ["~"], ["a"]),
        ("A", ["A"], ["a"]),
        ("a\n*", ["a\nb"], ["a"]),
        ("*.py", [], ["a.py\n"]),
    ],
)
def test_what_a_pattern_matches(pattern: str, matched: list[str], not_matched: list[str]) -> None:
    match = compile_glob(pattern)
    assert [path for path in matched if not match(path)] == []
    assert [path for path in not_matched if match(path)] == []


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("", "empty"),
        ("/", "empty"),
        ("//", "empty"),
        ("x" * 1_001, "1000 characters"),
        ("a\0b", "NUL"),
        ("../a", r"`\.\.`"),
        ("a/../b", r"`\.\.`"),
        ("{a,b}" * 9, "limit"),
        ("{1..1000000000000}", "limit"),
        ("{{a,b},{c,d}}" * 20, "limit"),
    ],
    ids=lambda value: value[:20],
)
def test_a_pattern_that_can_not_be_matched_is_refused_with_the_reason(
    pattern: str, reason: str
) -> None:
    with pytest.raises(PatternRefused, match=reason) as raised:
        compile_glob(pattern)
    assert len(str(raised.value)) < 400


parts = st.sampled_from(["**", "*", "a", "b", "?", "a*", "*b", "[ab]", "{a,b}", "{a,bb}"])
patterns = st.lists(parts, min_size=2, max_size=5).filter(lambda found: found[-1] != "**")
paths = st.lists(st.sampled_from(["a", "b", "ab", "bb", ".a"]), min_size=1, max_size=6)


@given(patterns.map("/".join), paths.map("/".join))
def test_a_pattern_with_slashes_means_what_it_means_to_wcmatch(pattern: str, path: str) -> None:
    assert compile_glob(pattern)(path) == wcglob.globmatch(path, pattern, flags=WCMATCH)


@given(parts, paths.map("/".join))
def test_a_pattern_without_slashes_is_one_at_any_depth(pattern: str, path: str) -> None:
    assert compile_glob(pattern)(path) == wcglob.globmatch(path, f"**/{pattern}", flags=WCMATCH)


@given(st.text(st.sampled_from("ab*?[]{},!/\\.-^\n~|(+$"), max_size=20), paths.map("/".join))
def test_no_pattern_fails_in_another_way_than_being_refused(pattern: str, path: str) -> None:
    try:
        match = compile_glob(pattern)
    except PatternRefused:
        return
    assert match(path) in (True, False)


anything = st.one_of(
    patterns.map("/".join),
    parts,
    st.text(st.sampled_from("ab*?[]{},!/\\.-\n"), max_size=15),
    patterns.map(lambda found: "{" + ",".join(found) + "}"),
)


@given(anything, paths)
def test_every_directory_above_a_match_may_hold_it(pattern: str, names: list[str]) -> None:
    try:
        glob = Glob(pattern)
    except PatternRefused:
        return
    if glob.matches("/".join(names)):
        assert all(glob.may_match_below("/".join(names[:depth])) for depth in range(len(names)))


@pytest.mark.parametrize(
    ("pattern", "may_hold", "may_not"),
    [
        ("src/lib/*.py", ["", "src", "src/lib"], ["lib", "src/a", "src/lib/a"]),
        ("src/**/a", ["", "src", "src/a/b"], ["lib"]),
        ("*.py", ["", "a", "a/b"], []),
        ("{a,b}/c", ["", "a", "b"], ["c", "a/b"]),
        ("src/", [], ["", "src"]),
    ],
)
def test_directories_that_can_not_hold_a_match_are_known(
    pattern: str, may_hold: list[str], may_not: list[str]
) -> None:
    glob = Glob(pattern)
    assert [path for path in may_hold if not glob.may_match_below(path)] == []
    assert [path for path in may_not if glob.may_match_below(path)] == []


def test_a_path_as_its_own_pattern_matches_itself_only_there() -> None:
    assert compile_glob("/a/b.txt")("a/b.txt")
    assert not compile_glob("/a/b.txt")("x/a/b.txt")


@pytest.mark.parametrize(
    "pattern", ["**/" * 100 + "b", "**/a/" * 33 + "b", "{**/,a/}" * 8 + "**/a/" * 25 + "b"]
)
def test_too_many_globstars_are_refused(pattern: str) -> None:
    with pytest.raises(PatternRefused, match=r"more than 32 `\*\*`"):
        compile_glob(pattern)
    assert compile_glob("**/a/" * 32 + "b")("a/" * 32 + "b")


ADVERSARIAL = {
    "stars in a long name": ("*a*a*a*a*a*b", "a" * 255),
    "a hundred stars": ("*a" * 100 + "*b", "a" * 255),
    "question marks between stars": ("*?" * 100 + "b", "a" * 255),
    "classes between stars": ("[a-z]*" * 100 + "!", "a" * 255),
    "four globstars in a deep path": ("**/a/**/a/**/a/**/b", "a/" * 2_000 + "c"),
    "many globstars": ("**/a/" * 32 + "b", "a/" * 2_000 + "c"),
    "many globstars in a row": ("**/" * 32 + "b", "a/" * 2_000 + "c"),
    "a hundred globstars": ("**/a/" * 100 + "b", "a/" * 2_000 + "c"),
    "globstars in braces": ("{a,**}/" * 8 + "b", "a/" * 2_000 + "c"),
    "stars in every name": ("**/*a*/**/*a*/**/*a*/**/b", "aaaaa/" * 600 + "c"),
    "five hundred stars": ("*" * 500 + "b", "a" * 255),
    "open brackets": ("[" * 999, "[" * 255),
    "open braces": ("{" * 999, "a"),
    "nested braces": ("{a," * 300 + "b" + "}" * 90, "a"),
}
CHILD = """
import json, sys
from langgraph_filesystem.state.errors import PatternRefused
from langgraph_filesystem.state.globs import compile_glob
for name, (pattern, path) in json.load(sys.stdin).items():
    print(name, file=sys.stderr)
    try:
        print(compile_glob(pattern)(path))
    except PatternRefused:
        print("refused")
"""


def test_adversarial_patterns_come_to_an_end() -> None:
    # In a process of its own: one that hangs can't be stopped in this one.
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=json.dumps(ADVERSARIAL),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stderr.splitlines() == list(ADVERSARIAL)
    assert set(done.stdout.split()) <= {"False", "refused"}
