"""`RemoteBackend`: files in S3, GCS, Azure, or any filesystem that `fsspec` knows."""

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from langgraph_filesystem.state.backends.file_store import FileStore, MountContext
from langgraph_filesystem.state.backends.objects.backend import ObjectStore, max_bytes
from langgraph_filesystem.state.backends.objects.fsspec import FsspecObjects
from langgraph_filesystem.state.backends.objects.objects import Objects
from langgraph_filesystem.state.backends.objects.obstore import ObstoreObjects
from langgraph_filesystem.state.backends.public import PublicMethods
from langgraph_filesystem.state.errors import PathRefused
from langgraph_filesystem.state.paths import normalize_path

__all__ = ("RemoteBackend",)

_OBSTORE_SCHEMES = ("s3", "s3a", "gs", "az", "adl", "azure", "abfs", "abfss", "memory")
_INSTALL = " Install it with `pip install 'langgraph-filesystem[remote]'`."


class RemoteBackend(PublicMethods):
    """Files as objects in a bucket, or in any remote filesystem, below a prefix.

    With an `obstore` store of S3, GCS, Azure or memory a file is created only if there is none, and
    an edit is written only if the file is still what was read; else it is read and edited again. So
    writers in any number of processes lose nothing. Where the store can't compare (`LocalStore`, an
    S3 server without conditional writes, every `fsspec` filesystem) the file is looked at again
    right before it is replaced: edits of one process all land, and of two processes one may lose
    its edit if both write in the very same moment. `write` with `overwrite` and `upload_files`
    replace any file.

    Stores of objects write a file whole. A filesystem that writes in place may leave half a file
    when the process is killed. For a directory of this machine use `FilesystemBackend`: a local
    filesystem of `fsspec` is refused.

    Objects that stand for directories (keys that end in `/`) are not files. They can't be deleted
    through `obstore`, so a directory that was made in a console stays, empty.
    """

    def __init__(self, store: Any, prefix: str = "", *, max_file_size_mb: float = 10) -> None:
        """Create a backend on a remote store.

        Args:
            store: A store of `obstore`, a filesystem of `fsspec`, or a URL such as
                `s3://bucket/prefix` or `sftp://host/directory`. A URL of S3, GCS or Azure is opened
                with `obstore` and the credentials of the environment, any other with `fsspec`.
            prefix: Where in the store the files are; nothing outside of it can be reached.
            max_file_size_mb: Size up to which files are searched and edited, and read if they are
                binary.
        """
        max_size = max_bytes(max_file_size_mb)
        root = _checked_prefix(prefix)
        if isinstance(store, str):
            store, above = _opened(store)
            root = above + root
        objects = _objects(store, root)
        self._file_store = ObjectStore(lambda: objects, max_size)

    def open(self, context: MountContext) -> FileStore:
        """Return the store, the same for every run."""
        return self._file_store


def _objects(store: Any, root: str) -> Objects:
    if _is_obstore(store):
        return ObstoreObjects(store, root.strip("/"))
    if not _is_fsspec(store):
        is_installed = any(find_spec(name) is not None for name in ("obstore", "fsspec"))
        raise ValueError(
            f"{type(store).__name__} is not a store of `obstore`, a filesystem of `fsspec` or a "
            f"URL.{'' if is_installed else _INSTALL}"
        )
    is_wrapper = hasattr(store, "fs")  # then paths are relative to the directory that it wraps
    root = root.strip("/") if is_wrapper else str(store._strip_protocol(root or "/")).rstrip("/")
    return FsspecObjects(store, root)


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
        # The text is not shown: it may be a misspelled URL with a password.
        raise ValueError("A store given as text must be a URL, such as `s3://bucket/prefix`.")
    if scheme in _OBSTORE_SCHEMES:
        return _imported("obstore.store").from_url(url), ""
    filesystem, root = _imported("fsspec.core").url_to_fs(url)
    return filesystem, root.rstrip("/")


def _is_obstore(store: object) -> bool:
    module: Any = sys.modules.get("obstore.store")
    names = ("S3Store", "GCSStore", "AzureStore", "HTTPStore", "LocalStore", "MemoryStore")
    return module is not None and isinstance(store, tuple(getattr(module, n) for n in names))


def _is_fsspec(store: object) -> bool:
    module: Any = sys.modules.get("fsspec.spec")
    return module is not None and isinstance(store, module.AbstractFileSystem)


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise ImportError(f"This store needs `{package}`.{_INSTALL}") from None
