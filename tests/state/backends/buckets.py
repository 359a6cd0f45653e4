"""What tests of remote stores share: a server that speaks S3, on loopback, and filesystems."""

import functools
import logging
from pathlib import Path
from typing import Any

from obstore.store import S3Store

BUCKET = "files"
_KEYS = {"access_key_id": "an-access-key", "secret_access_key": "a-secret-key"}


@functools.cache
def endpoint() -> str:
    """Return the address of the server, which runs until this process ends."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    address = "http://{}:{}".format(*server.get_host_and_port())
    client(address).create_bucket(Bucket=BUCKET)
    return address


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
    """Return the `fsspec` filesystem of this machine."""
    from fsspec.implementations.local import LocalFileSystem  # type: ignore[import-untyped]

    return LocalFileSystem()


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
