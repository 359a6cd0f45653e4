"""`FilesystemBackend`: files in a directory on disk."""

import os

from langgraph_filesystem.state.backends.beneath import Resolver
from langgraph_filesystem.state.backends.disk_receiving import DiskReceiving
from langgraph_filesystem.state.backends.jail import Jail, Unconfined
from langgraph_filesystem.state.backends.twins import Twins

__all__ = ("FilesystemBackend",)


class FilesystemBackend(Twins, DiskReceiving):
    """Files below one directory of the host, which has to exist and is held open.

    In virtual mode, the default, paths begin at that directory and nothing leads out of it: no
    path, no link, no race. With `virtual_mode=False` absolute paths are the host's own and only
    relative ones are below the directory: there is no protection at all.

    Files up to `max_file_size_mb` are read whole: for an edit, as binary content, for a digest and
    by the search that needs no `rg`. Pages of larger ones can be read all the same.

    A write replaces the file as a whole, with its mode kept: another hard link of it keeps the old
    content. A killed process never leaves half a file. A power failure may leave an empty one where
    the host's filesystem does not care for renames; with `flush=True` a write waits until the new
    content is on the disk, which takes milliseconds.

    A file or a directory of any size moves from one such backend to another, with modes, times and
    the links that stay in it. It is copied under a hidden name, with memory for a piece of it, and
    gets its name when it is whole; only then is the source deleted, and only if nothing has come
    into it since.

    One object serves any number of threads, and any number of processes may have one.
    """

    lasting = True
    """Files are kept beyond the thread: the model is told so."""

    def __init__(
        self,
        root_dir: str | os.PathLike[str],
        virtual_mode: bool = True,
        max_file_size_mb: float = 10,
        *,
        flush: bool = False,
        resolver: Resolver | None = None,
    ) -> None:
        jail = Jail(root_dir, resolver=resolver) if virtual_mode else Unconfined(root_dir)
        super().__init__(jail, int(max_file_size_mb * 1024 * 1024), flush=flush)

    def close(self) -> None:
        """Let go of the directory. It happens by itself when the object is no longer used."""
        self._jail.close()
