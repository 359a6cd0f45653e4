"""What was seen of the sizes of files: it counts for a while, and for what lies below."""

import threading
import time

from langgraph_filesystem.state.backends.sizes import Sizes


def test_a_directory_is_known_with_what_lies_below_it() -> None:
    sizes = Sizes()
    sizes.note("/a/", 1.5)
    assert sizes.seconds("/a/") == sizes.seconds("/a/b/c/") == 1.5
    for other in ("/", "/b/", "/ab/"):
        assert sizes.seconds(other) is None


def test_what_is_nearest_and_newest_counts() -> None:
    sizes = Sizes()
    sizes.note("/a/", 1.0)
    sizes.note("/", 9.0)
    assert (sizes.seconds("/a/b/"), sizes.seconds("/b/")) == (1.0, 9.0)
    sizes.note("/a/", 2.0)
    assert sizes.seconds("/a/") == 2.0


def test_it_counts_for_a_while_however_often_it_is_asked_for() -> None:
    sizes = Sizes(lasting=0.2)
    sizes.note("/a/", 1.0)
    start = time.monotonic()
    while sizes.seconds("/a/") is not None:
        time.sleep(0.01)
        assert time.monotonic() - start < 10
    assert time.monotonic() - start >= 0.19


def test_a_path_is_forgotten_with_all_above_it_and_nothing_else() -> None:
    sizes = Sizes()
    for directory in ("/", "/a/", "/a/b/", "/c/"):
        sizes.note(directory, 1.0)
    sizes.forget("/a/file")
    assert [sizes.seconds(path) for path in ("/", "/a/", "/a/b/", "/c/")] == [None, None, 1.0, 1.0]


def test_only_so_many_are_remembered() -> None:
    sizes = Sizes()
    for number in range(1_000):
        sizes.note(f"/{number}/", 1.0)
        sizes.note("/kept/", 1.0)
    known = [number for number in range(1_000) if sizes.seconds(f"/{number}/")]
    assert known == list(range(1_000 - len(known), 1_000))
    assert 10 < len(known) < 100
    assert sizes.seconds("/kept/")


def test_threads_may_share_it() -> None:
    sizes, failures = Sizes(), []

    def work(name: str) -> None:
        try:
            for number in range(2_000):
                sizes.note(f"/{name}/{number}/", 1.0)
                sizes.seconds(f"/{name}/{number}/x/")
                sizes.forget(f"/{name}/{number}/x")
        except RuntimeError as error:  # a dict that changed meanwhile
            failures.append(error)

    threads = [threading.Thread(target=work, args=(str(number),)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
