"""What a file holds: its bytes, whether they are text, and its digest."""

import hashlib
import os
from pathlib import Path

import pytest

from langgraph_filesystem.state.backends.contents import (
    decoded,
    digest_of,
    encoded,
    is_binary,
    mark_of,
    modified_at,
    read_whole,
)
from langgraph_filesystem.state.errors import FilesystemError, NotText


@pytest.mark.parametrize("guess", [0, 3, 10, 1000])
def test_a_file_is_read_whole_whatever_its_size_was_thought_to_be(
    tmp_path: Path, guess: int
) -> None:
    (tmp_path / "file").write_bytes(b"0123456789" * 100)
    handle = os.open(tmp_path / "file", os.O_RDONLY)
    assert read_whole(handle, guess) == b"0123456789" * 100
    os.close(handle)


def test_a_file_that_grows_past_a_chunk_is_read_whole(tmp_path: Path) -> None:
    content = os.urandom(3 << 20)
    (tmp_path / "file").write_bytes(content)
    handle = os.open(tmp_path / "file", os.O_RDONLY)
    assert read_whole(handle, 5) == content
    os.close(handle)


def test_a_nul_near_the_beginning_makes_a_file_binary() -> None:
    assert is_binary(b"a\0b")
    assert is_binary(b"a" * 8191 + b"\0")
    assert not is_binary(b"a" * 8192 + b"\0")
    assert not is_binary(b"\xff\xfe latin")


@pytest.mark.parametrize("text", ["", "a\r\nb\n", "\ufeffa", "a\u2028\x0b\x85b", "ä\U0001f600"])
def test_text_comes_back_as_it_is(text: str) -> None:
    assert decoded("/f", encoded("/f", text)) == text


def test_what_is_not_text_says_what_it_is() -> None:
    with pytest.raises(NotText, match=r"/f: binary content \(3 bytes\)"):
        decoded("/f", b"a\0b")
    with pytest.raises(NotText, match=r"/f: text that is not UTF-8 \(4 bytes\)"):
        decoded("/f", b"caf\xe9")


def test_a_lone_surrogate_is_named() -> None:
    with pytest.raises(FilesystemError, match="surrogate at character 1,"):
        encoded("/f", "a\ud800")


def test_the_digest_is_of_the_content_up_to_the_limit(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"x" * 100)
    (tmp_path / "two").write_bytes(b"x" * 100)
    one, two = (os.open(tmp_path / name, os.O_RDONLY) for name in ("one", "two"))
    content = hashlib.sha256(b"x" * 100).hexdigest()[:24]
    assert digest_of(one, 100) == digest_of(two, 100) == content
    assert digest_of(one, 99) == mark_of(os.fstat(one))
    assert digest_of(one, 99) != digest_of(two, 99)
    before = digest_of(one, 99)
    os.rename(tmp_path / "one", tmp_path / "three")
    assert digest_of(one, 99) == before
    os.utime(one, (1, 1))
    assert digest_of(one, 99) != before
    os.close(one)
    os.close(two)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (1.25, "1970-01-01T00:00:01.250+00:00"),
        (1_767_323_045.5, "2026-01-02T03:04:05.500+00:00"),
        (-1.0, "1969-12-31T23:59:59.000+00:00"),
    ],
)
def test_the_time_of_the_last_change_is_in_utc(
    tmp_path: Path, seconds: float, expected: str
) -> None:
    (tmp_path / "file").touch()
    os.utime(tmp_path / "file", (seconds, seconds))
    assert modified_at(os.stat(tmp_path / "file")) == expected
