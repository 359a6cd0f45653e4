"""Backends of `deepagents`, and a way to call any store in sync and async runs."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Protocol, TypeVar

from deepagents.backends import (
    CompositeBackend,
    FilesystemBackend,
    LocalShellBackend,
    StoreBackend,
)
from deepagents.backends.protocol import (
    ExecuteResponse,
    FileDownloadResponse,
    FileUploadResponse,
)
from deepagents.backends.sandbox import BaseSandbox
from langgraph.store.memory import InMemoryStore

from langgraph_filesystem.state.io import run_sync

__all__ = ("KINDS", "RUNS", "Run", "Sandbox")

R = TypeVar("R")


class Run(Protocol):
    """Runs a coroutine as a sync or as an async graph does."""

    def __call__(self, work: Coroutine[Any, Any, R], /) -> R: ...


RUNS: dict[str, Run] = {"sync": run_sync, "async": asyncio.run}


class Sandbox(BaseSandbox):
    """A sandbox of which every operation is a command, as those of partners are."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @property
    def id(self) -> str:
        return "a-sandbox"

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        done = subprocess.run(
            ["sh", "-c", command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=self._directory,
            timeout=timeout,
            # It runs Python for each operation: the one that is here.
            env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        )
        return ExecuteResponse(output=done.stdout + done.stderr, exit_code=done.returncode)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        for path, content in files:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_bytes(content)
        return [FileUploadResponse(path=path) for path, _ in files]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        return [self._download(path) for path in paths]

    def _download(self, path: str) -> FileDownloadResponse:
        if not os.path.exists(path):
            return FileDownloadResponse(path=path, error="file_not_found")
        if os.path.isdir(path):
            return FileDownloadResponse(path=path, error="is_directory")
        return FileDownloadResponse(path=path, content=Path(path).read_bytes())


Made = tuple[Any, str]
"""A backend, and the directory in which to work in it."""


def filesystem(directory: Path) -> Made:
    return FilesystemBackend(root_dir=directory, virtual_mode=True), ""


def store(directory: Path) -> Made:
    return StoreBackend(store=InMemoryStore(), namespace=lambda _: ("files",)), ""


def shell(directory: Path) -> Made:
    return LocalShellBackend(root_dir=directory, virtual_mode=True), ""


def composite(directory: Path) -> Made:
    return CompositeBackend(store(directory)[0], {"/disk/": filesystem(directory)[0]}), "/disk"


def sandbox(directory: Path) -> Made:
    return Sandbox(directory), str(directory)  # its paths are those of the machine


KINDS: list[Callable[[Path], Made]] = [filesystem, store, shell, composite, sandbox]
