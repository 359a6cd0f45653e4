"""Requests to an `obstore` store: called or awaited, with errors that name the virtual path."""

from importlib import import_module
from typing import Any

from langgraph_filesystem.state.backends.objects import Changed
from langgraph_filesystem.state.backends.remote_errors import explain
from langgraph_filesystem.state.backends.remote_keys import Keys
from langgraph_filesystem.state.io import Io

__all__ = ("ObstoreClient", "ObstoreRequests")


class ObstoreClient:
    """The functions of `obstore` for one store: each to be called, and its twin to be awaited."""

    def __init__(self, store: Any) -> None:
        self.store = store
        self._obstore = import_module("obstore")
        self.errors = import_module("obstore.exceptions")
        self.unsupported = (NotImplementedError, self.errors.NotSupportedError)
        local = import_module("obstore.store")
        self.has_markers = not isinstance(store, (local.LocalStore, local.MemoryStore))
        """Whether there may be objects that stand for directories."""

    def do(self, function: str, *args: Any, **options: Any) -> Any:
        """Call a function."""
        return getattr(self._obstore, function)(self.store, *args, **options)

    async def ado(self, function: str, *args: Any, **options: Any) -> Any:
        """Await a function."""
        return await getattr(self._obstore, f"{function}_async")(self.store, *args, **options)

    def fetch(self, key: str, options: Any) -> tuple[Any, bytes]:
        """Get an object: what is said of it, and its bytes."""
        result = self._obstore.get(self.store, key, options=options)
        return result, bytes(result.bytes())

    async def afetch(self, key: str, options: Any) -> tuple[Any, bytes]:
        """Get an object."""
        result = await self._obstore.get_async(self.store, key, options=options)
        return result, bytes(await result.bytes_async())

    def pages(self, prefix: str | None) -> Any:
        """Return the pages of all objects below a prefix, which are asked for one by one."""
        return self._obstore.list(self.store, prefix, chunk_size=1_000)

    def turn(self, pages: Any) -> Any:
        """Return the next page; an empty one at the end."""
        return next(pages, [])

    async def aturn(self, pages: Any) -> Any:
        """Return the next page."""
        return await anext(pages, [])


class ObstoreRequests:
    """Requests for the objects below a prefix."""

    def __init__(self, client: ObstoreClient, prefix: str, io: Io) -> None:
        self._client = client
        self._keys = Keys(prefix)
        self._io = io

    async def _do(self, path: str, function: str, *args: Any, **options: Any) -> Any:
        """Call a function of the store; what it raises that says something to us passes."""
        try:
            return await self._io.call(self._client, "do", function, *args, **options)
        except (self._client.errors.BaseError, ValueError, OSError) as error:
            raise self._kept(path, error) from None

    def _kept(self, path: str, error: BaseException) -> BaseException:
        errors = self._client.errors
        telling = (errors.AlreadyExistsError, errors.PreconditionError, errors.NotSupportedError)
        if type(error) in telling:
            return error
        if "<Code>NotImplemented</Code>" in str(error):
            return NotImplementedError()
        if "(os error 20)" in str(error):
            return FileNotFoundError()  # a directory of a disk would have to be where a file is
        if isinstance(error, FileNotFoundError) and "NoSuchBucket" not in str(error):
            return error
        return explain(path, error)

    async def _put(self, path: str, content: bytes, **options: Any) -> None:
        try:
            await self._do(path, "put", self._keys.key(path), content, **options)
        except FileNotFoundError as error:
            raise explain(path, error) from None

    async def _head(self, path: str) -> Any:
        if path == "/":
            return None
        try:
            return await self._do(path, "head", self._keys.key(path))
        except FileNotFoundError:
            return None

    async def _turn(self, path: str, pages: Any) -> Any:
        """Return the next page of a list; an empty one at the end."""
        try:
            return await self._io.call(self._client, "turn", pages)
        except (self._client.errors.BaseError, OSError) as error:
            kept = self._kept(path, error)
            if isinstance(kept, FileNotFoundError):
                return []
            raise kept from None

    async def _listed(self, path: str, prefix: str | None) -> Any:
        """Return what is directly below a prefix."""
        try:
            return await self._do(path, "list_with_delimiter", prefix)
        except FileNotFoundError:
            return {"objects": [], "common_prefixes": []}

    async def _fetch(
        self, path: str, start: int, options: dict[str, Any]
    ) -> tuple[Any, bytes, Any] | None:
        """Return what is said of a file, its bytes and its attributes."""
        key = self._keys.key(path)
        try:
            result, content = await self._io.call(self._client, "fetch", key, options)
            return result.meta, content, result.attributes
        except self._client.errors.PreconditionError:
            raise Changed from None
        except (self._client.errors.BaseError, ValueError, OSError) as error:
            kept = self._kept(path, error)
            if isinstance(kept, FileNotFoundError):
                return None
            # A range that begins at the end is an error: so is every range of an empty file.
            meta = await self._head(path) if "range" in options else None
            if meta is not None and meta["size"] <= start:
                return meta, b"", None
            raise kept from None
