"""A process in a network namespace with nothing but loopback: `isolated.py <scenario> <directory>`.

It prints how many packets had no route out, as the kernel counts them.
"""

import ctypes
import fcntl
import json
import os
import socket
import struct
import sys
import time
from pathlib import Path

from tests.server.driving import typed
from tests.server.serving import serving

_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1
_IDLE = 6.0
"""Seconds to wait before the count: what a server does by itself, it does when it starts."""


def isolate() -> None:
    """Leave the network of the host."""
    libc = ctypes.CDLL(None, use_errno=True)
    wanted = _NEW_NETWORK if os.geteuid() == 0 else _NEW_NETWORK | _NEW_USER
    if libc.unshare(wanted) != 0:
        raise OSError(ctypes.get_errno(), "this machine does not let us have a network of our own")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh", b"lo", 0)
        _, flags = struct.unpack("16sh", fcntl.ioctl(control, _GET_FLAGS, request)[:18])
        fcntl.ioctl(control, _SET_FLAGS, struct.pack("16sh", b"lo", flags | _UP))


def sent_elsewhere() -> int:
    """Return how many packets had no route, and how many questions no answerer on loopback."""
    counters: dict[str, int] = {}
    lines = Path("/proc/net/snmp").read_text().splitlines()
    for names, numbers in zip(lines[::2], lines[1::2], strict=True):
        kind = names.partition(":")[0]
        for name, number in zip(names.split()[1:], numbers.split()[1:], strict=True):
            counters[f"{kind}{name}"] = int(number)
    for line in Path("/proc/net/snmp6").read_text().splitlines():
        name, number = line.split()
        counters[name] = int(number)
    return sum(counters[name] for name in ("IpOutNoRoutes", "Ip6OutNoRoutes", "UdpNoPorts"))


def connect(directory: Path) -> int:
    """Try to reach an address that is for documentation."""
    with socket.socket() as outside:
        outside.connect_ex(("192.0.2.1", 80))
    return 0


def resolve(directory: Path) -> int:
    """Try to look a name up."""
    try:
        socket.getaddrinfo("example.com", 80)
    except OSError:
        return 0
    return 1


def serve(directory: Path) -> int:
    """Start a server, run some commands, look at the graph, and stop it."""
    with serving(directory) as server:
        ran = 0
        for words in ("write_file /a.txt x", "write_file /memories/b.txt y", "grep x"):
            thread = server.sync.threads.create()["thread_id"]
            server.sync.runs.wait(thread, "agent", input=typed(words))
            ran += 1
        server.sync.assistants.search()
        time.sleep(_IDLE)
    return ran


def main() -> None:
    """Run a scenario and print what was counted."""
    scenario, directory = sys.argv[1:]
    isolate()
    ran = {"connect": connect, "resolve": resolve, "serve": serve}[scenario](Path(directory))
    print(json.dumps({"runs": ran, "sent": sent_elsewhere()}))


if __name__ == "__main__":
    main()
