"""A hostile player, in which each probe reports what it could do, so that silence is never taken for safety.

It is copied into its own folder and loaded like any player. It prints one JSON object, with {"done": result} or
{"refused": name of the error} for each probe, and ends. Every probe is harmless even where a protection is missing.
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import json
import mmap
import os
import platform
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from typing import Any

results: dict[str, dict[str, Any]] = {}
libc = ctypes.CDLL(None, use_errno=True)
ARM = platform.machine() == "aarch64"
PR_GET_NO_NEW_PRIVS = 39
INT_80 = bytes((0xB8, 20, 0, 0, 0, 0xCD, 0x80, 0xC3))
"""Machine code that calls getpid through the 32-bit entry of an x86 kernel."""
X32_GETPID = 0x40000000 | 39


def probe(name: str) -> Callable[[Callable[[], Any]], None]:
    """Run the decorated function at once and note its result."""

    def run(action: Callable[[], Any]) -> None:
        try:
            results[name] = {"done": action()}
        except OSError as error:
            results[name] = {"refused": errno.errorcode.get(error.errno or 0, type(error).__name__)}
        except BaseException as error:
            results[name] = {"refused": f"{type(error).__name__}: {error}"}

    return run


def call(number: int, *arguments: Any) -> int:
    """Call the kernel by a call's number. Raises OSError."""
    ctypes.set_errno(0)
    answer: int = libc.syscall(number, *arguments)
    if answer == -1:
        raise OSError(ctypes.get_errno(), "")
    return answer


def syscall(name: str, x86: int, arm: int, *arguments: Any) -> None:
    probe(name)(lambda: call(arm if ARM else x86, *arguments))


def in_child(action: Callable[[], object]) -> str:
    """Run an action, which may end its process, in a child; return "answered" when the child survives."""
    pid = os.fork()
    if pid == 0:
        status = 255
        try:
            action()
            status = 0
        except OSError as error:
            status = error.errno or 255
        finally:
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        raise RuntimeError(signal.Signals(os.WTERMSIG(status)).name)
    if code := os.WEXITSTATUS(status):
        raise OSError(code, "")
    return "answered"


def read(path: str) -> str:
    with open(path) as file:
        return file.read()


def status_of(field: str) -> list[str]:
    lines = read("/proc/self/status").splitlines()
    return next(line.split(":", 1)[1].split() for line in lines if line.startswith(field + ":"))


def write_to(path: str) -> None:
    with open(path, "w") as file:
        file.write("x")
    os.unlink(path)


def write_into(path: str, data: bytes) -> int:
    with open(path, "wb", buffering=0) as file:
        return file.write(data)


def interfaces() -> list[str]:
    return sorted(line.split(":")[0].strip() for line in read("/proc/net/dev").splitlines()[2:])


def empty_tmp() -> None:
    for name in os.listdir(FOLDER):
        os.unlink(os.path.join(FOLDER, name))


def until_refused(name: str, most: int, step: Callable[[int], int]) -> int:
    """Return the sum of what `step` did until it was refused, and note the error as the result NAME_end."""
    done = 0
    try:
        for number in range(most):
            done += step(number)
    except OSError as error:
        results[name + "_end"] = {"refused": errno.errorcode.get(error.errno or 0, "?")}
    return done


# In a container, this is in /tmp, the only writable place; elsewhere, the probes touch no other files.
FOLDER = tempfile.mkdtemp()

# --- What players must be able to do ----------------------------------------------------------------------


@probe("numpy")
def _() -> int:
    import numpy

    return int((numpy.ones((200, 200)) @ numpy.ones((200, 200))).sum())


@probe("threads")
def _() -> int:
    seen: list[int] = []
    threads = [threading.Thread(target=seen.append, args=(1,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(seen)


@probe("subprocess")
def _() -> str:
    command = [sys.executable, "-c", "print(6 * 7)"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


probe("asyncio")(lambda: asyncio.run(asyncio.sleep(0, "awake")))


@probe("unix_sockets")
def _() -> str:
    one, other = socket.socketpair()
    one.send(b"x")
    return other.recv(1).decode()


@probe("temporary_file")
def _() -> int:
    with tempfile.TemporaryFile() as file:
        return file.write(b"x")


# --- User and rights --------------------------------------------------------------------------------------

probe("kernel")(platform.release)
probe("uid")(lambda: [*os.getresuid(), *os.getresgid()])
probe("groups")(os.getgroups)
for field in ("CapInh", "CapPrm", "CapEff", "CapBnd"):
    probe(field)(lambda: int(status_of(field)[0], 16))
probe("no_new_privs")(lambda: libc.prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0))
probe("seccomp")(lambda: status_of("Seccomp")[0])
probe("dies_first")(lambda: read("/proc/self/oom_score_adj").strip())
probe("core_size")(lambda: resource.getrlimit(resource.RLIMIT_CORE))
probe("hostname")(socket.gethostname)
probe("environment")(lambda: sorted(os.environ))
probe("cores")(lambda: sorted(os.sched_getaffinity(0)))
probe("setuid_root")(lambda: os.setuid(0))
probe("setgroups")(lambda: os.setgroups([0]))


@probe("setuid_program")
def _() -> str:
    command = ["su", "-c", "id -u"]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False).stdout.strip()


# --- The network and other ways out -----------------------------------------------------------------------

probe("interfaces")(interfaces)
for name, family, kind in (
    ("tcp", socket.AF_INET, socket.SOCK_STREAM),
    ("udp", socket.AF_INET, socket.SOCK_DGRAM),
    ("tcp6", socket.AF_INET6, socket.SOCK_STREAM),
    ("netlink", 16, socket.SOCK_RAW),
    ("packet", 17, socket.SOCK_RAW),
    ("vsock", 40, socket.SOCK_STREAM),
    ("alg", 38, socket.SOCK_SEQPACKET),
    ("bluetooth", 31, socket.SOCK_RAW),
    ("can", 29, socket.SOCK_RAW),
    ("xdp", 44, socket.SOCK_RAW),
):
    probe(name)(lambda: socket.socket(family, kind).close())


def reach(action: Callable[[], object]) -> str:
    # Nothing is sent where there is a network on which it could arrive.
    if interfaces() != ["lo"]:
        return "not tried: there are " + ", ".join(interfaces())
    action()
    return "reached"


probe("metadata")(lambda: reach(lambda: socket.create_connection(("169.254.169.254", 80), 2)))
probe("loopback")(lambda: reach(lambda: socket.create_connection(("127.0.0.1", 80), 2)))
probe("name_resolution")(lambda: reach(lambda: socket.getaddrinfo("example.com", 80)))
for place in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock"):
    probe(place)(lambda: os.stat(place).st_mode)

# --- Calls of the kernel that no player needs -------------------------------------------------------------

for space, flag in (
    ("user", 0x10000000), ("mount", 0x00020000), ("pid", 0x20000000), ("net", 0x40000000), ("ipc", 0x08000000),
    ("uts", 0x04000000), ("cgroup", 0x02000000), ("time", 0x00000080),
):  # fmt: skip
    # A child does this, so that the other probes stay in their namespaces.
    probe("unshare_" + space)(lambda: in_child(lambda: call(97 if ARM else 272, flag)))
probe("clone_user")(lambda: in_child(lambda: call(220 if ARM else 56, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)))


@probe("mount")
def _() -> int:
    place = os.path.join(FOLDER, "mount").encode()
    os.mkdir(place)
    try:
        call(40 if ARM else 165, b"none", place, b"tmpfs", 0, None)
        return libc.umount2(place, 2)  # type: ignore[no-any-return]
    finally:
        os.rmdir(place)


syscall("fsopen", 430, 430, b"tmpfs", 0)
syscall("chroot", 161, 51, b"/")
syscall("pivot_root", 155, 41, b"/", b"/")
syscall("ptrace", 101, 117, 16, 999_999, 0, 0)
syscall("keyctl", 250, 219, 0, -3, 1, 0, 0)
syscall("add_key", 248, 217, b"user", b"probe", b"x", 1, -3)
syscall("request_key", 249, 218, b"user", b"probe", None, 0)
syscall("bpf", 321, 280, 0, None, 0)
syscall("userfaultfd", 323, 282, 0)
syscall("perf_event_open", 298, 241, None, 0, -1, -1, 0)
syscall("io_uring_setup", 425, 425, 1, None)
syscall("process_vm_readv", 310, 270, 1, None, 0, None, 0, 0)
syscall("pidfd_getfd", 438, 438, 0, 0, 0)
syscall("kcmp", 312, 272, 1, 1, 0, 0, 0)
syscall("mq_open", 240, 180, b"probe", 2, 0, None)
syscall("msgget", 68, 186, 0x7EA5, 0)
syscall("semget", 64, 190, 0x7EA5, 1, 0)
syscall("shmget", 29, 194, 0x7EA5, 4096, 0)
syscall("inotify_init1", 294, 26, 0)
syscall("fanotify_init", 300, 262, 0, 0)
syscall("setns", 308, 268, 0, 0)
syscall("open_by_handle_at", 304, 265, -1, None, 0)
syscall("kexec_load", 246, 104, 0, 0, None, 0)
syscall("init_module", 175, 105, None, 0, b"")
syscall("syslog", 103, 116, 10, None, 0)
syscall("quotactl", 443, 443, -1, 0, 0, None)
syscall("flock", 73, 32, 0, 1)


@probe("int_80")
def _() -> str:
    if ARM:
        raise OSError(errno.ENOSYS, "this processor has no such entry")
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(INT_80)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    return in_child(ctypes.CFUNCTYPE(ctypes.c_int)(address))


@probe("x32")
def _() -> str:
    if ARM:
        raise OSError(errno.ENOSYS, "this processor has no such entry")
    return in_child(lambda: call(X32_GETPID))


# --- Files ------------------------------------------------------------------------------------------------

for place in ("/", "/player/", "/channel/", "/usr/", "/etc/", "/dev/", "/dev/mqueue/", "/dev/shm/", "/var/tmp/",
              "/run/", "/proc/sys/kernel/", "/sys/fs/cgroup/", "/sys/fs/cgroup/memory/"):  # fmt: skip
    probe("write " + place)(lambda: write_to(place + "arena-probe"))
probe("hostname_file")(lambda: write_into("/proc/sys/kernel/hostname", socket.gethostname().encode()))
probe("sysrq")(lambda: write_into("/proc/sysrq-trigger", b"s"))
probe("oom_score")(lambda: write_into("/proc/self/oom_score_adj", b"-1000"))
probe("timers_of_first")(lambda: write_into("/proc/1/timerslack_ns", b"4000000000"))
probe("core_pattern")(lambda: os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY)))
probe("kernel_memory")(lambda: os.close(os.open("/proc/kcore", os.O_RDONLY)))
probe("device")(lambda: os.mknod(os.path.join(FOLDER, "disk"), 0o060600, os.makedev(254, 0)))


@probe("run_from_tmp")
def _() -> str:
    tool = os.path.join(FOLDER, "tool")
    with open(tool, "w") as file:
        file.write("#!/bin/sh\necho ran\n")
    os.chmod(tool, 0o755)
    return subprocess.run([tool], capture_output=True, text=True, check=True).stdout


# --- Limits -----------------------------------------------------------------------------------------------

empty_tmp()


@probe("tmp_bytes")
def _() -> int:
    def fill(number: int) -> int:
        with open(f"{FOLDER}/fill{number // 16}", "ab", buffering=0) as file:
            return file.write(bytes(1 << 20))

    return until_refused("tmp_bytes", 20 * 16, fill)


empty_tmp()


@probe("tmp_files")
def _() -> int:
    def make(number: int) -> int:
        with open(f"{FOLDER}/fill{number}", "w"):
            return 1

    return until_refused("tmp_files", 10_000, make)


empty_tmp()


@probe("one_file")
def _() -> int:
    # Without the signal, a write beyond the limit fails with an error.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with open(FOLDER + "/big", "wb", buffering=0) as file:
        return until_refused("one_file", 64, lambda _: file.write(bytes(1 << 20)))


@probe("open_files")
def _() -> int:
    files: list[int] = []

    def again(_: int) -> int:
        files.append(os.open("/dev/null", os.O_RDONLY))
        return 1

    count = until_refused("open_files", 2000, again)
    for file in files:
        os.close(file)
    return count


probe("raise_open_files")(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096)))
empty_tmp()
os.rmdir(FOLDER)

# --- The supervisor ---------------------------------------------------------------------------------------
probe("supervisor_memory")(lambda: os.close(os.open("/proc/1/mem", os.O_RDONLY)))
probe("supervisor_files")(lambda: os.listdir("/proc/1/fd"))
probe("supervisor_environment")(lambda: len(read("/proc/1/environ")))
# Reading a limit needs the same right as setting it, and is harmless where the protection is missing.
syscall("limits_of_first", 302, 261, 1, resource.RLIMIT_CPU, None, None)
own_cores = ctypes.c_ulong(sum(1 << core for core in os.sched_getaffinity(0)))
for name, pid in (("cores_of_first", 1), ("cores_of_itself", 0)):
    syscall(name, 203, 122, pid, ctypes.sizeof(own_cores), ctypes.byref(own_cores))
own_nice = os.getpriority(os.PRIO_PROCESS, 0)
for name, which, who in (
    ("priority_of_first", os.PRIO_PROCESS, 1),
    ("priority_of_group", os.PRIO_PGRP, 0),
    ("priority_of_user", os.PRIO_USER, 0),
    ("priority_of_itself", os.PRIO_PROCESS, 0),
):
    syscall(name, 141, 140, which, who, own_nice)
syscall("disk_priority_of_first", 251, 30, 1, 1, 2 << 13 | 4)
probe("limits_of_itself")(lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))


@probe("out_of_band")
def _() -> int:
    one, other = socket.socketpair()
    with one, other:
        return one.send(b"x", socket.MSG_OOB)


print(json.dumps(results), flush=True)
raise SystemExit
