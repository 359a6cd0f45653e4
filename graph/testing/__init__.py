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
- `Applied`: makes a backend that answers with `files_update` one that can be tested.

It needs pytest and nothing else; tests of `a`-twins bring their own event loop.
"""

import pkgutil

try:
    import pytest
except ImportError:
    raise ImportError("langgraph_filesystem.testing needs pytest: pip install pytest") from None

# Before the modules are imported: only then pytest shows the values of what failed.
pytest.register_assert_rewrite(*(f"{__name__}.{it.name}" for it in pkgutil.iter_modules(__path__)))

from langgraph_filesystem.testing.applied import Applied  # noqa: E402  # see above
from langgraph_filesystem.testing.driven import Driven  # noqa: E402
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
