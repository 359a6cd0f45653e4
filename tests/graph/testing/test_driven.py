"""A backend as tests call it: in both modes, and with what is optional told apart."""

import asyncio
import inspect
import threading
from typing import Any

import pytest

from langgraph_filesystem import StateBackend
from langgraph_filesystem.state.backends.protocol import LsResult, ReadResult, WriteResult
from langgraph_filesystem.state.files import Files
from langgraph_filesystem.testing import Applied, Driven
from langgraph_filesystem.testing.driven import failed
from tests.graph.testing.mutants import Reference
from tests.nodes.backends import Shelf


class Telling(Shelf):
    """Says how it was called."""

    def ls(self, path: str) -> Any:
        return "blocking", threading.get_ident()

    async def als(self, path: str) -> Any:
        return "awaited", threading.get_ident()

    def digest(self, path: str) -> Any:
        return threading.get_ident()

    def move(self, source: str, destination: str) -> Any:
        raise NotImplementedError


def test_a_method_or_its_twin_is_called() -> None:
    here = threading.get_ident()
    assert Driven(Telling()).call("ls", "/") == ("blocking", here)
    awaited = Driven(Telling(), "async")
    assert awaited.call("ls", "/") == ("awaited", here)
    awaited.close()


def test_without_a_twin_a_method_runs_in_a_thread() -> None:
    driven = Driven(Telling(), "async")
    assert driven.call("digest", "/") != threading.get_ident()
    driven.close()
    assert Driven(Telling()).call("digest", "/") == threading.get_ident()


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_calls_together_are_at_the_same_time(mode: Any) -> None:
    gate = threading.Barrier(3, timeout=20)

    class Waiting(Shelf):
        def digest(self, path: str) -> str:
            gate.wait()
            return path

    driven = Driven(Waiting(), mode)
    assert driven.together(*(("digest", path) for path in "abc")) == ["a", "b", "c"]
    driven.close()


@pytest.mark.parametrize(
    ("ask", "reason"),
    [
        (lambda fs: fs.move("/a", "/b"), "Telling: `move` is not implemented, which is optional."),
        (lambda fs: fs.recall("k"), "Telling: there is no method `recall`, which is optional."),
        (
            lambda fs: fs.read("/a", column=1),
            "Telling: `read` takes no `column`, which is optional.",
        ),
    ],
)
def test_what_is_optional_and_missing_is_skipped_or_fails(ask: Any, reason: str) -> None:
    with pytest.raises(pytest.skip.Exception) as skipped:
        ask(Driven(Telling()))
    assert str(skipped.value) == reason
    with pytest.raises(pytest.fail.Exception, match="Telling"):
        ask(Driven(Telling(), complete=True))


def test_what_every_backend_must_have_is_not_skipped() -> None:
    class Less:
        def read(self, file_path: str) -> ReadResult:
            raise NotImplementedError

    with pytest.raises(pytest.fail.Exception, match="there is no method `ls`"):
        Driven(Less()).ls("/")


class Bare:
    """Writes and reads, and has no other way in or out."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}

    def ls(self, path: str) -> LsResult:
        return LsResult(entries=[{"path": path} for path in self.files])

    def write(self, file_path: str, content: str) -> WriteResult:
        self.files[file_path] = content
        return WriteResult(path=file_path)

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        return ReadResult(file_data={"content": self.files[file_path]})


def test_without_uploads_text_is_written_and_read() -> None:
    driven = Driven(Bare())
    driven.put("/a", "text")
    assert driven.content("/a") == b"text"
    with pytest.raises(pytest.skip.Exception, match="upload_files"):
        driven.put("/a", b"\xff")


def test_an_error_must_say_something_about_the_path() -> None:
    driven = Driven(Reference())
    assert failed(driven.read("/gone"), "/gone").startswith("/gone: no such file")
    for wrong in (ReadResult(), ReadResult(error=""), ReadResult(error="no such file")):
        with pytest.raises(AssertionError):
            failed(wrong, "/gone")


class TestApplied:
    """Changes of a backend whose files are in the state are there for the next call."""

    def test_a_backend_of_ours_is_given_files(self) -> None:
        backend = Applied(StateBackend(), {"/old": {"content": "x"}})
        assert backend.write("/a", "one").error is None
        assert backend.edit("/a", "one", "two").occurrences == 1
        assert backend.read("/a").file_data["content"] == "two"
        assert backend.delete("/old").error is None
        assert asyncio.run(backend.awrite("/b", "three")).error is None
        assert list(backend.files) == ["/a", "/b"]

    def test_it_can_be_mounted_somewhere(self) -> None:
        backend = Applied(StateBackend(), prefix="/m")
        backend.upload_files([("/a", b"1"), ("/b", b"2")])
        assert sorted(backend.files) == ["/m/a", "/m/b"]

    def test_updates_in_the_results_of_a_backend_are_applied(self) -> None:
        class Asking:
            def __init__(self, files: Files) -> None:
                self.files = files

            def write(self, file_path: str, content: str) -> WriteResult:
                update: Any = {file_path: content * (1 + len(self.files))}
                return WriteResult(path=file_path, files_update=update)

        backend = Applied(Asking)
        backend.write("/a", "x")
        backend.write("/b", "x")
        assert {path: file["content"] for path, file in backend.files.items()} == {
            "/a": "x",
            "/b": "xx",
        }

    def test_it_has_the_methods_of_the_backend_and_takes_their_keywords(self) -> None:
        backend: Any = Applied(StateBackend())
        assert "overwrite" in inspect.signature(backend.write).parameters
        assert inspect.iscoroutinefunction(backend.aread)
        for name in ("execute", "_files", "nothing"):
            with pytest.raises(AttributeError):
                getattr(backend, name)
