"""Opening beneath a directory: the kernel's way and the walk answer alike, and never lead out."""

import contextlib
import errno
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_filesystem.state.backends.beneath import O_PATH, Opener, choose, openat2, walk
from tests.state.backends.disk.places import Place, nested, open_handles

OPENERS = pytest.mark.parametrize("opener", [openat2, walk], ids=["openat2", "walk"])


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    (place.root / "dir/sub").mkdir(parents=True)
    (place.root / "dir/file").write_text("inside")
    links = {
        "to-file": "dir/file",
        "to-dir": "dir",
        "dir/up": "../dir/file",
        "dir/sub/far": "../../dir/./sub/../file",
        "chain": "to-dir/up",
        "slash": "dir/",
        "here": ".",
        "out": "../the-outside/secret.txt",
        "out-dir": "../the-outside",
        "dir/out": "../../the-outside",
        "top": "..",
        "absolute": str(place.outside),
        "absolute-inside": str(place.root / "dir"),
        "dangling": "nothing",
        "loop": "loop",
        "ping": "pong",
        "pong": "ping",
        "through-file": "dir/file/x",
    }
    for name, target in links.items():
        (place.root / name).symlink_to(target)
    return place


def opened(opener: Opener, place: Place, path: str, flags: int = os.O_RDONLY) -> str:
    """Return what is in a file, or the name of the error."""
    root = os.open(place.root, O_PATH | os.O_DIRECTORY)
    try:
        handle = opener(root, path, flags | os.O_CLOEXEC, 0o666)
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    finally:
        os.close(root)
    try:
        return "a directory" if os.path.isdir(handle) else os.pread(handle, 100, 0).decode()
    finally:
        os.close(handle)


@OPENERS
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".", "a directory"),
        ("dir", "a directory"),
        ("dir/file", "inside"),
        ("to-file", "inside"),
        ("to-dir/file", "inside"),
        ("dir/up", "inside"),
        ("to-dir/up", "inside"),
        ("dir/sub/far", "inside"),
        ("chain", "inside"),
        ("slash/file", "inside"),
        ("slash", "a directory"),
        ("here/here/dir/file", "inside"),
        ("dir/../dir/file", "inside"),
        ("out", "EXDEV"),
        ("out-dir/secret.txt", "EXDEV"),
        ("dir/out/secret.txt", "EXDEV"),
        ("to-dir/out", "EXDEV"),
        ("top", "EXDEV"),
        ("top/the-root/dir/file", "EXDEV"),
        ("..", "EXDEV"),
        ("dir/../../the-outside/secret.txt", "EXDEV"),
        ("absolute/secret.txt", "EXDEV"),
        ("absolute-inside/file", "EXDEV"),
        ("dangling", "ENOENT"),
        ("dangling/x", "ENOENT"),
        ("nothing", "ENOENT"),
        ("loop", "ELOOP"),
        ("loop/x", "ELOOP"),
        ("ping", "ELOOP"),
        ("dir/file/x", "ENOTDIR"),
        ("through-file", "ENOTDIR"),
    ],
)
def test_a_path_is_resolved_beneath_the_directory(
    opener: Opener, place: Place, path: str, expected: str
) -> None:
    before = open_handles()
    assert opened(opener, place, path) == expected
    assert open_handles() <= before


@OPENERS
def test_a_link_is_not_followed_at_the_end_when_asked(opener: Opener, place: Place) -> None:
    assert opened(opener, place, "to-file", os.O_NOFOLLOW) == "ELOOP"
    assert opened(opener, place, "to-dir/file", os.O_NOFOLLOW) == "inside"


@OPENERS
def test_a_file_can_be_created_beneath_only(opener: Opener, place: Place) -> None:
    assert opened(opener, place, "dir/new", os.O_RDWR | os.O_CREAT) == ""
    assert (place.root / "dir/new").exists()
    assert opened(opener, place, "out-dir/new", os.O_RDWR | os.O_CREAT) == "EXDEV"
    assert place.is_untouched_outside()


@OPENERS
def test_more_links_than_linux_follows_are_a_loop(opener: Opener, place: Place) -> None:
    (place.root / "link0").symlink_to("dir/file")
    for number in range(1, 41):
        (place.root / f"link{number}").symlink_to(f"link{number - 1}")
    assert opened(opener, place, "link39") == "inside"
    assert opened(opener, place, "link40") == "ELOOP"


@OPENERS
def test_depth_costs_no_handles(opener: Opener, place: Place) -> None:
    with nested(place.root, 2_000):
        assert opened(opener, place, "/".join(["d"] * 2_000)) == "a directory"


def test_without_openat2_the_walk_is_taken(place: Place) -> None:
    root = os.open(place.root, O_PATH | os.O_DIRECTORY)
    assert choose(None, root) is openat2
    assert choose("openat2", root) is openat2
    assert choose("walk", root) is walk
    os.close(root)
    assert choose(None, -1) is walk
    with pytest.raises(ValueError, match="no openat2"):
        choose("openat2", -1)


names = st.sampled_from(["a", "b", "c", "..", "."])
paths = st.lists(names, min_size=1, max_size=5).map("/".join)


@settings(max_examples=150)
@given(st.lists(st.tuples(paths, paths | st.just("/")), max_size=6), st.lists(paths, max_size=6))
def test_both_ways_agree_on_any_tree(links: list[tuple[str, str]], asked: list[str]) -> None:
    directory = Path(tempfile.mkdtemp())
    try:
        place = Place(directory)
        for path in ("a/b/c", "b/a"):
            (place.root / path).mkdir(parents=True)
        (place.root / "a/b/b").write_text("inside")
        for link, target in links:
            name = place.root / link.replace("..", "c").replace(".", "b")
            # It may go through links that were made before, to the outside or in a circle.
            with contextlib.suppress(OSError, RuntimeError):
                if directory in name.parent.resolve().parents:
                    name.symlink_to(target)
        for path in asked:
            assert opened(openat2, place, path) == opened(walk, place, path), path
            assert "secret" not in opened(walk, place, path)
    finally:
        shutil.rmtree(directory)
