"""`RemoteBackend`: buckets and remote filesystems, other writers, and failures."""

import asyncio
import functools
import subprocess
import sys
import threading
import tracemalloc
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import fsspec  # type: ignore[import-untyped]
import obstore
import pytest
from obstore.store import LocalStore, MemoryStore

from langgraph_filesystem.state.backends.objects.errors import client_errors, explain
from langgraph_filesystem.state.backends.objects.remote import RemoteBackend
from langgraph_filesystem.state.backends.protocol import Backend
from langgraph_filesystem.state.errors import (
    BackendFailed,
    FilesystemError,
    PathRefused,
    PermissionDenied,
)
from tests.state.backends.objects import buckets


@pytest.fixture
def prefix() -> str:
    """A prefix of the bucket that no other test has."""
    return f"tests/{uuid.uuid4()}"


@pytest.fixture
def s3(prefix: str) -> RemoteBackend:
    return RemoteBackend(buckets.s3_store(), prefix)


@pytest.fixture(params=["s3", "obstore memory", "obstore disk", "fsspec disk", "fsspec memory"])
def remote(request: pytest.FixtureRequest, tmp_path: Path, prefix: str) -> RemoteBackend:
    """Each kind of store, new and empty."""
    match request.param:
        case "s3":
            return RemoteBackend(buckets.s3_store(), prefix)
        case "obstore memory":
            return RemoteBackend(MemoryStore(), prefix)
        case "obstore disk":
            return RemoteBackend(LocalStore(tmp_path, automatic_cleanup=True), prefix)
        case "fsspec disk":
            return RemoteBackend(buckets.disk(), str(tmp_path))
    return RemoteBackend(buckets.memory(), prefix)


def names(result: Any) -> list[str]:
    assert result.error is None
    found = result.entries if hasattr(result, "entries") else result.matches
    return sorted(entry["path"] + "/" * entry.get("is_dir", False) for entry in found)


def text(result: Any) -> str:
    assert result.error is None
    return str(result.file_data["content"])


# How it is created


def test_it_is_a_backend() -> None:
    assert isinstance(RemoteBackend(MemoryStore()), Backend)


def test_a_url_is_opened_by_obstore_or_by_fsspec(tmp_path: Path) -> None:
    bucket = RemoteBackend("memory:///")
    assert bucket.write("/a", "x").error is None
    assert names(bucket.ls("/")) == ["/a"]
    fsspec.register_implementation("disk", type(buckets.disk()), clobber=True)
    files = RemoteBackend(f"disk://{tmp_path}/inner", prefix="deep")
    assert files.write("/a", "x").error is None
    assert (tmp_path / "inner/deep/a").read_text() == "x"


@pytest.mark.parametrize("store", [None, object(), 7, MemoryStore, Path("/files")])
def test_what_is_not_a_store_is_rejected(store: Any) -> None:
    with pytest.raises(ValueError, match="not a store of `obstore`"):
        RemoteBackend(store)


def test_invalid_arguments_are_rejected() -> None:
    for prefix in ("..", "a/../b", "~", 7):
        with pytest.raises(ValueError, match="prefix"):
            RemoteBackend(MemoryStore(), prefix)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="FilesystemBackend"):
        RemoteBackend("file:///tmp")
    for size in (0, -1):
        with pytest.raises(ValueError, match="max_file_size_mb"):
            RemoteBackend(MemoryStore(), max_file_size_mb=size)
    with pytest.raises(ValueError, match="must be a URL") as rejected:
        RemoteBackend("user:secret@host/bucket")
    assert "secret" not in str(rejected.value)


WITHOUT = """
import sys
from langgraph_filesystem.state.backends.objects.remote import RemoteBackend
assert not {"obstore", "fsspec"} & sys.modules.keys(), "imported before it is needed"
sys.modules["obstore"] = sys.modules["fsspec"] = None
for url in ("s3://bucket/prefix", "sftp://host/directory"):
    try:
        RemoteBackend(url)
    except ImportError as error:
        print(error)
"""


def test_a_missing_extra_is_named() -> None:
    command = [sys.executable, "-c", WITHOUT]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(said) == 2
    assert all("pip install 'langgraph-filesystem[remote]'" in line for line in said)


# Keys


def test_prefixes_that_start_alike_are_separate() -> None:
    store = MemoryStore()
    for prefix in ("a", "ab", "a/b", ""):
        RemoteBackend(store, prefix).write("/file", f"of {prefix}")
    assert names(RemoteBackend(store, "a").glob("**")) == ["/b/file", "/file"]
    assert text(RemoteBackend(store, "ab").read("/file")) == "of ab"
    assert RemoteBackend(store, "a").delete("/").error is None
    assert names(RemoteBackend(store).glob("**")) == ["/ab/file", "/file"]


ODD = ("with space", "ünï 😀", "a%b", "a%20b", "a#b", "a?b=c&d", "a+b", "*[x]{y}", "$(x)", "~x")


def test_odd_names_are_names(remote: RemoteBackend) -> None:
    for name in ODD:
        assert remote.write(f"/odd/{name}/{name}", name).error is None
    assert names(remote.ls("/odd")) == sorted(f"/odd/{name}/" for name in ODD)
    for name in ODD:
        assert text(remote.read(f"/odd/{name}/{name}")) == name
        assert remote.move(f"/odd/{name}", f"/new {name}").error is None
    assert remote.delete(f"/new {ODD[0]}").error is None
    assert len(names(remote.glob("**"))) == len(ODD) - 1


def test_the_journal_is_hidden_and_refused(remote: RemoteBackend) -> None:
    remote.write("/a", "needle", once="scope.group.1")
    assert names(remote.ls("/")) == names(remote.glob("**")) == ["/a"]
    hidden = "/.langgraph-filesystem"
    for path in (hidden, f"{hidden}/scope", f"{hidden}/scope/group.1"):
        assert "reserved" in str(remote.read(path).error)
        assert "reserved" in str(remote.write(path, "x").error)
        assert "reserved" in str(remote.delete(path).error)
        assert "reserved" in str(remote.ls(path).error)
        assert "reserved" in str(remote.move("/a", path).error)
        assert remote.upload_files([(path, b"x")])[0].error == "invalid_path"
    assert remote.write("/.langgraph-filesystem2", "").error is None
    assert remote.delete("/").error is None
    assert names(remote.glob("**")) == []
    outcome = remote.recall("scope.group.1")
    assert outcome is None  # the file is as before


# What others put into a bucket


def test_objects_that_stand_for_directories_are_not_files(s3: RemoteBackend, prefix: str) -> None:
    bucket = buckets.client()
    for key in ("dir/", "dir/sub/", "dir/file", "empty/", "dir/none"):
        body = b"needle" if key == "dir/file" else b""
        bucket.put_object(Bucket=buckets.BUCKET, Key=f"{prefix}/{key}", Body=body)

    assert names(s3.ls("/")) == ["/dir/", "/empty/"]
    assert names(s3.ls("/dir")) == ["/dir/file", "/dir/none", "/dir/sub/"]
    assert names(s3.ls("/dir/sub")) == []
    assert names(s3.glob("**")) == ["/dir/file", "/dir/none"]
    assert s3.grep("needle").counts == {"/dir/file": 1}
    assert "is a directory" in str(s3.write("/empty", "x").error)
    assert "is a directory" in str(s3.read("/empty").error)
    assert s3.digest("/dir/sub") is None
    assert "empty directory" in str(s3.delete("/empty").error)
    assert s3.delete("/dir").error is None
    assert names(s3.glob("**")) == []


def test_keys_that_are_not_paths_are_left_out_and_noted(s3: RemoteBackend, prefix: str) -> None:
    bucket = buckets.client()
    for key in ("a\\b", "good"):
        bucket.put_object(Bucket=buckets.BUCKET, Key=f"{prefix}/{key}", Body=b"x")
    listed = s3.ls("/")
    assert names(listed) == names(s3.glob("**")) == ["/good"]
    assert "Left out: 'a\\\\b' (the name" in str(listed.note)
    bucket.put_object(Bucket=buckets.BUCKET, Key=f"{prefix}/dir//x", Body=b"x")
    assert "not a path" in str(s3.ls("/dir").error)
    assert "not a path" in str(s3.glob("**").error)


def test_an_edit_and_a_move_keep_the_content_type(s3: RemoteBackend, prefix: str) -> None:
    bucket, place = buckets.client(), {"Bucket": buckets.BUCKET}
    bucket.put_object(**place, Key=f"{prefix}/a", Body=b"# x", ContentType="text/markdown")
    assert s3.edit("/a", "x", "y").error is None
    assert s3.move("/a", "/b").error is None
    found = bucket.get_object(**place, Key=f"{prefix}/b")
    assert (found["Body"].read(), found["ContentType"]) == (b"# y", "text/markdown")


def test_directories_of_a_disk_go_with_their_last_file(tmp_path: Path) -> None:
    files = RemoteBackend(buckets.disk(), str(tmp_path))
    files.upload_files([("/d/e/f", b""), ("/d/g", b"")])
    (tmp_path / "kept/inner").mkdir(parents=True)
    assert files.delete("/d/e/f").error is None
    assert names(files.ls("/")) == ["/d/", "/kept/"]
    assert names(files.ls("/d")) == ["/d/g"]
    assert files.delete("/d").error is None
    assert names(files.ls("/kept")) == ["/kept/inner/"]
    assert files.delete("/kept").error is None
    assert names(files.ls("/")) == []


# Writers at the same time

EDITOR = """
import sys
from tests.state.backends.objects import buckets
from langgraph_filesystem.state.backends.objects.remote import RemoteBackend
buckets.endpoint = lambda: sys.argv[1]
files = RemoteBackend(buckets.s3_store(), sys.argv[2])
for number in range(int(sys.argv[4])):
    place = f"{sys.argv[3]}-{number}"
    error = files.edit("/shared", f"<{place}>", f"[{place}]").error
    assert error is None, error
"""


def test_two_processes_that_edit_one_file_lose_nothing(s3: RemoteBackend, prefix: str) -> None:
    places = [f"{who}-{number}" for who in ("one", "two") for number in range(15)]
    s3.write("/shared", "".join(f"<{place}>\n" for place in places))
    command = [sys.executable, "-c", EDITOR, buckets.endpoint(), prefix]
    writers = [subprocess.Popen([*command, who, "15"]) for who in ("one", "two")]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert text(s3.read("/shared")) == "".join(f"[{place}]\n" for place in places)


async def test_of_several_backends_that_create_one_file_one_does(prefix: str) -> None:
    # Each has a client of its own, so they share no lock: only the bucket knows of all.
    backends = [RemoteBackend(buckets.s3_store(), prefix) for _ in range(6)]
    written = await asyncio.gather(
        *(backend.awrite("/new", str(number)) for number, backend in enumerate(backends))
    )
    [winner] = [number for number, result in enumerate(written) if result.error is None]
    assert text(backends[0].read("/new")) == str(winner)


@pytest.fixture(params=["no conditions", "disk", "fsspec"])
def plain(request: pytest.FixtureRequest, tmp_path: Path, prefix: str) -> RemoteBackend:
    """Stores that can't compare before they write."""
    if request.param == "no conditions":
        return RemoteBackend(buckets.s3_store(conditional_put="disabled"), prefix)
    if request.param == "disk":
        return RemoteBackend(LocalStore(tmp_path))
    return RemoteBackend(buckets.memory(), prefix)


async def test_where_nothing_is_compared_edits_of_one_process_land(plain: RemoteBackend) -> None:
    plain.write("/a", "x")
    assert plain.write("/a", "y").error is not None
    edits = [plain.aedit("/a", "x", "xy") for _ in range(12)]
    assert [result.error for result in await asyncio.gather(*edits)] == [None] * 12
    assert text(plain.read("/a")) == "x" + "y" * 12
    plain.write("/c", "in the way")
    assert "exists already" in str(plain.move("/a", "/c").error)
    assert plain.move("/a", "/b").error is None
    assert names(plain.glob("**")) == ["/b", "/c"]


def filesystem(**methods: Any) -> Any:
    """Return an `fsspec` filesystem in memory with some methods of its own."""
    return type("Memory", (type(buckets.memory()),), {"cachable": False, **methods})()


def test_where_nothing_is_compared_a_change_before_the_write_is_noticed(prefix: str) -> None:
    def cat_file(self: Any, path: str, *args: Any, **options: Any) -> Any:
        """Let another writer be faster, once."""
        found = super(type(self), self).cat_file(path, *args, **options)
        if b"two" in found:
            self.pipe_file(path, b"one 2")
        return found

    files = RemoteBackend(filesystem(cat_file=cat_file), prefix)
    files.write("/a", "one two")
    assert files.edit("/a", "one", "1").error is None
    assert text(files.read("/a")) == "1 2"


def test_a_move_of_a_file_that_changed_during_the_copy_is_undone(prefix: str) -> None:
    def cp_file(self: Any, start: str, end: str, **options: Any) -> None:
        super(type(self), self).cp_file(start, end, **options)
        self.pipe_file(start, b"changed during the copy")

    files = RemoteBackend(filesystem(cp_file=cp_file), prefix)
    files.write("/a", "mine")
    assert "another writer" in str(files.move("/a", "/b").error)
    assert names(files.glob("**")) == ["/a"]


def test_a_directory_that_can_not_be_moved_as_a_whole_stays(prefix: str) -> None:
    def cp_file(self: Any, start: str, end: str, **options: Any) -> None:
        if end.endswith("other/d"):
            raise OSError(28, "No space left on device", "/host/path")
        super(type(self), self).cp_file(start, end, **options)

    files = RemoteBackend(filesystem(cp_file=cp_file), prefix)
    files.upload_files([(f"/dir/{name}", name.encode()) for name in "abcdef"])
    error = str(files.move("/dir", "/other").error)
    assert "/other/d: the remote store failed" in error
    assert "/host/path" not in error
    assert names(files.glob("**")) == [f"/dir/{name}" for name in "abcdef"]


def test_a_move_that_was_copied_before_a_crash_is_finished(prefix: str) -> None:
    crashes = [1]

    def rm_file(self: Any, path: str) -> None:
        if crashes:
            raise RuntimeError("crash")
        super(type(self), self).rm_file(path)

    files = RemoteBackend(filesystem(rm_file=rm_file), prefix)
    files.write("/a", "x")
    with pytest.raises(RuntimeError, match="crash"):
        files.move("/a", "/b", once="scope.group.1")
    crashes.clear()
    assert names(files.ls("/")) == ["/a", "/b"]
    assert files.recall("scope.group.1") is None
    assert files.move("/a", "/b", once="scope.group.1").error is None
    assert names(files.ls("/")) == ["/b"]


# Large files


@functools.cache
def _lines() -> bytes:
    return b"".join(b"line %07d\n" % number for number in range(1_000_000))


@pytest.fixture(params=["obstore", "fsspec"])
def large(request: pytest.FixtureRequest, tmp_path: Path) -> RemoteBackend:
    """A file of 13 MB: on a disk, because the memory of the S3 server is that of this process."""
    (tmp_path / "large").write_bytes(_lines())
    if request.param == "obstore":
        return RemoteBackend(LocalStore(tmp_path))
    return RemoteBackend(buckets.disk(), str(tmp_path))


def test_pages_of_a_large_object_are_fetched_by_their_range(s3: RemoteBackend) -> None:
    lines = [f"zeile {number:06} ü\n" for number in range(150_000)]
    s3.upload_files([("/large", "".join(lines).encode())])
    for offset in (0, 99_990, 100_000, 149_999):
        assert text(s3.read("/large", offset, 10)) == "".join(lines[offset : offset + 10])
    page = s3.read("/large", 60_000, 1, column=6, max_characters=4)
    assert (text(page), page.next_offset, page.next_column) == ("0600", 60_000, 10)


def test_a_page_of_a_large_file_needs_memory_for_the_page(large: RemoteBackend) -> None:
    large.read("/large", 0, 1)
    tracemalloc.start()
    try:
        page = large.read("/large", 600_000, 3)
        assert text(page) == "line 0600000\nline 0600001\nline 0600002\n"
        assert (page.start_line, page.end_line, page.next_offset) == (600_001, 600_003, 600_003)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 6_000_000  # of 13,000,000


def test_the_last_page_of_a_large_file_knows_how_many_lines_there_are(
    large: RemoteBackend,
) -> None:
    page = large.read("/large", 999_999, 10)
    assert (text(page), page.total_lines, page.next_offset) == ("line 0999999\n", 1_000_000, None)
    page = large.read("/large", 3_000_000, 10)
    assert (text(page), page.total_lines, page.next_offset) == ("", 1_000_000, None)


def test_a_large_file_is_moved_but_not_edited_or_searched(large: RemoteBackend) -> None:
    assert "13,000,000 bytes" in str(large.edit("/large", "line 0000001", "x").error)
    large.write("/small", "line 0000001")
    found = large.grep("line 0000001")
    assert found.counts == {"/small": 1}
    assert "/large" in str(found.note)
    assert large.move("/large", "/moved").error is None
    assert text(large.read("/moved", 5, 1)) == "line 0000005\n"


# Failures


def failures(files: RemoteBackend) -> Iterator[str]:
    yield str(files.read("/dir/a").error)
    yield str(files.write("/dir/a", "x").error)
    yield str(files.edit("/dir/a", "x", "y").error)
    yield str(files.delete("/dir/a").error)
    yield str(files.move("/dir/a", "/b").error)
    yield str(files.ls("/dir").error)
    yield str(files.glob("**", "/dir").error)
    yield str(files.grep("x", "/dir").error)
    yield str(files.download_files(["/dir/a"])[0].error)


SECRETS = ("an-access-key", "a-secret-key", "127.0.0.1", "http", "Debug source", "RequestId")


def test_a_bucket_that_does_not_exist_is_named_as_the_reason() -> None:
    for error in failures(RemoteBackend(buckets.s3_store(bucket="nowhere"), "x")):
        assert "the bucket does not exist" in error or error.startswith("/dir/a: no such file")
        assert not any(secret in error for secret in SECRETS)


def test_a_store_that_can_not_be_reached_is_named_as_the_reason() -> None:
    store = buckets.s3_store(endpoint="http://127.0.0.1:9", retry_config={"max_retries": 0})
    for error in failures(RemoteBackend(store)):
        assert "can't be reached" in error
        assert "/dir" in error
        assert not any(secret in error for secret in SECRETS)


def test_a_name_that_the_store_does_not_allow_is_an_error(s3: RemoteBackend) -> None:
    assert "does not allow such a name" in str(s3.write("/new\nline", "x").error)
    refused, written = s3.upload_files([("/tab\t", b"x"), ("/good", b"x")])
    assert (refused.error, written.error) == ("invalid_path", None)


def test_a_file_on_a_disk_where_a_directory_would_have_to_be(tmp_path: Path) -> None:
    files = RemoteBackend(LocalStore(tmp_path))
    files.write("/a", "1")
    for error in (files.read("/a/b").error, files.write("/a/b", "x").error):
        assert "/a" in str(error)
        assert str(tmp_path) not in str(error)


def test_what_a_filesystem_refuses_is_told_without_its_path(prefix: str) -> None:
    def cat_file(self: Any, *_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied", "/host/path")

    files = RemoteBackend(filesystem(cat_file=cat_file), prefix)
    files.write("/a", "1")
    error = str(files.read("/a").error)
    assert error.startswith("/a: permission denied by the remote store")
    assert "/host/path" not in error
    assert files.download_files(["/a"])[0].error == "permission_denied"


class ConnectTimeoutError(Exception):
    """As `botocore` calls it."""


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (ValueError("embedded null byte"), PathRefused, "does not allow such a name"),
        (OSError(36, "File name too long"), PathRefused, "longer than the remote store allows"),
        (OSError("<Code>KeyTooLongError</Code>"), PathRefused, "longer"),
        (
            obstore.exceptions.PermissionDeniedError("403 Forbidden: <Code>AccessDenied</Code>"),
            PermissionDenied,
            "(AccessDenied)",
        ),
        (
            OSError("An error occurred (AccessDenied) when calling the PutObject operation"),
            PermissionDenied,
            "(AccessDenied)",
        ),
        (OSError("<Code>NoSuchBucket</Code>"), BackendFailed, "the bucket does not exist"),
        (ConnectTimeoutError("x"), BackendFailed, "did not answer"),
        (OSError("error sending request for url"), BackendFailed, "can't be reached"),
        (OSError("status 503 Service Unavailable"), BackendFailed, "failed (503)"),
        (OSError("what is that"), BackendFailed, "failed (OSError)"),
    ],
    ids=str,
)
def test_an_error_of_a_client_is_told_in_our_words(
    error: Exception, kind: type[FilesystemError], words: str
) -> None:
    told = explain("/notes/a.txt", error)
    assert isinstance(told, kind)
    assert "/notes/a.txt" in str(told)
    assert words in str(told)


SECRET = "https://key:s3cr3t@10.0.0.7/bucket/srv/host/dir"


@pytest.mark.parametrize("kind", [OSError, ValueError, PermissionError, TimeoutError, KeyError])
@pytest.mark.parametrize("text", ["{}", "<Code>{}</Code>", "({}) when calling", "timed out: {}"])
def test_the_message_of_a_client_is_not_shown(kind: type[Exception], text: str) -> None:
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
    assert not isinstance(KeyError("a bug"), client_errors())


# Filesystems of `fsspec` in async calls


@pytest.mark.parametrize("asynchronous", [True, False])
async def test_an_async_filesystem_is_awaited(prefix: str, asynchronous: bool) -> None:
    def blocked(*args: Any, **options: Any) -> None:
        raise AssertionError("called, not awaited")

    filesystem = buckets.awaited_memory(asynchronous)
    for method in ("info", "cat_file", "pipe_file", "find", "ls", "rm_file"):
        setattr(filesystem, method, blocked)
    files = RemoteBackend(filesystem, prefix)
    assert (await files.awrite("/dir/a", "one\ntwo\n")).error is None
    assert (await files.aedit("/dir/a", "two", "2")).error is None
    assert text(await files.aread("/dir/a")) == "one\n2\n"
    assert names(await files.als("/")) == ["/dir/"]
    assert (await files.agrep("2")).counts == {"/dir/a": 1}
    assert (await files.amove("/dir/a", "/b")).error is None
    assert (await files.adelete("/b")).error is None
    assert names(await files.aglob("**")) == []


async def test_a_filesystem_that_blocks_is_called_in_another_thread(prefix: str) -> None:
    threads: set[int] = set()

    def info(self: Any, *args: Any, **options: Any) -> Any:
        threads.add(threading.get_ident())
        return super(type(self), self).info(*args, **options)

    files = RemoteBackend(filesystem(info=info), prefix)
    assert (await files.awrite("/a", "x")).error is None
    assert text(await files.aread("/a")) == "x"
    assert threads
    assert threading.get_ident() not in threads


def test_what_a_filesystem_remembers_is_forgotten_before_each_call(prefix: str) -> None:
    remembered: dict[str, Any] = {}

    def info(self: Any, path: str, **options: Any) -> Any:
        if path not in remembered:
            remembered[path] = super(type(self), self).info(path, **options)
        return remembered[path]

    def forget(self: Any, path: str | None = None) -> None:
        remembered.clear()

    files = RemoteBackend(filesystem(info=info, invalidate_cache=forget), prefix)
    files.write("/a", "one")
    assert text(files.read("/a")) == "one"
    buckets.memory().pipe_file(f"/{prefix}/a", b"longer")
    assert text(files.read("/a")) == "longer"
