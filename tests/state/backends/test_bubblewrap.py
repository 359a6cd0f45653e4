"""Which `bwrap` is used, and what is said where none works."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from langgraph_filesystem.state.backends.bubblewrap import SandboxUnavailable, find_bubblewraps


@pytest.fixture(autouse=True)
def _anew() -> Iterator[None]:
    find_bubblewraps.cache_clear()
    yield
    find_bubblewraps.cache_clear()


def test_that_of_the_system_comes_first_and_that_of_the_extra_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    [wheel] = find_bubblewraps()
    find_bubblewraps.cache_clear()
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert find_bubblewraps() == (str(program), wheel)


def test_what_can_be_done_is_said() -> None:
    nothing, broken = str(SandboxUnavailable()), str(SandboxUnavailable("bwrap: no"))
    assert "install bubblewrap 0.10 or newer" in nothing
    assert "bubblewrap says: bwrap: no\n" in broken
    for needed in ("user.max_user_namespaces", "apparmor", "Docker", "[sandbox]"):
        assert needed in broken
