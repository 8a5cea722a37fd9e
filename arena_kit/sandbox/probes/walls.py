"""Judges the results of the probes: which result each protection must have to count as held."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from arena_kit.sandbox.docker import TMP_BYTES

Result = Mapping[str, Any]
"""{"done": result}, {"refused": name of the error}, or {} when the probe reported nothing."""
FILE_BYTES = 32 << 20
OPEN_FILES = 256
CORE = 0
"""The core to which the players of a check are pinned."""


@dataclass(frozen=True, slots=True)
class ProbeFinding:
    """A line of the report: the protection, what was tried, what happened, and whether the protection held."""

    protection: str
    tried: str
    happened: str
    held: bool


@dataclass(frozen=True, slots=True)
class Wall:
    """A probe, described in words, with the results that it may have.

    own_kernel: whether the probe is meaningful under gVisor, whose kernel fakes some answers.
    """

    protection: str
    tried: str
    probe: str
    holds: Callable[[Result], bool]
    own_kernel: bool = True

    def judge(self, results: Mapping[str, Result]) -> ProbeFinding:
        result = results.get(self.probe, {})
        return ProbeFinding(self.protection, self.tried, in_words(result), self.holds(result))


def in_words(result: Result) -> str:
    if "refused" in result:
        return f"refused: {result['refused']}"
    return str(result["done"]) if "done" in result else "nothing was reported"


def refused(*errors: str) -> Callable[[Result], bool]:
    """Return a check that a result is a refusal, with one of these errors if any are given."""
    return lambda result: "refused" in result and (not errors or result["refused"] in errors)


def done(*values: object) -> Callable[[Result], bool]:
    return lambda result: "done" in result and result["done"] in values


def gives_no_power(result: Result) -> bool:
    """Return whether su has printed no user's number, or the image has no su."""
    return done("")(result) or refused("ENOENT")(result)


def at_most(most: int, least: int = 1) -> Callable[[Result], bool]:
    # Less than the least means that something else stopped the probe before it reached the limit.
    return lambda result: "done" in result and least <= result["done"] <= most


def has_unknown_id(result: Result) -> bool:
    """Return whether all ids are the same, and above those in any usual passwd."""
    ids = result.get("done", [0])
    return len(set(ids)) <= 1 and all(number >= 60_000 for number in ids)


SOCKETS = ("tcp", "udp", "tcp6", "netlink", "packet", "vsock", "alg", "bluetooth", "can", "xdp")
CALLS = (
    *(f"unshare_{space}" for space in ("user", "mount", "pid", "net", "ipc", "uts", "cgroup", "time")), "clone_user",
    "mount", "fsopen", "chroot", "pivot_root", "ptrace", "keyctl", "add_key", "request_key", "bpf", "userfaultfd",
    "perf_event_open", "io_uring_setup", "process_vm_readv", "pidfd_getfd", "kcmp", "mq_open", "msgget", "semget",
    "shmget", "inotify_init1", "fanotify_init", "setns", "open_by_handle_at", "kexec_load", "init_module", "syslog",
    "quotactl", "flock",
)  # fmt: skip
PLACES = (
    "/", "/player/", "/channel/", "/usr/", "/etc/", "/dev/", "/dev/mqueue/", "/dev/shm/", "/var/tmp/", "/run/",
    "/proc/sys/kernel/", "/sys/fs/cgroup/", "/sys/fs/cgroup/memory/",
)  # fmt: skip
ENGINE_SOCKETS = ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock")

WALLS: tuple[Wall, ...] = (
    Wall("user", "its user and group", "uid", has_unknown_id),
    Wall("user", "its further groups", "groups", has_unknown_id),
    *(Wall("capabilities", f"the set {field}", field, done(0)) for field in ("CapInh", "CapPrm", "CapEff", "CapBnd")),
    Wall("no new privileges", "the flag of the process", "no_new_privs", done(1)),
    Wall("no new privileges", "su, a setuid program", "setuid_program", gives_no_power),
    Wall("user", "becoming root", "setuid_root", refused("EPERM")),
    Wall("user", "taking root's group", "setgroups", refused("EPERM")),
    Wall("no network", "the interfaces there are", "interfaces", done(["lo"])),
    *(Wall("only Unix sockets", f"a socket of the family {name}", name, refused("EPERM")) for name in SOCKETS),
    Wall("no network", "connecting to 169.254.169.254", "metadata", refused()),
    Wall("no network", "connecting to 127.0.0.1", "loopback", refused()),
    Wall("no network", "resolving a name", "name_resolution", refused()),
    *(Wall("no engine", path, path, refused("ENOENT", "EACCES")) for path in ENGINE_SOCKETS),
    Wall("own seccomp profile", "the mode of the process", "seccomp", done("2")),
    *(Wall("own seccomp profile", name, name, refused("EPERM")) for name in CALLS),
    Wall("own seccomp profile", "the 32-bit entry of the kernel", "int_80", refused(), own_kernel=False),
    Wall("own seccomp profile", "the x32 entry of the kernel", "x32", refused()),
    *(Wall("read-only files", f"writing to {place}", "write " + place, refused()) for place in PLACES),
    Wall("read-only files", "the host's name", "hostname_file", refused()),
    Wall("read-only files", "the host's crash handler", "core_pattern", refused()),
    Wall("read-only files", "the magic keys", "sysrq", refused()),
    Wall("read-only files", "the kernel's memory", "kernel_memory", refused()),
    Wall("read-only files", "making a disk device", "device", refused()),
    Wall("memory", "its out-of-memory score", "dies_first", done("1000"), own_kernel=False),
    Wall("memory", "a better out-of-memory score", "oom_score", refused(), own_kernel=False),
    Wall("small /tmp", "running a program there", "run_from_tmp", refused("EACCES")),
    Wall("small /tmp", f"more than {TMP_BYTES >> 20} MiB", "tmp_bytes", at_most(TMP_BYTES, TMP_BYTES // 2)),
    Wall("small /tmp", "why it ended", "tmp_bytes_end", refused("ENOSPC")),
    # Under gVisor every file takes memory within the container's limit instead.
    Wall("small /tmp", "more than 4096 files", "tmp_files", at_most(4096, 1000), own_kernel=False),
    Wall("file size", f"a file of more than {FILE_BYTES >> 20} MiB", "one_file", done(FILE_BYTES)),
    Wall("file size", "why it ended", "one_file_end", refused("EFBIG")),
    Wall("open files", f"more than {OPEN_FILES}", "open_files", at_most(OPEN_FILES, OPEN_FILES // 2)),
    Wall("open files", "why it ended", "open_files_end", refused("EMFILE")),
    Wall("open files", "raising the limit", "raise_open_files", refused()),
    Wall("no core dumps", "their size limit", "core_size", done([0, 0])),
    Wall("one core", "the cores it may run on", "cores", done([CORE])),
    Wall("supervisor", "reading its memory", "supervisor_memory", refused()),
    # Under gVisor these are readable, but hold no secrets and nothing of the host.
    Wall("supervisor", "listing its files", "supervisor_files", refused(), own_kernel=False),
    Wall("supervisor", "reading its environment", "supervisor_environment", refused(), own_kernel=False),
    *(
        Wall("supervisor", what, probe, refused("EPERM"))
        for probe, what in (
            ("limits_of_first", "its limits"),
            ("cores_of_first", "its cores"),
            ("priority_of_first", "its priority"),
            ("priority_of_group", "the priority of its group"),
            ("priority_of_user", "the priority of its user"),
        )
    ),
    Wall("supervisor", "the slack of its timers", "timers_of_first", refused()),
    Wall("supervisor", "its priority at the disk", "disk_priority_of_first", refused("EPERM", "ENOSYS")),
    Wall("own limits", "lowering its own", "limits_of_itself", done(None)),
    Wall("own limits", "choosing among its own cores", "cores_of_itself", done(0)),
    Wall("own limits", "its own priority", "priority_of_itself", done(0)),
    Wall("own seccomp profile", "data out of band", "out_of_band", refused("EPERM")),
)


def judge(results: Mapping[str, Result], *, own_kernel: bool) -> list[ProbeFinding]:
    """Judge every wall by the probes' results. own_kernel: whether the sandbox's runtime is gVisor."""
    return [wall.judge(results) for wall in WALLS if wall.own_kernel or not own_kernel]
