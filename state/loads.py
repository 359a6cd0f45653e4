"""Uploads and downloads over mounts: each mount gets its files at once, and each file an answer."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from langgraph_filesystem.state.backends.protocol import FileDownloadResponse, FileUploadResponse
from langgraph_filesystem.state.errors import PathRefused
from langgraph_filesystem.state.failures import attempted
from langgraph_filesystem.state.mounts import Mount
from langgraph_filesystem.state.paths import is_within, normalize_path
from langgraph_filesystem.state.second_paths import meant
from langgraph_filesystem.state.view import View

__all__ = ("download", "upload")


async def upload(
    view: View, files: Sequence[tuple[str, bytes]], once: str | None = None
) -> list[FileUploadResponse]:
    """Store bytes as files."""
    paths = [path for path, _ in files]
    errors, groups = await _sorted_out(view, paths)
    answers = [FileUploadResponse(path, error) for path, error in zip(paths, errors, strict=True)]
    for mount, places in groups.items():
        asked = [(inner, files[place][1]) for place, inner in places]
        work = view.call(mount, mount.prefix, "upload_files", asked, once=once)
        found, problem = await attempted(work, f"upload to {mount.prefix}")
        given: Any = found or [FileUploadResponse("", problem)] * len(places)
        for (place, _), one in zip(places, given, strict=True):
            update = getattr(one, "files_update", None)
            answers[place] = FileUploadResponse(paths[place], one.error, update)
    return answers


async def download(view: View, paths: Sequence[str]) -> list[FileDownloadResponse]:
    """Return the bytes of files."""
    errors, groups = await _sorted_out(view, paths)
    answers = [
        FileDownloadResponse(path, error=error) for path, error in zip(paths, errors, strict=True)
    ]
    for mount, places in groups.items():
        work = view.fetch(mount, mount.prefix, [mount.outer(inner) for _, inner in places])
        found, problem = await attempted(work, f"download from {mount.prefix}")
        given: Any = found or [(None, problem)] * len(places)
        for (place, _), (content, error) in zip(places, given, strict=True):
            answers[place] = FileDownloadResponse(paths[place], content, error)
    return answers


async def _sorted_out(
    view: View, paths: Sequence[str]
) -> tuple[list[str | None], dict[Mount, list[tuple[int, str]]]]:
    """Return what is wrong with each path, and for each mount the places and names of the rest."""
    errors: list[str | None] = []
    groups: dict[Mount, list[tuple[int, str]]] = defaultdict(list)
    for place, path in enumerate(paths):
        try:
            normal = await meant(view, normalize_path(path))
        except PathRefused:
            errors.append("invalid_path")
            continue
        is_point = any(is_within(mount.prefix, normal) for mount in view.mounts.all)
        errors.append("is_directory" if is_point else None)
        if not is_point:
            mount = view.mounts.locate(normal)
            groups[mount].append((place, mount.inner(normal)))
    return errors, groups
