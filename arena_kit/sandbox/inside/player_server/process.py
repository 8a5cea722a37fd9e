"""Calls to the kernel for the processes of a container, and what process 1 can see of them from outside."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import stat
import time

PR_SET_DUMPABLE, PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 4, 1, 36
CLD_STOPPED = 5
"""The kernel's code for a child that was stopped, which `os` has since Python 3.9."""
FALLING_ASLEEP_NS = 200_000
CHANGING = ("State", "Vm", "Rss", "Hugetlb", "SigQ", "voluntary", "nonvoluntary")
"""Prefixes of the lines in /proc/PID/status that change by themselves or are counted per user."""
LIBRARY_SIGNALS = 1 << 31 | 1 << 32
"""The mask of signals 32 and 33, which the C library handles once there has been a thread."""


def prctl(option: int, value: int) -> None:
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def become_supervisor() -> None:
    """Protect this process, in which no code of the submission runs, from the other processes."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    prctl(PR_SET_DUMPABLE, 0)
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def go_first() -> None:
    """Make the kernel end this process and its children before process 1 when memory runs out."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def limit_resources(data_bytes: int, *, open_files: int = 256, file_bytes: int = 32 << 20, processes: int = 0) -> None:
    """Set limits, for sandboxes without an engine that does; 0 for `data_bytes` or `processes` means no limit."""
    limits = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, open_files),
        (resource.RLIMIT_FSIZE, file_bytes),
    ]
    if data_bytes:
        limits.append((resource.RLIMIT_DATA, data_bytes))
    if processes:
        limits.append((resource.RLIMIT_NPROC, processes))
    for kind, value in limits:
        hard = resource.getrlimit(kind)[1]
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        resource.setrlimit(kind, (value, value))


def others(spared: int = 0) -> list[int]:
    """Return the processes that this one may end: all in its namespace if it is process 1, otherwise its children."""
    if os.getpid() == 1:
        found = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    else:
        found = []
        with contextlib.suppress(OSError), open(f"/proc/self/task/{os.getpid()}/children") as file:
            found = [int(pid) for pid in file.read().split()]
    return [pid for pid in found if pid not in (os.getpid(), spared)]


def exit_status(status: int) -> int:
    """Return the exit status in what `waitpid` returns, negative for a signal."""
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def kill_others(spared: int = 0) -> bool:
    """Kill and reap all other processes except `spared`; return False when they do not end."""
    for _ in range(1000):
        if not spared and os.getpid() == 1:
            with contextlib.suppress(OSError):
                os.kill(-1, signal.SIGKILL)
        left = others(spared)
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
            try:
                os.waitpid(pid, 0)
            except ChildProcessError:
                # It is the child of another process, and becomes this one's when its parent is gone.
                time.sleep(0.0005)
        if not left:
            return True
    return False


def halt(pid: int) -> bool:
    """Stop a child until it gets SIGCONT; return False, with the child running, when there are other processes."""
    os.kill(pid, signal.SIGSTOP)
    for _ in range(1000):
        # The wait is bounded, because the parent of a `vfork` does not stop before its child ends.
        if (found := os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT | os.WNOHANG)) is not None:
            if found.si_code == CLD_STOPPED and not others(spared=pid):
                return True
            break
        time.sleep(0.0005)
    os.kill(pid, signal.SIGCONT)
    return False


def wipe(folder: str) -> None:
    """Empty a folder that no other process uses any more. Raises OSError, RecursionError."""
    for entry in list(os.scandir(folder)):
        if entry.is_dir(follow_symlinks=False):
            os.chmod(entry.path, 0o700)
            wipe(entry.path)
            os.rmdir(entry.path)
        else:
            os.unlink(entry.path)


def oom_kills() -> int:
    """Return how many processes of this container the kernel has killed for lack of memory; 0 when unknown."""
    for path in ("/sys/fs/cgroup/memory/memory.oom_control", "/sys/fs/cgroup/memory.events"):
        with contextlib.suppress(OSError), open(path) as file:
            for line in file:
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
    return 0


def memory_bytes() -> int:
    """Return the memory of this container without what the kernel can take back (pages of files); 0 when unknown."""
    for folder, used, prefix in (
        ("/sys/fs/cgroup", "memory.current", ""),
        ("/sys/fs/cgroup/memory", "memory.usage_in_bytes", "total_"),
    ):
        with contextlib.suppress(OSError, KeyError):
            with open(f"{folder}/memory.stat") as file:
                parts = dict(line.split() for line in file)
            with open(f"{folder}/{used}") as file:
                return int(file.read()) - int(parts[prefix + "active_file"]) - int(parts[prefix + "inactive_file"])
    return 0


def status(pid: int) -> dict[str, str]:
    """Return the values of /proc/PID/status by name. Raises OSError when there is no such process."""
    with open(f"/proc/{pid}/status") as file:
        return {name: value.strip() for name, _, value in (line.partition(":") for line in file)}


class Sleep:
    """The kernel's counts for a process: how often it went to sleep, and its nanoseconds on a processor."""

    def __init__(self, naps: int, cpu_ns: int) -> None:
        self.naps, self.cpu_ns = naps, cpu_ns

    @classmethod
    def of(cls, pid: int) -> Sleep | None:
        """Return the counts of a process that sleeps now, or None if it is awake. Raises OSError."""
        found = status(pid)
        if not found["State"].startswith("S"):
            return None
        with open(f"/proc/{pid}/schedstat") as file:
            return cls(int(found["voluntary_ctxt_switches"]), int(file.read().split()[0]))

    def lasted(self, now: Sleep) -> bool:
        """Return whether it has slept since these counts, apart from the instructions of falling asleep."""
        return now.naps - self.naps <= 1 and now.cpu_ns - self.cpu_ns < FALLING_ASLEEP_NS


def traits(pid: int) -> str:
    """Return the traits that forks of a process inherit and other processes of its user can change, as text.

    These are limits, priorities, cores and the like. Raises OSError.
    """
    kept = [f"{name}: {value}" for name, value in status(pid).items() if not name.startswith(CHANGING)]
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    # Fields 18, 19, 40 and 41 of proc(5) are priority, nice, rt_priority and policy; the list begins with field 3.
    kept += [fields[n - 3] for n in (18, 19, 40, 41)]
    for name in ("limits", "oom_score_adj"):
        with open(f"/proc/{pid}/{name}") as file:
            kept.append(file.read())
    return "\n".join(kept)


def objection(pid: int, own_descriptor: int) -> str:
    """Return why duels must not be forked from a process that has loaded a player, or "" when they may.

    The reasons are what a fork does not copy (threads, devices), and what forks share, so that a duel could leave notes
    for the next one (pipes, open files, shared memory, other processes). This looks from outside, because inside the
    process the player could forge the answer.
    """
    if os.getpid() != 1:
        return "it has no process namespace of its own"
    if others(spared=pid):
        return "it has started other processes"
    try:
        found = status(pid)
        if found["Threads"] != "1":
            return f"it has {found['Threads']} threads"
        if int(found["SigCgt"], 16) & ~LIBRARY_SIGNALS:
            return "it handles signals"
        if shared := shared_memory(maps(pid)):
            return f"it shares memory: {shared}"
        for name in os.listdir(f"/proc/{pid}/fd"):
            if int(name) > 2 and int(name) != own_descriptor and not _is_plain(pid, name):
                return f"it holds {os.readlink(f'/proc/{pid}/fd/{name}')}"
    except (OSError, LookupError, ValueError, StopIteration) as error:
        # Some kernels, e.g. gVisor's, do not show all of this.
        return f"it cannot be inspected: {type(error).__name__} {error}"
    return ""


def maps(pid: int) -> int:
    """Return a descriptor of a process's memory map, which stays readable after the process is sealed."""
    return os.open(f"/proc/{pid}/maps", os.O_RDONLY | os.O_CLOEXEC)


def is_sealed(pid: int) -> bool:
    """Return whether a process is sealed against other processes of its user, by trying to read it."""
    try:
        os.close(maps(pid))
    except PermissionError:
        return True
    return False


def shared_memory(descriptor: int) -> str:
    """Return the name of the first writable mapping that forks would share, or "" without one."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    text = b""
    while data := os.read(descriptor, 65536):
        text += data
    for line in text.decode("utf-8", "replace").splitlines():
        permissions = line.split(maxsplit=2)[1]
        if "w" in permissions and permissions.endswith("s"):
            return line.split(maxsplit=5)[-1]
    return ""


def _is_plain(pid: int, name: str) -> bool:
    """Return whether a descriptor is a file that is open for reading only, and so the same for every duel."""
    link = f"/proc/{pid}/fd/{name}"
    if not stat.S_ISREG(os.stat(link).st_mode) or os.readlink(link).startswith("/memfd:"):
        return False
    with open(f"/proc/{pid}/fdinfo/{name}") as file:
        flags = next(line for line in file if line.startswith("flags:"))
    return int(flags.split()[1], 8) & os.O_ACCMODE == os.O_RDONLY
