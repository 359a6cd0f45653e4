"""What is asked of paths, and that a backend can fail it."""

import posixpath
from pathlib import Path
from typing import Any

from langgraph_filesystem.testing.naming import Naming
from tests.graph.testing.mutants import Reference, failing, unfailing


def test_every_behaviour_can_fail(tmp_path: Path) -> None:
    assert unfailing(Naming, tmp_path) == []


class Following(Reference):
    """Takes `..` for the directory above."""

    def read(self, file_path: str, *args: Any, **options: Any) -> Any:
        if ".." in file_path.split("/"):
            self.right("write", "/b", "reached", overwrite=True)
            file_path = posixpath.normpath(posixpath.join("/", file_path))
        return self.right("read", file_path, *args, **options)


def test_a_path_that_is_followed_upwards_is_noticed(tmp_path: Path) -> None:
    assert failing(Naming, Following, tmp_path) == ["test_a_path_that_leads_elsewhere_is_not_read"]


class Raising(Reference):
    """Raises for a path that it does not take."""

    def ls(self, path: str) -> Any:
        result = self.right("ls", path)
        if result.error and "refused" in result.error:
            raise ValueError(result.error)
        return result


def test_an_error_that_is_raised_is_noticed(tmp_path: Path) -> None:
    assert failing(Naming, Raising, tmp_path) == ["test_a_path_that_leads_elsewhere_is_not_listed"]
