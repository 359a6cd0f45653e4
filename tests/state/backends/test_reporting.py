"""An error of ours becomes a result; any other is a mistake, and stays one."""

import pytest

from langgraph_filesystem.state.backends.protocol import WriteResult
from langgraph_filesystem.state.backends.reporting import reporting
from langgraph_filesystem.state.errors import FileNotFound


@reporting(WriteResult)
def write(path: str, *, fail: Exception | None = None) -> WriteResult:
    """Write a file."""
    if fail:
        raise fail
    return WriteResult(path=path)


def test_a_result_is_returned_and_an_error_is_told_in_one() -> None:
    assert write("/a") == WriteResult(path="/a")
    assert "/a: no such file" in (write("/a", fail=FileNotFound("/a")).error or "")
    with pytest.raises(KeyError):
        write("/a", fail=KeyError())
    assert write.__doc__ == "Write a file."
