"""`RemoteBackend`: files in S3, GCS, Azure, or any filesystem that `fsspec` knows."""

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from langgraph_filesystem.state.backends.fsspec_client import FsspecClient
from langgraph_filesystem.state.backends.fsspec_objects import FsspecObjects
from langgraph_filesystem.state.backends.object_backend import ObjectBackend
from langgraph_filesystem.state.backends.objects import Objects
from langgraph_filesystem.state.backends.obstore_objects import ObstoreObjects
from langgraph_filesystem.state.backends.obstore_requests import ObstoreClient
from langgraph_filesystem.state.errors import PathRefused
from langgraph_filesystem.state.io import Io
from langgraph_filesystem.state.paths import normalize_path

__all__ = ("RemoteBackend",)

_OBSTORE_SCHEMES = ("s3", "s3a", "gs", "az", "adl", "azure", "abfs", "abfss", "memory")


class RemoteBackend(ObjectBackend):
    """Files as objects in a bucket, or in any remote filesystem, below a prefix.

    With an `obstore` store of S3, GCS, Azure or memory a file is created only if there is none, and
    an edit is written only if the file is still what was read; else it is read and edited again. So
    writers in any number of processes lose nothing. What can't compare (`LocalStore`, an S3 server
    without conditional writes, every `fsspec` filesystem) is looked at again right before it is
    replaced: edits of one process all land, and of two processes one may lose its edit if both
    write in the very same moment. `write` with `overwrite` and `upload_files` replace any file.

    A file is written whole by stores that have objects. A filesystem that writes in place, such as
    a local one, may leave half a file when the process is killed: use `FilesystemBackend` there,
    which follows links safely too.

    Objects that stand for directories (keys that end in `/`) are no files. Through `obstore` they
    can't be deleted, so a directory that a console has made stays, empty.
    """

    lasting = True
    """Files are kept beyond the thread: the model is told so."""

    def __init__(self, store: Any, prefix: str = "", *, max_file_size_mb: float = 10) -> None:
        """Make a backend on a remote store.

        Args:
            store: A store of `obstore`, a filesystem of `fsspec`, or a URL such as
                `s3://bucket/prefix` or `sftp://host/directory`. A URL of S3, GCS or Azure is opened
                with `obstore` and the credentials of the environment, any other with `fsspec`.
            prefix: Where in the store the files are; nothing outside of it can be reached.
            max_file_size_mb: Size up to which files are searched, edited and read as bytes.
        """
        super().__init__(max_file_size_mb)
        inner = _checked_prefix(prefix)
        if isinstance(store, str):
            store, root = _opened(store)
            inner = root + inner
        self._client: ObstoreClient | FsspecClient
        if _is_obstore(store):
            self._client, self._root = ObstoreClient(store), inner.strip("/")
        elif _is_fsspec(store):
            self._client, self._root = FsspecClient(store), _fsspec_root(store, inner)
            if self._client.is_local and not self._root and not hasattr(store, "fs"):
                raise ValueError("Give the directory of a local filesystem as `prefix`.")
        else:
            raise ValueError(
                f"{type(store).__name__} is no store of `obstore`, no filesystem of `fsspec` and "
                f"no URL.{_MISSING if not _is_installed() else ''}"
            )

    def _objects(self, io: Io) -> Objects:
        if isinstance(self._client, ObstoreClient):
            return ObstoreObjects(self._client, self._root, io)
        return FsspecObjects(self._client, self._root, io)


_MISSING = " They come with `pip install 'langgraph-filesystem[remote]'`."


def _checked_prefix(prefix: object) -> str:
    """Return a prefix as a path, without the `/` of the root."""
    if prefix == "":
        return ""
    try:
        return normalize_path(prefix).rstrip("/")
    except PathRefused as refused:
        raise ValueError(f"`prefix`: {refused}") from None


def _opened(url: str) -> tuple[Any, str]:
    """Return the store of a URL, and where in it the URL points to."""
    scheme, found, _ = url.partition("://")
    if not found:
        # The rest is not shown: it may be a URL with a password, spelled wrongly.
        raise ValueError("A store given as text must be a URL, such as `s3://bucket/prefix`.")
    if scheme in _OBSTORE_SCHEMES:
        return _imported("obstore.store").from_url(url), ""
    filesystem, root = _imported("fsspec.core").url_to_fs(url)
    return filesystem, root.rstrip("/")


def _fsspec_root(filesystem: Any, prefix: str) -> str:
    """Return a directory as the filesystem spells it, without a `/` at its end."""
    if hasattr(filesystem, "fs"):
        return prefix.strip("/")  # relative to what it wraps
    return str(filesystem._strip_protocol(prefix or "/")).rstrip("/")


def _is_obstore(store: object) -> bool:
    module: Any = sys.modules.get("obstore.store")
    names = ("S3Store", "GCSStore", "AzureStore", "HTTPStore", "LocalStore", "MemoryStore")
    return module is not None and isinstance(store, tuple(getattr(module, n) for n in names))


def _is_fsspec(store: object) -> bool:
    module: Any = sys.modules.get("fsspec.spec")
    return module is not None and isinstance(store, module.AbstractFileSystem)


def _is_installed() -> bool:
    return any(find_spec(name) is not None for name in ("obstore", "fsspec"))


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise ImportError(f"This store needs `{package}`.{_MISSING}") from None
