"""What processes of the container ask of the kernel, and what process 1 sees of them from outside."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import stat
import time

PR_SET_DUMPABLE, PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 4, 1, 36
FALLING_ASLEEP_NS = 200_000
CHANGING = ("State", "Vm", "Rss", "Hugetlb", "SigQ", "voluntary", "nonvoluntary")
"""Beginnings of what changes in /proc/PID/status by itself, or is counted for the user."""
LIBRARY_SIGNALS = 1 << 31 | 1 << 32
"""Signals 32 and 33: the C library's own, once there has been a thread."""


def prctl(option: int, value: int) -> None:
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def become_supervisor() -> None:
    """Shut this process, in which the submission does not run, off from everything that runs beside it."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    prctl(PR_SET_DUMPABLE, 0)
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def go_first() -> None:
    """When the container wants too much memory, have the kernel end this process and its children, not process 1."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def limit_resources(data_bytes: int, *, open_files: int = 256, file_bytes: int = 32 << 20, processes: int = 0) -> None:
    """Limits for sandboxes whose engine sets none of its own; 0 bytes of data or processes for no limit."""
    limits = [
        (resource.RLIMIT_CORE, 0), (resource.RLIMIT_NOFILE, open_files), (resource.RLIMIT_FSIZE, file_bytes),
    ]  # fmt: skip
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
    """Every process that this one may end: all of its namespace when it is process 1, else its children."""
    if os.getpid() == 1:
        found = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    else:
        found = []
        with contextlib.suppress(OSError), open(f"/proc/self/task/{os.getpid()}/children") as file:
            found = [int(pid) for pid in file.read().split()]
    return [pid for pid in found if pid not in (os.getpid(), spared)]


def kill_others(spared: int = 0) -> bool:
    """Kill and reap whatever runs beside this process and `spared`; False when it does not end."""
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
                # The child of another: it comes here when that one is gone.
                time.sleep(0.0005)
        if not left:
            return True
    return False


def halt(pid: int) -> bool:
    """Stop a child until it gets SIGCONT, unless something runs beside it and this process: then False."""
    os.kill(pid, signal.SIGSTOP)
    for _ in range(1000):
        # Not for long: the parent of a `vfork` stops no sooner than its child ends.
        if (found := os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT | os.WNOHANG)) is not None:
            if found.si_code == os.CLD_STOPPED and not others(spared=pid):
                return True
            break
        time.sleep(0.0005)
    os.kill(pid, signal.SIGCONT)
    return False


def wipe(folder: str) -> None:
    """Empty a folder in which nobody else is at work any more. Raises OSError, RecursionError."""
    for entry in list(os.scandir(folder)):
        if entry.is_dir(follow_symlinks=False):
            os.chmod(entry.path, 0o700)
            wipe(entry.path)
            os.rmdir(entry.path)
        else:
            os.unlink(entry.path)


def oom_kills() -> int:
    """How many processes of this container the kernel has killed for want of memory; 0 where nobody tells."""
    for path in ("/sys/fs/cgroup/memory/memory.oom_control", "/sys/fs/cgroup/memory.events"):
        with contextlib.suppress(OSError), open(path) as file:
            for line in file:
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
    return 0


def status(pid: int) -> dict[str, str]:
    """The lines of /proc/PID/status by their names. Raises OSError when there is no such process."""
    with open(f"/proc/{pid}/status") as file:
        return {name: value.strip() for name, _, value in (line.partition(":") for line in file)}


class Sleep:
    """What the kernel counts of a process: times it has gone to sleep, and nanoseconds on a processor."""

    def __init__(self, naps: int, cpu_ns: int) -> None:
        self.naps, self.cpu_ns = naps, cpu_ns

    @classmethod
    def of(cls, pid: int) -> Sleep | None:
        """The counts of a process that sleeps now; None while it runs. Raises OSError."""
        found = status(pid)
        if not found["State"].startswith("S"):
            return None
        with open(f"/proc/{pid}/schedstat") as file:
            return cls(int(found["voluntary_ctxt_switches"]), int(file.read().split()[0]))

    def lasted(self, now: Sleep) -> bool:
        """Whether it has slept on, give or take the last instructions on its way to sleep."""
        return now.naps - self.naps <= 1 and now.cpu_ns - self.cpu_ns < FALLING_ASLEEP_NS


def traits(pid: int) -> str:
    """What forks of a process inherit of it and others of its user can change: limits, priority, cores and the like.

    Raises OSError.
    """
    kept = [f"{name}: {value}" for name, value in status(pid).items() if not name.startswith(CHANGING)]
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    # By proc(5), counted from the third: priority, nice, rt_priority, policy.
    kept += [fields[n - 3] for n in (18, 19, 40, 41)]
    for name in ("limits", "oom_score_adj"):
        with open(f"/proc/{pid}/{name}") as file:
            kept.append(file.read())
    return "\n".join(kept)


def objection(pid: int, own_descriptor: int) -> str:
    """Why duels must not be forked from a process that has loaded a player, or ''.

    What a fork would not copy (threads, devices), and what forks would share with each other, so that a duel could
    leave notes for the next one (pipes, open files, shared memory, other processes). Seen from outside, because inside
    it is the player that would be asked.
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
        # gVisor's kernel, among others, does not show all of this.
        return f"it cannot be looked at: {type(error).__name__} {error}"
    return ""


def maps(pid: int) -> int:
    """A descriptor of the process's memory map, to be read also when the process has closed itself."""
    return os.open(f"/proc/{pid}/maps", os.O_RDONLY | os.O_CLOEXEC)


def is_sealed(pid: int) -> bool:
    """Whether a process is closed to others of its user, as a stranger would find."""
    try:
        os.close(maps(pid))
    except PermissionError:
        return True
    return False


def shared_memory(descriptor: int) -> str:
    """The first writable mapping that forks would share, '' when there is none."""
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
    """Whether a descriptor is a file of the image that is only read: the same for every duel."""
    link = f"/proc/{pid}/fd/{name}"
    if not stat.S_ISREG(os.stat(link).st_mode) or os.readlink(link).startswith("/memfd:"):
        return False
    with open(f"/proc/{pid}/fdinfo/{name}") as file:
        flags = next(line for line in file if line.startswith("flags:"))
    return int(flags.split()[1], 8) & os.O_ACCMODE == os.O_RDONLY
