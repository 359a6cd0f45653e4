"""Forks children that write one file until they are killed: a Python of its own for each of them
would take longer to start than all of its writes.

Started with a root and a size; each line on stdin starts a child, whose number is the answer.
"""

import os
import sys

from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend


def content(number: int, size: int) -> str:
    """Return a text that shows whether it is whole: one number, over and over."""
    line = f"{number:09}\n"
    return line * (size // len(line))


def write_for_ever(root: str, size: int) -> None:
    """Write and edit a file in turns."""
    backend = FilesystemBackend(root, max_file_size_mb=100)
    number = os.getpid() % 900_000 * 1_000
    while True:
        new = backend.write("/file", content(number, size), overwrite=True, once="s.g.0")
        old, number = number, number + 1
        edited = backend.edit("/file", f"{old:09}\n", f"{number:09}\n", True, once="s.g.1")
        if new.error or edited.error:
            print(new.error or edited.error, file=sys.stderr)
            os._exit(1)


def main() -> None:
    """Fork a child for each line."""
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            write_for_ever(sys.argv[1], int(sys.argv[2]))
        print(child, flush=True)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
