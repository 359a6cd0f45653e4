"""Files of a thread, for the tests of the backend over them."""

import copy
from typing import Any

from langgraph_filesystem.state.files import Files

__all__ = ("BORN", "TREE", "entries", "tree")

BORN = "2024-01-01T00:00:00.000+00:00"
TREE: Files = {
    "/top.md": {"content": "# Top\n", "encoding": "utf-8", "modified_at": BORN},
    "/src/a.py": {"content": "import os\n\nprint(1)\n", "created_at": BORN},
    "/src/deep/b.py": {"content": "print(2)\nprint(3)"},
    "/src/.env": {"content": "KEY=1"},
    "/pic.png": {"content": "/+8=", "encoding": "base64"},
    "/empty": {"content": ""},
}


def tree(prefix: str = "") -> Files:
    """Return the files as the channel holds them for a mount at the prefix."""
    return {prefix + path: copy.deepcopy(file) for path, file in TREE.items()}


def entries(result: Any) -> dict[str, bool]:
    """Return what `ls` found: a path, and whether it is a directory."""
    assert result.error is None
    return {entry["path"]: entry["is_dir"] for entry in result.entries}
