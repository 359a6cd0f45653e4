"""`RemoteBackend`: buckets and remote filesystems, who writes at the same time, and who fails."""

import asyncio
import functools
import subprocess
import sys
import tracemalloc
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import obstore
import pytest
from obstore.store import LocalStore, MemoryStore

from langgraph_filesystem.state.backends.protocol import Backend
from langgraph_filesystem.state.backends.remote import RemoteBackend
from tests.scripted import answers, arun, call, run
from tests.state.backends import buckets


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


def test_it_is_a_backend() -> None:
    assert isinstance(RemoteBackend(MemoryStore()), Backend)


# How it is made


def test_a_url_is_opened() -> None:
    bucket = RemoteBackend("memory:///")
    assert bucket.write("/a", "x").error is None
    assert names(bucket.ls("/")) == ["/a"]


def test_a_url_of_a_filesystem_is_opened_by_fsspec(tmp_path: Path) -> None:
    files = RemoteBackend(f"file://{tmp_path}/inner", prefix="deep")
    assert files.write("/a", "x").error is None
    assert (tmp_path / "inner/deep/a").read_text() == "x"


@pytest.mark.parametrize("store", [None, object(), 7, MemoryStore, Path("/tmp")])
def test_what_is_no_store_is_refused(store: Any) -> None:
    with pytest.raises(ValueError, match="no store of `obstore`"):
        RemoteBackend(store)


@pytest.mark.parametrize("prefix", ["..", "a/../b", "~", 7])
def test_a_prefix_that_is_no_path_is_refused(prefix: Any) -> None:
    with pytest.raises(ValueError, match="prefix"):
        RemoteBackend(MemoryStore(), prefix)


def test_text_that_is_no_url_is_refused_without_showing_it() -> None:
    with pytest.raises(ValueError, match="must be a URL") as refused:
        RemoteBackend("user:secret@host/bucket")
    assert "secret" not in str(refused.value)


def test_a_local_filesystem_needs_a_directory() -> None:
    with pytest.raises(ValueError, match="prefix"):
        RemoteBackend(buckets.disk())


@pytest.mark.parametrize("size", [0, -1])
def test_a_size_that_is_none_is_refused(size: float) -> None:
    with pytest.raises(ValueError, match="max_file_size_mb"):
        RemoteBackend(MemoryStore(), max_file_size_mb=size)


WITHOUT = """
import sys
from langgraph_filesystem.state.backends.remote import RemoteBackend
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


def test_nothing_outside_of_the_prefix_is_reached(remote: RemoteBackend) -> None:
    for path in ("/../x", "/a/../../x", "..", "\\..\\x", "/./../x"):
        assert "refused" in str(remote.write(path, "x").error)
        assert "refused" in str(remote.read(path).error)
        assert remote.upload_files([(path, b"x")])[0].error == "invalid_path"
        assert remote.download_files([path])[0].error == "invalid_path"
    assert names(remote.glob("**")) == []


def test_prefixes_that_begin_alike_are_separate() -> None:
    store = MemoryStore()
    for prefix in ("a", "ab", "a/b", ""):
        RemoteBackend(store, prefix).write("/file", f"of {prefix}")
    assert names(RemoteBackend(store, "a").glob("**")) == ["/b/file", "/file"]
    assert text(RemoteBackend(store, "ab").read("/file")) == "of ab"
    assert RemoteBackend(store, "a").delete("/").error is None
    assert names(RemoteBackend(store).glob("**")) == ["/ab/file", "/file"]


ODD = (
    "with space",
    "ünï 😀",
    "a%b",
    "a%20b",
    "a#b",
    "a?b=c&d",
    "a+b",
    "*[x]{y}",
    "$(x)",
    "'q\"'",
    "~x",
)


def test_odd_names_are_names(remote: RemoteBackend) -> None:
    for name in ODD:
        assert remote.write(f"/odd/{name}/{name}", name).error is None
    assert names(remote.ls("/odd")) == sorted(f"/odd/{name}/" for name in ODD)
    assert names(remote.glob("**")) == sorted(f"/odd/{name}/{name}" for name in ODD)
    for name in ODD:
        assert text(remote.read(f"/odd/{name}/{name}")) == name
        assert remote.move(f"/odd/{name}", f"/new {name}").error is None
    assert remote.delete(f"/new {ODD[0]}").error is None
    assert len(names(remote.glob("**"))) == len(ODD) - 1


def test_a_name_that_the_store_does_not_take_is_an_error(s3: RemoteBackend) -> None:
    assert "does not allow such a name" in str(s3.write("/new\nline", "x").error)
    assert s3.upload_files([("/tab\t", b"x")])[0].error == "invalid_path"


def test_the_journal_is_hidden_and_refused(remote: RemoteBackend) -> None:
    remote.write("/a", "needle", once="scope.group.1")
    assert names(remote.ls("/")) == ["/a"]
    assert names(remote.glob("**")) == ["/a"]
    hidden = "/.langgraph-filesystem"
    for path in (hidden, f"{hidden}/scope", f"{hidden}/scope/group.1"):
        assert "reserved" in str(remote.read(path).error)
        assert "reserved" in str(remote.write(path, "x").error)
        assert "reserved" in str(remote.delete(path).error)
        assert "reserved" in str(remote.ls(path).error)
        assert "reserved" in str(remote.move("/a", path).error)
    assert remote.delete("/").error is None
    assert names(remote.glob("**")) == []


# What others put into a bucket


def test_objects_that_stand_for_directories_are_no_files(s3: RemoteBackend, prefix: str) -> None:
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
    assert s3.digest("/dir/sub") is None
    assert "empty directory" in str(s3.delete("/empty").error)
    assert s3.delete("/dir").error is None
    assert names(s3.glob("**")) == []


def test_keys_that_are_no_paths_are_left_out_and_noted(s3: RemoteBackend, prefix: str) -> None:
    bucket = buckets.client()
    for key in ("a\\b", "good"):
        bucket.put_object(Bucket=buckets.BUCKET, Key=f"{prefix}/{key}", Body=b"x")
    listed = s3.ls("/")
    assert names(listed) == ["/good"]
    assert "Left out" in str(listed.note)
    assert names(s3.glob("**")) == ["/good"]


def test_a_key_that_obstore_can_not_list_is_an_error_that_says_so(
    s3: RemoteBackend, prefix: str
) -> None:
    buckets.client().put_object(Bucket=buckets.BUCKET, Key=f"{prefix}/dir//x", Body=b"x")
    assert "that is no path" in str(s3.ls("/dir").error)
    assert "that is no path" in str(s3.glob("**").error)


def test_an_edit_and_a_move_keep_the_content_type(s3: RemoteBackend, prefix: str) -> None:
    bucket, place = buckets.client(), {"Bucket": buckets.BUCKET}
    bucket.put_object(**place, Key=f"{prefix}/a", Body=b"# x", ContentType="text/markdown")
    assert s3.edit("/a", "x", "y").error is None
    assert s3.move("/a", "/b").error is None
    found = bucket.get_object(**place, Key=f"{prefix}/b")
    assert (found["Body"].read(), found["ContentType"]) == (b"# y", "text/markdown")


def test_links_of_a_disk_are_not_followed(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    root.mkdir()
    (outside / "secret").write_text("secret")
    (root / "link").symlink_to(outside)
    (root / "file").symlink_to(outside / "secret")
    for files in (
        RemoteBackend(buckets.disk(), str(root)),
        RemoteBackend(buckets.directory(root)),
    ):
        for path in ("/file", "/link/secret"):
            assert "symbolic link" in str(files.read(path).error)
            assert "symbolic link" in str(files.edit(path, "secret", "x").error)
            assert "symbolic link" in str(files.write(path, "x", overwrite=True).error)
            assert "symbolic link" in str(files.delete(path).error)
        assert "symbolic link" in str(files.write("/link/new", "x").error)
        assert "symbolic link" in str(files.ls("/link").error)
        assert names(files.glob("**")) == []
    assert [path.name for path in outside.iterdir()] == ["secret"]
    assert (outside / "secret").read_text() == "secret"


# Writers at the same time

EDITOR = """
import sys
from tests.state.backends import buckets
from langgraph_filesystem.state.backends.remote import RemoteBackend
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
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert text(s3.read("/shared")) == "".join(f"[{place}]\n" for place in places)


async def test_two_backends_that_edit_one_file_lose_nothing(prefix: str) -> None:
    # Each has a store of its own, so they share no lock: only the bucket knows of both.
    one, two = (RemoteBackend(buckets.s3_store(), prefix) for _ in range(2))
    one.write("/shared", "x")
    edits = [backend.aedit("/shared", "x", "xy") for backend in (one, two) * 8]
    assert [result.error for result in await asyncio.gather(*edits)] == [None] * 16
    assert text(one.read("/shared")) == "x" + "y" * 16


async def test_of_two_backends_that_create_one_file_one_does(prefix: str) -> None:
    backends = [RemoteBackend(buckets.s3_store(), prefix) for _ in range(6)]
    written = await asyncio.gather(
        *(backend.awrite("/new", str(number)) for number, backend in enumerate(backends))
    )
    [winner] = [number for number, result in enumerate(written) if result.error is None]
    assert text(backends[0].read("/new")) == str(winner)


def test_a_move_does_not_cover_a_file_that_came_meanwhile(prefix: str) -> None:
    class Slow(MemoryStore):
        """Lets another writer be faster between the look and the copy."""

    store = Slow()
    files = RemoteBackend(store, prefix)
    files.write("/a", "mine")
    looked = files._client.do

    def do(function: str, *args: Any, **options: Any) -> Any:
        if function == "copy":
            obstore.put(store, f"{prefix}/b", b"theirs")
        return looked(function, *args, **options)

    files._client.do = do  # type: ignore[method-assign]
    assert "somebody else" in str(files.move("/a", "/b").error)
    assert text(files.read("/a")) == "mine"
    assert text(files.read("/b")) == "theirs"


def test_a_move_that_was_copied_before_a_crash_is_finished(remote: RemoteBackend) -> None:
    remote.write("/a", "x")
    done = remote._client.do

    def crash(function: str, *args: Any, **options: Any) -> Any:
        if function in ("delete", "rm_file"):
            raise RuntimeError("crash")
        return done(function, *args, **options)

    remote._client.do = crash  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="crash"):
        remote.move("/a", "/b", once="scope.group.1")
    remote._client.do = done  # type: ignore[method-assign]
    assert names(remote.ls("/")) == ["/a", "/b"]

    assert remote.recall("scope.group.1") is None
    assert remote.move("/a", "/b", once="scope.group.2").error is not None
    assert remote.move("/a", "/b", once="scope.group.1").error is None
    assert names(remote.ls("/")) == ["/b"]
    outcome = remote.recall("scope.group.1")
    assert outcome is not None
    assert outcome.finished


def test_a_directory_that_can_not_be_moved_wholly_stays(remote: RemoteBackend) -> None:
    for name in "abcdef":
        remote.write(f"/dir/{name}", name)
    done = remote._client.do

    def full(function: str, *args: Any, **options: Any) -> Any:
        if function in ("copy", "cp_file", "put") and "other/d" in str(args):
            raise OSError(28, "No space left on device", "/host/path")
        return done(function, *args, **options)

    remote._client.do = full  # type: ignore[method-assign]
    error = str(remote.move("/dir", "/other").error)
    assert "the remote store failed" in error
    assert "/host/path" not in error
    remote._client.do = done  # type: ignore[method-assign]
    assert names(remote.glob("**")) == [f"/dir/{name}" for name in "abcdef"]


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
    assert plain.move("/a", "/b").error is None
    assert names(plain.glob("**")) == ["/b"]


def test_where_nothing_is_compared_a_change_before_the_write_is_noticed(
    plain: RemoteBackend,
) -> None:
    plain.write("/a", "one two")
    decided = plain._operations

    def operations(io: Any) -> Any:
        made: Any = decided(io)
        objects, update = made._objects, made._objects.update

        async def late(path: str, content: bytes, old: Any) -> None:
            if b"2" not in old.content:
                await objects.replace({path: b"one 2"})
            await update(path, content, old)

        objects.update = late
        return made

    plain._operations = operations  # type: ignore[method-assign]
    assert plain.edit("/a", "one", "1").error is None
    assert text(plain.read("/a")) == "1 2"


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


def test_a_page_of_a_large_object_is_fetched_by_its_range(s3: RemoteBackend) -> None:
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
        assert page.total_lines is None
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 6_000_000  # of 13,000,000


def test_the_next_page_does_not_begin_at_the_beginning(large: RemoteBackend) -> None:
    fetched: list[int] = []
    fetch = large._client.do if hasattr(large._client, "is_local") else large._client.fetch

    def counting(*args: Any, **options: Any) -> Any:
        fetched.append(1)
        return fetch(*args, **options)

    large.read("/large", 700_000, 10)
    name = "do" if hasattr(large._client, "is_local") else "fetch"
    setattr(large._client, name, counting)
    page = large.read("/large", 700_010, 10)
    assert text(page).startswith("line 0700010\n")
    assert len(fetched) < 6  # of 9 chunks before it


def test_the_last_page_of_a_large_file_knows_how_many_lines_there_are(
    large: RemoteBackend,
) -> None:
    page = large.read("/large", 999_999, 10)
    assert (text(page), page.total_lines, page.next_offset) == ("line 0999999\n", 1_000_000, None)
    page = large.read("/large", 3_000_000, 10)
    assert (text(page), page.total_lines, page.next_offset) == ("", 1_000_000, None)


def test_a_file_that_changes_between_pages_is_read_from_the_beginning(large: RemoteBackend) -> None:
    large.read("/large", 600_000, 10)
    large.upload_files([("/large", b"short\n" * 300_000)])
    assert text(large.read("/large", 200_000, 1)) == "short\n"
    assert text(large.read("/large", 600_010, 1)) == ""


def test_what_is_too_large_is_said_to_be_so(large: RemoteBackend) -> None:
    assert "more than the" in str(large.edit("/large", "line 0000001", "x").error)
    large.write("/small", "line 0000001")
    found = large.grep("line 0000001")
    assert found.counts == {"/small": 1}
    assert "/large" in str(found.note)
    assert large.digest("/large") == large.digest("/large")
    assert large.move("/large", "/moved").error is None
    assert text(large.read("/moved", 5, 1)) == "line 0000005\n"


def test_a_large_file_that_is_no_text_is_refused_with_its_size(tmp_path: Path) -> None:
    (tmp_path / "raw").write_bytes(b"\0" * 3_000_000)
    (tmp_path / "latin").write_bytes(b"caf\xe9\n" * 600_000)
    files = RemoteBackend(buckets.disk(), str(tmp_path), max_file_size_mb=2)
    assert "3,000,000 bytes" in str(files.read("/raw").error)
    assert "not UTF-8 (3,000,000 bytes)" in str(files.read("/latin").error)
    roomy = RemoteBackend(buckets.disk(), str(tmp_path))
    for name in ("/raw", "/latin"):
        assert roomy.read(name).file_data["encoding"] == "base64"  # type: ignore[index]


def test_an_empty_file_is_read(remote: RemoteBackend) -> None:
    remote.write("/empty", "")
    page = remote.read("/empty")
    assert (text(page), page.total_lines, page.next_offset) == ("", 0, None)
    assert remote.download_files(["/empty"])[0].content == b""


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
    yield str(files.upload_files([("/dir/a", b"x")])[0].error)
    yield str(files.download_files(["/dir/a"])[0].error)


SECRETS = ("an-access-key", "a-secret-key", "127.0.0.1", "http", "Debug source", "RequestId")


def test_a_bucket_that_is_not_there_is_said_so() -> None:
    for error in failures(RemoteBackend(buckets.s3_store(bucket="nowhere"), "x")):
        assert "the bucket does not exist" in error or error.startswith("/dir/a: no such file")
        assert not any(secret in error for secret in SECRETS)


def test_a_store_that_can_not_be_reached_is_said_so() -> None:
    store = buckets.s3_store(endpoint="http://127.0.0.1:9", retry_config={"max_retries": 0})
    for error in failures(RemoteBackend(store)):
        assert "can't be reached" in error
        assert "/dir" in error
        assert not any(secret in error for secret in SECRETS)


def test_what_is_not_allowed_is_said_so(tmp_path: Path) -> None:
    from langgraph_filesystem.state.backends.remote_errors import explain
    from langgraph_filesystem.state.backends.reports import error_code

    denied = obstore.exceptions.PermissionDeniedError(
        "Error performing PUT http://127.0.0.1/x: 403 Forbidden: <Error><Code>AccessDenied</Code>"
    )
    error = explain("/a", denied)
    assert str(error).startswith("/a: permission denied by the remote store (AccessDenied).")
    assert error_code(error) == "permission_denied"
    for failure in (PermissionError(13, "denied", str(tmp_path)), TimeoutError("timed out")):
        assert str(tmp_path) not in str(explain("/a", failure))
    assert "did not answer" in str(explain("/a", TimeoutError("timed out")))


# Filesystems of `fsspec` that are awaited


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


# Through a graph


def _turns() -> list[dict[str, Any]]:
    return [
        call("write_file", file_path="/bucket/a.md", content="one\ntwo\n"),
        call("edit_file", file_path="/bucket/a.md", old_string="two", new_string="2"),
        call("move", source="/bucket/a.md", destination="/bucket/notes/b.md"),
        call("read_file", file_path="/bucket/notes/b.md"),
        call("grep", pattern="2", path="/", output_mode="content"),
        call("move", source="/bucket/notes/b.md", destination="/here.md"),
        call("read_file", file_path="/here.md"),
        call("ls", path="/bucket"),
    ]


async def test_an_agent_works_in_a_bucket(s3: RemoteBackend) -> None:
    mounts: dict[str, Any] = {"/bucket/": s3}
    for state in (run(*_turns(), mounts=mounts), await arun(*_turns(), mounts=mounts)):
        said = answers(state)
        assert [message.status for message in said] == ["success"] * len(_turns())
        assert "/bucket/notes/b.md" in str(said[4].content)
        assert "one" in str(said[6].content)
        assert list(state["files"]) == ["/here.md"]
