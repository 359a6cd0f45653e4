"""One language for regexes: `rg` and Python find the same lines with a pattern."""

import re
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_filesystem.state.backends.dialect import for_any_bytes, for_ripgrep, literal_of
from langgraph_filesystem.state.backends.ripgrep import find_ripgrep
from langgraph_filesystem.state.errors import PatternRefused
from langgraph_filesystem.state.search import Query, check_query

RG = find_ripgrep()
LINES = [
    b"def main():",
    b"  Def  MAIN ( a,b )",
    b"",
    b"foo\r",
    b"a<b>c {x} [y] && ~~ -- ^$ \\ | .",
    "caf\u00e9 \u00c9t\u00e9 \u0130\u0131 stra\u00dfe STRASSE".encode(),
    "\u00bd\u00b2 \u0663 \u4e2d\u6587 \U0001f600".encode(),
    b"caf\xe9 latin",
    b"\xff\xfe broken \xe2\x82",
    b"tab\there\x0bvt\x0cff\x1csep\x85",
    "nbsp\u00a0line\u2028sep\u3000ideo".encode(),
    b"aaa aab abb bbb 123 a1b2",
    b"\x00late\x00nul",
    "\ufeffbom".encode(),
]
PATTERNS = [
    r"def \w+\(",
    r"^\s*def",
    r"foo$",
    r"foo.$",
    r"^$",
    r"^.$",
    r"caf.",
    r"caf. ",
    r"caf\W",
    r"caf[^x]",
    r"^[^a-z]",
    r"\<b",
    r"[<>]",
    r"{x}",
    r"a{2}b",
    r"a{2,}",
    r"a{0,2}b$",
    r"a{,2}b",
    r"(?:a|ab)b",
    r"(a|b)(1|2)",
    r"(?P<name>a)1",
    r"a*?b",
    r"a??b",
    r"[&~-]{2}",
    r"[\]\[^]",
    r"[a-]",
    r"\.|\\|\^",
    r"\d+",
    r"\D\d\D",
    r"\w+\s\w+",
    r"[\w.-]+\s",
    r"[^\w\s]{2}",
    r"[\W\d]{4}",
    r"\bmain\b",
    r"\Bai",
    r"\x41|\u00e9|\t",
    r"[\x00-\x08]",
    r"(?i)strasse|MAIN",
    r"(?i:DEF) +main",
    r"(?x) a a a  # three of them",
    r"(?s).late",
    r"(?m)^foo",
    r"(?i)\u00e9t\u00e9",
    r"stra.e",
    r"\s\s",
    r"\S+\s\S+$",
    "中.",
    "[一-鿿]{2}",
    "[\x80-\U0010ffff] latin",
    r"\u2028",
]
UNSPEAKABLE = [
    r"(?<=a)b",
    r"(?<!a)b",
    r"a(?=b)",
    r"a(?!b)",
    r"(a)\1",
    r"(?P<x>a)(?P=x)",
    r"a++b",
    r"(?>a+)b",
    r"(a)?(?(1)b|c)",
    r"\Aa",
    r"a\Z",
    r"(?a)\w",
    r"(?a:\w)",
]


def found_by_ripgrep(pattern: str, ignore_case: bool, data: bytes) -> list[int]:
    assert RG is not None, "`rg` is a part of the extra for development"
    spelled = for_ripgrep(pattern, ignore_case=ignore_case)
    assert spelled is not None
    command = [RG, "--no-config", "--text", "--encoding=none", "-n", f"--regexp={spelled}", "-"]
    done = subprocess.run(command, input=data, capture_output=True)
    assert done.stderr == b"", done.stderr.decode()
    # Cut at `\n` only: `splitlines` would cut bytes at `\r` too.
    return [int(line.partition(b":")[0]) for line in done.stdout.split(b"\n")[:-1]]


def found_by_python(pattern: str, ignore_case: bool, lines: list[bytes]) -> list[int]:
    compiled = for_any_bytes(pattern, ignore_case=ignore_case)
    rows = [line.decode(errors="surrogateescape") for line in lines]
    return [number for number, row in enumerate(rows, 1) if compiled.search(row)]


@pytest.mark.parametrize("ignore_case", [False, True], ids=["exact", "folded"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_both_engines_find_the_same_lines(pattern: str, ignore_case: bool) -> None:
    data = b"\n".join(LINES) + b"\n"
    assert found_by_ripgrep(pattern, ignore_case, data) == found_by_python(
        pattern, ignore_case, LINES
    )


@pytest.mark.parametrize("pattern", PATTERNS)
def test_text_is_matched_as_python_matches_it(pattern: str) -> None:
    for line in LINES:
        try:
            text = line.decode()
        except UnicodeDecodeError:
            continue
        for flags in (re.NOFLAG, re.IGNORECASE):
            other = for_any_bytes(pattern, ignore_case=bool(flags))
            assert bool(other.search(text)) == bool(re.search(pattern, text, flags))


@pytest.mark.parametrize("pattern", UNSPEAKABLE)
def test_what_rg_has_not_stays_with_python(pattern: str) -> None:
    assert for_ripgrep(pattern, ignore_case=False) is None
    assert for_any_bytes(pattern, ignore_case=False).pattern == pattern


atoms = st.sampled_from(
    [
        "a",
        "b",
        ".",
        r"\w",
        r"\s",
        r"\d",
        "[ab]",
        "[^a]",
        r"[^\w]",
        r"[\S]",
        "é",
        r"\.",
        "^",
        "$",
        r"\b",
    ]
)
regexes = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda found: f"(?:{'|'.join(found)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "*?"])).map(
            lambda found: f"(?:{found[0]}){found[1]}"
        ),
        inner.map(lambda found: f"(?i:{found})"),
    ),
    max_leaves=6,
)
pieces = st.sampled_from(
    [b"a", b"b", b"A", b" ", b"1", b".", "é".encode(), b"\xe9", b"\xff", b"\r", b"\0"]
)
lines_of_bytes = st.lists(st.lists(pieces, max_size=6).map(b"".join), min_size=1, max_size=8)


@settings(max_examples=150)
@given(regexes, lines_of_bytes, st.booleans())
def test_both_engines_agree_on_generated_patterns(
    pattern: str, lines: list[bytes], ignore_case: bool
) -> None:
    try:
        check_query(Query(pattern, regex=True))
    except PatternRefused:
        return
    data = b"\n".join(lines) + b"\n"
    assert found_by_ripgrep(pattern, ignore_case, data) == found_by_python(
        pattern, ignore_case, lines
    )


@given(regexes, st.text(st.sampled_from("abé1. A"), max_size=8))
def test_what_matches_has_the_literal_of_the_pattern(pattern: str, text: str) -> None:
    if re.search(pattern, text):
        assert literal_of(pattern) in text


@pytest.mark.parametrize(
    ("pattern", "literal"),
    [
        ("foo", "foo"),
        (r"def \w+_of\(", "def "),
        ("(foo)bar", "foobar"),
        ("foo|bar", ""),
        ("(?i)foo", ""),
        ("(?i:foo)b", "b"),
        ("^import$", "import"),
        ("a?long", "long"),
        ("(?:abc)+d", "d"),
    ],
)
def test_the_literal_of_a_pattern(pattern: str, literal: str) -> None:
    assert literal_of(pattern) == literal
