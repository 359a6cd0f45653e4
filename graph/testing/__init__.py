"""Tests for backends, yours or ours: what a backend must do, as pytest classes to inherit.

```python
from langgraph_filesystem.testing import BackendConformance

class TestMine(BackendConformance):
    def make_backend(self, tmp_path):
        return MyBackend(tmp_path)
```

- `BackendConformance`: files.
- `CommandConformance`: files and commands.
- `RecallConformance`, `RecallCommandConformance`: the same for a backend that takes `once` and has
  `recall`, so that nothing is done twice after a crash.
- `Applied`: makes a backend testable whose files are in the state of a graph.

It needs pytest and nothing else: tests of `a`-twins have their own event loop.
"""

import pkgutil

try:
    import pytest
except ImportError:
    raise ImportError("langgraph_filesystem.testing needs pytest: pip install pytest") from None

# Before the modules are imported: else pytest does not show the values of a failed assertion.
pytest.register_assert_rewrite(*(f"{__name__}.{it.name}" for it in pkgutil.iter_modules(__path__)))

from langgraph_filesystem.testing.driven import Applied, Driven  # noqa: E402  # see above
from langgraph_filesystem.testing.suite import (  # noqa: E402
    BackendConformance,
    CommandConformance,
    RecallCommandConformance,
    RecallConformance,
)

__all__ = (
    "Applied",
    "BackendConformance",
    "CommandConformance",
    "Driven",
    "RecallCommandConformance",
    "RecallConformance",
)
