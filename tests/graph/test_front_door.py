"""What `import langgraph_filesystem` gives, and what it costs."""

import subprocess
import sys

import pytest

import langgraph_filesystem


def test_everything_that_is_promised_is_there_and_has_a_home() -> None:
    homes = langgraph_filesystem._HOMES
    assert set(homes) == set(langgraph_filesystem.__all__)
    assert set(langgraph_filesystem.__all__) <= set(dir(langgraph_filesystem))
    for name in langgraph_filesystem.__all__:
        assert getattr(langgraph_filesystem, name).__name__ == name


def test_what_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        langgraph_filesystem.nothing  # noqa: B018


def test_importing_the_package_loads_neither_langgraph_nor_langchain() -> None:
    code = "import sys, langgraph_filesystem; print([m for m in sys.modules if 'lang' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['langgraph_filesystem']"
