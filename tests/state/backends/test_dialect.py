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
COMMAND = (str(RG), "--no-config", "--text", "--encoding=none", "-n")
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
    command = [*COMMAND, f"--regexp={spelled.text}", "-"]
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
    assert differing(pattern, ignore_case, LINES) == []


def differing(pattern: str, ignore_case: bool, lines: list[bytes]) -> list[bytes]:
    """Return the lines that `rg` must find as Python does, and does not.

    Where it is not sure of them, it may find more, and never less.
    """
    spelled = for_ripgrep(pattern, ignore_case=ignore_case)
    assert spelled is not None
    by_ripgrep = set(found_by_ripgrep(pattern, ignore_case, b"\n".join(lines) + b"\n"))
    by_python = set(found_by_python(pattern, ignore_case, lines))
    missed = [lines[number - 1] for number in by_python - by_ripgrep]
    added = [lines[number - 1] for number in by_ripgrep - by_python]
    if spelled.sure == "ascii":
        added = [line for line in added if line.isascii()]
    return missed if spelled.sure == "never" else missed + added


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
    assert differing(pattern, ignore_case, lines) == []


CHARACTERS = [
    chr(code)
    for code in (*range(0xD800), *range(0xE000, 0x20000), *range(0x20000, 0x110000, 997))
    if code != 0x0A
]


@pytest.mark.parametrize(
    ("pattern", "ignore_case"),
    [
        *((pattern, False) for pattern in (r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r".")),
        *((pattern, False) for pattern in (r"[^\w\s]", r"[\W\d]", "[^\\d\u0100-\u0200]")),
        *((pattern, True) for pattern in (r"\w", r"[\W]", "[a-z]", "[^A-Z]", "[i]", "[^k]", "s")),
        *((pattern, True) for pattern in ("[\u00df-\u0131]", "[^\u0390-\u03c2]", "[^\u1e9e]")),
        *(
            (pattern, True)
            for pattern in ("[\u0130]", "[\U00010400-\U00010410]", "[\ud7ff-\uffff]")
        ),
        ("[^\U00010428\U0001e922]", True),
    ],
)
def test_every_character_is_the_same_to_both(pattern: str, ignore_case: bool) -> None:
    compiled = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    data = "\n".join(CHARACTERS).encode() + b"\n"
    expected = [line for line, found in enumerate(CHARACTERS, 1) if compiled.fullmatch(found)]
    assert found_by_ripgrep(f"^{pattern}$", ignore_case, data) == expected


def test_every_letter_is_the_same_to_both_in_whatever_case() -> None:
    letters = [c for c in CHARACTERS if c.lower() != c or c.upper() != c]
    by_look: dict[str, set[str]] = {}
    for letter in letters:
        for look in {*letter.lower(), *letter.upper(), letter.casefold()[0], letter.title()[0]}:
            by_look.setdefault(look, set()).add(letter)
    pairs = [
        (one, other)
        for one in letters
        for other in sorted(
            {*"aiIkKsS\u00df\u0345", *by_look[one.lower()[0]], *by_look[one.upper()[0]]}
        )
    ]
    # Each letter has a number, so that one pattern can ask for all of them.
    lines = [f"{ord(one):x} {other}" for one, other in pairs]
    for start in range(0, len(letters), 700):
        some = letters[start : start + 700]
        pattern = f"^(?:{'|'.join(f'{ord(one):x} (?i:{one})' for one in some)})$"
        known = {one: re.compile(one, re.IGNORECASE) for one in some}
        expected = [
            number
            for number, (one, other) in enumerate(pairs, 1)
            if one in known and known[one].fullmatch(other)
        ]
        assert found_by_ripgrep(pattern, False, "\n".join(lines).encode() + b"\n") == expected
        assert len(expected) > len(some)


@pytest.mark.parametrize(
    ("pattern", "sure"),
    [
        (r"a\b", "ascii"),
        (r"\bself\b", "ascii"),
        (r"\b\w+\b", "ascii"),
        (r"\b(?:[a-z]|_)\d{2,}?\b", "ascii"),
        ("\\b\u00e9", "ascii"),
        (r"\b.", "never"),
        (r"\ba|\b\(", "never"),
        (r"\b\w*", "never"),
        (r"\b(?:a|-)", "never"),
        (r"(?:\b|_)a", "never"),
        (r"\Ba", "never"),
        (r"\B", "never"),
        (r"\Ba\b", "never"),
        (r"\w\W", "always"),
    ],
)
def test_beside_every_character_a_word_may_end_and_where_it_is_not_sure_that_is_said(
    pattern: str, sure: str
) -> None:
    spelled = for_ripgrep(pattern, ignore_case=False)
    assert spelled is not None
    assert spelled.sure == sure
    some = [c for c in CHARACTERS if ord(c) < 0x3000]
    texts = [text for c in some for text in (c, f"a{c}", f"{c}a", f"{c}\u00e9", f"-{c}\u0301")]
    lines = [b"", b"self", b"self-", b"_a1", *(text.encode() for text in texts)]
    assert differing(pattern, False, lines) == []


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
