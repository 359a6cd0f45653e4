"""What no answer may show."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from langgraph_filesystem.testing.driven import Driven, failed
from langgraph_filesystem.testing.naming import REFUSED

__all__ = ("Privacy",)


class Privacy:
    """Errors speak of the paths that the agent knows, and of no others."""

    def test_no_error_shows_where_the_backend_keeps_its_files(
        self, fs: Driven, tmp_path: Path
    ) -> None:
        fs.put("/dir/file", "x")
        fs.put("/raw", b"\xff\0")
        host = str(tmp_path)
        for result in _failures(fs):
            assert host not in failed(result)

    def test_no_result_shows_where_the_backend_keeps_its_files(
        self, fs: Driven, tmp_path: Path
    ) -> None:
        fs.put("/dir/file", "x")
        answers = [fs.ls("/"), fs.ls("/dir"), fs.read("/dir/file"), fs.glob("*"), fs.grep("x")]
        answers += [fs.write("/new", "y"), fs.edit("/new", "y", "z")]
        assert str(tmp_path) not in "".join(map(repr, answers))


def _failures(fs: Driven) -> Iterator[Any]:
    for path in ("/nothing", "/dir/file/below", "/dir", *REFUSED.values()):
        yield fs.read(path)
        yield fs.edit(path, "a", "b")
    for path in ("/nothing", "/dir/file", *REFUSED.values()):
        yield fs.ls(path)
    for path in ("/", "/dir", "/dir/file/below", *REFUSED.values()):
        yield fs.write(path, "x")
    yield fs.edit("/raw", "a", "b")
    yield fs.glob("*", "/nothing")
    yield fs.grep("x", "/nothing")
