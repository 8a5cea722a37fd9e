"""Hostile players: each probe says what it tried and what came of it, so that silence is never taken for safety."""

from __future__ import annotations

PROBE = """
import ctypes, errno, json, os, platform, resource, socket, subprocess, sys, tempfile, threading

results = {}
libc = ctypes.CDLL(None, use_errno=True)
ARM = platform.machine() == "aarch64"


def probe(name):
    def run(action):
        try:
            results[name] = {"done": action()}
        except OSError as error:
            results[name] = {"refused": errno.errorcode.get(error.errno, "?")}
        except BaseException as error:
            results[name] = {"refused": type(error).__name__}
    return run


def syscall(name, x86, arm, *arguments):
    def action():
        ctypes.set_errno(0)
        answer = libc.syscall(arm if ARM else x86, *arguments)
        if answer == -1:
            raise OSError(ctypes.get_errno(), name)
        return answer
    probe(name)(action)


def status(field):
    with open("/proc/self/status") as file:
        return next(line.split(":", 1)[1].split() for line in file if line.startswith(field + ":"))


def write_to(path):
    with open(path, "w") as file:
        file.write("x")
    os.unlink(path)


def write_into(path, data):
    with open(path, "wb", buffering=0) as file:
        return file.write(data)


# What a player may rightly do.
@probe("numpy")
def _():
    import numpy
    return int((numpy.ones((200, 200)) @ numpy.ones((200, 200))).sum())


@probe("threads")
def _():
    seen = []
    threads = [threading.Thread(target=seen.append, args=(1,)) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    return len(seen)


@probe("subprocess")
def _():
    return subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True).stdout.strip()


@probe("asyncio")
def _():
    import asyncio
    return asyncio.run(asyncio.sleep(0, "awake"))


@probe("unix_sockets")
def _():
    one, other = socket.socketpair()
    one.send(b"x")
    return other.recv(1).decode()


@probe("temporary_file")
def _():
    with tempfile.TemporaryFile() as file:
        return file.write(b"x")


# Who it is.
probe("uid")(lambda: [*os.getresuid(), *os.getresgid()])
probe("groups")(os.getgroups)
for field in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
    probe(field)(lambda: int(status(field)[0], 16))
probe("NoNewPrivs")(lambda: status("NoNewPrivs")[0])
probe("Seccomp")(lambda: status("Seccomp")[0])
probe("core_size")(lambda: resource.getrlimit(resource.RLIMIT_CORE))
probe("hostname")(socket.gethostname)
probe("environment")(lambda: sorted(os.environ))
probe("cores")(lambda: sorted(os.sched_getaffinity(0)))
probe("setuid_root")(lambda: os.setuid(0))
probe("setgroups")(lambda: os.setgroups([0]))


@probe("setuid_program")
def _():
    answer = subprocess.run(["su", "-c", "id -u"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return answer.stdout.strip()


# The network and other ways out.
probe("interfaces")(lambda: sorted(
    line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]))
for name, family, kind, protocol in (
    ("tcp", socket.AF_INET, socket.SOCK_STREAM, 0),
    ("udp", socket.AF_INET, socket.SOCK_DGRAM, 0),
    ("tcp6", socket.AF_INET6, socket.SOCK_STREAM, 0),
    ("netlink", 16, socket.SOCK_RAW, 0),
    ("packet", 17, socket.SOCK_RAW, 0),
    ("vsock", 40, socket.SOCK_STREAM, 0),
    ("alg", 38, socket.SOCK_SEQPACKET, 0),
):
    probe(name)(lambda: socket.socket(family, kind, protocol).close())
probe("name_resolution")(lambda: socket.getaddrinfo("example.com", 80))

# Calls of the kernel that no player needs.
syscall("unshare_user", 272, 97, 0x10000000)
syscall("mount", 165, 40, b"none", b"/tmp", b"tmpfs", 0, None)
syscall("ptrace", 101, 117, 16, 999_999, 0, 0)
syscall("keyctl", 250, 219, 0, -3, 1, 0, 0)
syscall("add_key", 248, 217, b"user", b"probe", b"x", 1, -3)
syscall("bpf", 321, 280, 0, None, 0)
syscall("userfaultfd", 323, 282, 0)
syscall("perf_event_open", 298, 241, None, 0, -1, -1, 0)
syscall("io_uring_setup", 425, 425, 1, None)
syscall("process_vm_readv", 310, 270, 1, None, 0, None, 0, 0)
syscall("mq_open", 240, 180, b"probe", 0o100 | 2, 0o600, None)
syscall("shmget", 29, 194, 0, 4096, 0o1600)
syscall("inotify_init1", 294, 26, 0)
syscall("setns", 308, 268, 0, 0)
syscall("open_by_handle_at", 304, 265, -1, None, 0)
syscall("kexec_load", 246, 104, 0, 0, None, 0)
syscall("flock", 73, 32, 0, 1)

# Files.
for place in ("/", "/player/", "/channel/", "/usr/", "/etc/", "/dev/", "/dev/mqueue/", "/dev/shm/", "/var/tmp/",
              "/run/", "/proc/sys/kernel/", "/sys/fs/cgroup/", "/sys/fs/cgroup/memory/"):
    probe("write " + place)(lambda: write_to(place + "probe"))
probe("hostname_file")(lambda: write_into("/proc/sys/kernel/hostname", b"x"))
probe("sysrq")(lambda: write_into("/proc/sysrq-trigger", b"s"))
probe("oom_score")(lambda: write_into("/proc/self/oom_score_adj", b"-1000"))
probe("engine_socket")(lambda: os.stat("/var/run/docker.sock").st_mode)


@probe("run_from_tmp")
def _():
    with open("/tmp/tool", "w") as file:
        file.write("#!/bin/sh\\necho ran\\n")
    os.chmod("/tmp/tool", 0o755)
    return subprocess.run(["/tmp/tool"], capture_output=True, text=True).stdout


# Limits.
@probe("tmp_bytes")
def _():
    written = 0
    try:
        for number in range(20):
            with open(f"/tmp/fill{number}", "wb", buffering=0) as file:
                for _ in range(16):
                    written += file.write(bytes(1 << 20))
    except OSError as error:
        results["tmp_bytes_end"] = {"refused": errno.errorcode[error.errno]}
    [os.unlink("/tmp/" + name) for name in os.listdir("/tmp") if name.startswith("fill")]
    return written


@probe("tmp_files")
def _():
    made = 0
    try:
        for made in range(10_000):
            open(f"/tmp/fill{made}", "w").close()
    except OSError as error:
        results["tmp_files_end"] = {"refused": errno.errorcode[error.errno]}
    [os.unlink("/tmp/" + name) for name in os.listdir("/tmp") if name.startswith("fill")]
    return made


@probe("one_file")
def _():
    import signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    written = 0
    try:
        with open("/tmp/big", "wb", buffering=0) as file:
            while written < 1 << 30:
                written += file.write(bytes(1 << 20))
    except OSError as error:
        results["one_file_end"] = {"refused": errno.errorcode[error.errno]}
    os.unlink("/tmp/big")
    return written


@probe("open_files")
def _():
    files = []
    try:
        while len(files) < 2000:
            files.append(os.open("/dev/null", os.O_RDONLY))
    except OSError as error:
        results["open_files_end"] = {"refused": errno.errorcode[error.errno]}
    [os.close(file) for file in files]
    return len(files)


probe("raise_open_files")(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096)))


@probe("processes")
def _():
    pids = []
    try:
        while len(pids) < 500:
            pid = os.fork()
            if pid == 0:
                import time
                os.setsid()
                time.sleep(600)
                os._exit(0)
            pids.append(pid)
    except OSError as error:
        results["processes_end"] = {"refused": errno.errorcode[error.errno]}
    for pid in pids:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    return len(pids)


# The supervisor.
probe("supervisor_memory")(lambda: open("/proc/1/mem", "rb").close())
probe("supervisor_environment")(lambda: open("/proc/1/environ", "rb").read().decode())
probe("supervisor_files")(lambda: os.listdir("/proc/1/fd"))


@probe("supervisor_killed")
def _():
    import signal
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP, signal.SIGHUP):
        os.kill(1, number)
    with open("/proc/1/stat") as file:
        return file.read().rsplit(")", 1)[1].split()[0]


print(json.dumps(results), flush=True)
"""
"""Prints one JSON object: probe -> {"done": result} or {"refused": name of the error}."""

REFUSED_CALLS = (
    "unshare_user", "mount", "ptrace", "keyctl", "add_key", "bpf", "userfaultfd", "perf_event_open", "io_uring_setup",
    "process_vm_readv", "mq_open", "shmget", "inotify_init1", "setns", "open_by_handle_at", "kexec_load", "flock",
)  # fmt: skip
REFUSED_SOCKETS = ("tcp", "udp", "tcp6", "netlink", "packet", "vsock", "alg")
REFUSED_FILES = (
    "write /", "write /player/", "write /channel/", "write /usr/", "write /etc/", "write /dev/", "write /dev/mqueue/",
    "write /dev/shm/", "write /var/tmp/", "write /run/", "write /proc/sys/kernel/", "write /sys/fs/cgroup/",
    "write /sys/fs/cgroup/memory/", "hostname_file", "sysrq", "oom_score", "engine_socket",
)  # fmt: skip

ENDS = {
    "raises": "raise RuntimeError('no weights')",
    "exits": "import os; os._exit(3)",
    "exits well": "import sys; sys.exit(0)",
    "killed": "import os; os.kill(os.getpid(), 9)",
    "kills all": "import os; os.kill(-1, 9)",
    "syntax": "x = = 1",
    "no player": "pass",
}
"""Sources of players that end before they are ready."""

MEMORY_BOMB = "print('filling', flush=True)\nblocks = []\nwhile True: blocks.append(b'x' * (8 << 20))\n"
CHILD_MEMORY_BOMB = "import os\nos.fork()\nos.fork()\n" + MEMORY_BOMB
FORK_BOMB = """
import os
print("forking", flush=True)
while True:
    try:
        os.fork()
        os.setsid()
    except OSError:
        pass
"""
FLOOD = """
import os
for _ in range(1000):
    os.write(1, b"y" * 65536)
os.write(2, b"the end")
raise SystemExit
"""
SLEEPER = "import time\nprint('asleep', flush=True)\ntime.sleep(600)\n"
READY = "class Player:\n    def __init__(self, train_mode): print('ready', flush=True)\n"
