"""What is asked of the words of a backend, and that a backend can fail it."""

import functools
from pathlib import Path
from typing import Any

from langgraph_filesystem.testing.privacy import Privacy
from tests.graph.testing.mutants import Reference, failing


class Leaky(Reference):
    """Speaks of the host's paths."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self._root = root

    def read(self, file_path: str, *args: Any, **options: Any) -> Any:
        result = self.right("read", file_path, *args, **options)
        result.error = result.error and f"{self._root}{file_path}: no such file"
        return result

    def glob(self, pattern: str, path: str | None = None) -> Any:
        result = self.right("glob", pattern, path)
        for match in result.matches or ():
            match["path"] = f"{self._root}{match['path']}"
        return result


def test_a_path_of_the_host_is_noticed(tmp_path: Path) -> None:
    assert failing(Privacy, functools.partial(Leaky, tmp_path), tmp_path) == [
        "test_no_error_shows_where_the_backend_keeps_its_files",
        "test_no_result_shows_where_the_backend_keeps_its_files",
    ]
    assert failing(Privacy, Reference, tmp_path) == []
