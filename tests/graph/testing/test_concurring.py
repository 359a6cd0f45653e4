"""What is asked of calls at the same time, and that a backend can fail it."""

import time
from pathlib import Path
from typing import Any

from langgraph_filesystem.testing.concurring import Concurring
from tests.graph.testing.mutants import Reference, failing, unfailing


def test_every_behaviour_can_fail(tmp_path: Path) -> None:
    assert unfailing(Concurring, tmp_path) == []


class Racing(Reference):
    """Reads, thinks, and writes what it thought."""

    def edit(self, file_path: str, old: str, new: str, replace_all: bool = False) -> Any:
        [found] = self.right("download_files", [file_path])
        time.sleep(0.05)
        text = (found.content or b"").decode().replace(old, new)
        return self.right("write", file_path, text, overwrite=True)


def test_edits_that_get_lost_are_noticed(tmp_path: Path) -> None:
    assert failing(Concurring, Racing, tmp_path) == [
        "test_edits_of_different_places_all_land",
        "test_edits_of_one_place_happen_one_after_the_other",
    ]
