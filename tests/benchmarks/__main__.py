"""Run the benchmarks, or those that are named, and print a table for each."""

import argparse
import os

from tests.benchmarks import (
    checkpoint_bytes,
    disk,
    edit_bytes,
    imports,
    many_files,
    nested_bytes,
    overlay,
    turns,
)
from tests.benchmarks.contestants import peers
from tests.benchmarks.rows import printed

ALL = {
    "turns": turns,
    "imports": imports,
    "many_files": many_files,
    "checkpoint_bytes": checkpoint_bytes,
    "edit_bytes": edit_bytes,
    "disk": disk,
    "nested_bytes": nested_bytes,
    "overlay": overlay,
}


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"any of: {', '.join(ALL)}")
    parser.add_argument("--quick", action="store_true", help="one round, which says little")
    options = parser.parse_args()
    if unknown := set(options.names) - set(ALL):
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}")
    if not peers():
        print("The peers are not installed: `make bench` installs them.")
    rows = []
    for name in options.names or ALL:
        benchmark = ALL[name]
        found = benchmark.measure(rounds=1) if options.quick else benchmark.measure()
        print(printed(benchmark.title, found), flush=True)
        rows += found
    held = [row.met for row in rows if row.met is not None]
    load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    print(f"\n{sum(held)} of {len(held)} targets met; {load}")


if __name__ == "__main__":
    main()
