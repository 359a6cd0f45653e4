"""What there is on the disk to work on: a tree of many small files, and one large file."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.corpus import FILES_PER_TICKET, real_text

__all__ = ("LARGE", "PER_DIRECTORY", "Tree", "made_tree")

PER_DIRECTORY = 100
LARGE = "large.log"
_ENDINGS = ("py", "txt", "md", "json")
_SIZES = (1_000, 2_000, 3_000, 4_000)


class Tree:
    """A directory with files, of which the names tell what is in them."""

    def __init__(self, root: Path, files: int) -> None:
        self.root = root
        self.files = files
        """The root of the many files; the large one is beside it."""

    def path(self, number: int) -> str:
        """Return the path of a file from the root."""
        directory, file = divmod(number, PER_DIRECTORY)
        ending = _ENDINGS[number % len(_ENDINGS)]
        return f"src/g{directory // 50:02}/d{directory:03}/f{file:02}.{ending}"

    def ending_in(self, ending: str) -> int:
        """Return how many of the files have a name that ends so."""
        return len(range(_ENDINGS.index(ending), self.files, len(_ENDINGS)))


@contextlib.contextmanager
def made_tree(files: int, large: int) -> Iterator[Tree]:
    """Yield a tree that is gone afterwards."""
    with TemporaryDirectory(prefix="lgfs-bench-") as directory:
        tree = Tree(Path(directory), files)
        _write_files(tree)
        _write_large(tree.root / LARGE, large)
        os.sync()  # what is still to be written would slow those down who come first
        yield tree


def _write_files(tree: Tree) -> None:
    for number in range(tree.files):
        path = tree.root / tree.path(number)
        if number % PER_DIRECTORY == 0:
            path.parent.mkdir(parents=True)
        ticket = f"# ticket {number // FILES_PER_TICKET:05}, part {number}\n"
        path.write_text(ticket + real_text(number, _SIZES[number % 3]) + "\n", "utf-8")


def _write_large(path: Path, size: int) -> None:
    text = real_text(0, 4_000_000).encode()
    text = text[: text.rindex(b"\n") + 1]
    with path.open("wb") as file:
        while file.tell() < size:
            file.write(text)
        file.write(b"the needle at the end\n")
