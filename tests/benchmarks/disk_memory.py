"""How much memory it takes to read one page of a large file."""

import subprocess
import sys

from tests.benchmarks.disk_tree import LARGE, Tree

__all__ = ("OURS", "THEIRS", "megabytes")

OURS = "from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend"
THEIRS = "from deepagents.backends import FilesystemBackend"

_PROGRAM = """
import sys
from pathlib import Path
{imported}
backend = FilesystemBackend(sys.argv[1], virtual_mode=True)

def kilobytes(name):
    [line] = [line for line in open("/proc/self/status") if line.startswith(name + ":")]
    return int(line.split()[1])

Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
before = kilobytes("VmRSS")
assert backend.read(sys.argv[2], 0, 2000).file_data["content"]
print((kilobytes("VmHWM") - before) / 1000)
"""


def megabytes(tree: Tree, imported: str) -> float:
    """Return what a process of its own needs for it at its peak."""
    program = _PROGRAM.format(imported=imported)
    command = [sys.executable, "-c", program, str(tree.root), f"/{LARGE}"]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
