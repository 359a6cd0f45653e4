"""The examples as people run them."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def load(name: str) -> ModuleType:
    """Return the module of an example, such as `supervisor/supervisor.py`."""
    spec = importlib.util.spec_from_file_location(f"example_{Path(name).stem}", EXAMPLES / name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_script(name: str, *args: str, cwd: Path, typed: str = "", **variables: str) -> str:
    """Run an example in a directory, type something, and return what it printed."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LANG", "OPENAI"))}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name), *args],
        cwd=cwd,
        input=typed,
        env={**kept, **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout
