"""What tests of remote stores share: a server that speaks S3, on loopback, and filesystems."""

import functools
import logging
import threading
from pathlib import Path
from typing import Any

from obstore.store import S3Store

BUCKET = "files"
_KEYS = {"access_key_id": "an-access-key", "secret_access_key": "a-secret-key"}


@functools.cache
def endpoint() -> str:
    """Return the address of the server, which runs until this process ends."""
    from moto.moto_server.werkzeug_app import (
        DomainDispatcherApplication,
        MotoRequestHandler,
        create_backend_app,
    )
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    app = _in_turn(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=MotoRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    client(address).create_bucket(Bucket=BUCKET)
    return address


def _in_turn(app: Any) -> Any:
    """Let the server answer one request after the other.

    moto looks whether a condition holds and stores the object later: of two that come at once, both
    may win. S3 decides on each as a whole.
    """
    lock = threading.Lock()

    def answered(environ: Any, start_response: Any) -> Any:
        with lock:
            return app(environ, start_response)

    return answered


def client(address: str | None = None) -> Any:
    """Return a client of the server that is not ours: what others do to the bucket."""
    import boto3  # type: ignore[import-untyped]

    return boto3.client(
        "s3",
        endpoint_url=address or endpoint(),
        region_name="us-east-1",
        aws_access_key_id=_KEYS["access_key_id"],
        aws_secret_access_key=_KEYS["secret_access_key"],
    )


def s3_store(prefix: str | None = None, bucket: str = BUCKET, **options: Any) -> S3Store:
    """Return a store on the server."""
    settings: dict[str, Any] = {
        "endpoint": endpoint(),
        "region": "us-east-1",
        "client_options": {"allow_http": True},
        "retry_config": {"max_retries": 1},
        **_KEYS,
        **options,
    }
    return S3Store(bucket, prefix=prefix, **settings)


def disk() -> Any:
    """Return an `fsspec` filesystem with real directories, as SFTP has."""
    from fsspec.implementations.local import LocalFileSystem  # type: ignore[import-untyped]

    class Disk(LocalFileSystem):  # type: ignore[misc]
        protocol = "disk"

        @classmethod
        def _strip_protocol(cls, path: str) -> str:
            return str(super()._strip_protocol(path.removeprefix("disk://")))

    return Disk()


def directory(path: Path) -> Any:
    """Return the `fsspec` filesystem of one directory."""
    from fsspec.implementations.dirfs import DirFileSystem  # type: ignore[import-untyped]

    return DirFileSystem(path=str(path), fs=disk())


def memory() -> Any:
    """Return the one `fsspec` filesystem in memory."""
    from fsspec.implementations.memory import MemoryFileSystem  # type: ignore[import-untyped]

    return MemoryFileSystem()


def awaited_memory(asynchronous: bool) -> Any:
    """Return it as filesystems behind HTTP are: its methods are coroutines."""
    from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper  # type: ignore[import-untyped]

    return AsyncFileSystemWrapper(memory(), asynchronous=asynchronous, skip_instance_cache=True)
