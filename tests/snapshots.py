"""Snapshots: texts that people and models read, kept beside the tests.

`UPDATE_SNAPSHOTS=1 make unit` writes them anew; look at the difference before you commit it.
"""

import os
from pathlib import Path

_FOLDER = Path(__file__).parent / "snapshots"


def assert_snapshot(name: str, text: str) -> None:
    """Compare a text with the file that holds it."""
    file = _FOLDER / name
    if os.environ.get("UPDATE_SNAPSHOTS") == "1":
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    assert file.exists(), f"no snapshot {name}: run with UPDATE_SNAPSHOTS=1"
    assert text == file.read_text()
