"""What a remote store refuses: the right kind of error, and nothing that is secret in it."""

import sys
from types import ModuleType

import pytest

from langgraph_filesystem.state.backends.remote_errors import client_errors, explain
from langgraph_filesystem.state.errors import (
    BackendFailed,
    FilesystemError,
    PathRefused,
    PermissionDenied,
)


class PermissionDeniedError(Exception):
    """As `obstore` calls it."""


class ConnectTimeoutError(Exception):
    """As `botocore` calls it."""


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (ValueError("embedded null byte"), PathRefused, "does not allow such a name"),
        (OSError(36, "File name too long"), PathRefused, "longer than the remote store allows"),
        (OSError("<Code>KeyTooLongError</Code>"), PathRefused, "longer"),
        (PermissionError(13, "no"), PermissionDenied, "permission denied by the remote store."),
        (PermissionDeniedError("no"), PermissionDenied, "permission denied"),
        (OSError("<Code>AccessDenied</Code>"), PermissionDenied, "store (AccessDenied)"),
        (
            OSError("An error occurred (AccessDenied) when calling the PutObject operation"),
            PermissionDenied,
            "(AccessDenied)",
        ),
        (OSError("<Code>NoSuchBucket</Code>"), BackendFailed, "the bucket does not exist"),
        (ConnectTimeoutError("x"), BackendFailed, "did not answer"),
        (OSError("error sending request for url"), BackendFailed, "can't be reached"),
        (OSError("Got invalid path: a//b"), BackendFailed, "no path"),
        (OSError("status 503 Service Unavailable"), BackendFailed, "failed (503)"),
        (OSError("<Code>SlowDown</Code>"), BackendFailed, "failed (SlowDown)"),
        (OSError("what is that"), BackendFailed, "failed (OSError)"),
    ],
    ids=str,
)
def test_an_error_of_the_client_is_told_in_our_words(
    error: Exception, kind: type[FilesystemError], words: str
) -> None:
    told = explain("/notes/a.txt", error)
    assert isinstance(told, kind)
    assert "/notes/a.txt" in str(told)
    assert words in str(told)


SECRET = "https://key:s3cr3t@10.0.0.7/bucket/srv/host/dir"


@pytest.mark.parametrize("kind", [OSError, ValueError, PermissionError, TimeoutError, KeyError])
@pytest.mark.parametrize("text", ["{}", "<Code>{}</Code>", "({}) when calling", "timed out: {}"])
def test_what_the_client_says_is_not_shown(kind: type[Exception], text: str) -> None:
    told = str(explain("/a", kind(text.format(SECRET))))
    assert not [word for word in ("s3cr3t", "10.0.0.7", "bucket/", "srv") if word in told]


def test_errors_of_a_client_are_known_once_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    class SSHException(Exception):
        """Is no `OSError`."""

    client = ModuleType("paramiko")
    client.SSHException = SSHException  # type: ignore[attr-defined]
    monkeypatch.delitem(sys.modules, "paramiko", raising=False)
    assert SSHException not in client_errors()
    monkeypatch.setitem(sys.modules, "paramiko", client)
    assert SSHException in client_errors()


def test_faults_in_the_program_are_no_errors_of_a_client() -> None:
    for fault in (KeyError("a"), AttributeError("a"), RuntimeError("a"), AssertionError("a")):
        assert not isinstance(fault, client_errors())
    assert isinstance(ConnectionResetError(), client_errors())
