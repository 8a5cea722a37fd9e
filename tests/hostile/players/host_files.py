"""Files and devices through which others have left their containers."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tests.hostile import probe
from tests.hostile.probe import tried

WRITTEN = (
    "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger",
    "/proc/self/oom_score_adj", "/proc/self/uid_map", "/sys/fs/cgroup/memory/release_agent",
    "/sys/kernel/uevent_helper", "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/pids/tasks", "/proc/1/exe",
    "/proc/1/mem", "/etc/passwd", "/etc/ld.so.preload", "/usr/bin/env",
)  # fmt: skip
READ = ("/proc/kcore", "/dev/mem", "/dev/kmsg", "/dev/vda", "/dev/sda", "/dev/fuse", "/dev/kvm", "/etc/shadow",
        "/proc/1/environ", "/proc/1/maps", "/root")  # fmt: skip


def change(path: str) -> None:
    # Opened, never written to: a missing wall must do no harm.
    os.close(os.open(path, os.O_WRONLY))


def read(path: str) -> str:
    with Path(path).open("rb", buffering=0) as file:
        return f"{len(file.read(1))} bytes"


class Player(probe.Player):
    def attack(self) -> None:
        for path in WRITTEN:
            tried(f"write {path}", change, path)
        for path in READ:
            tried(f"read {path}", read, path)
        tried("device", lambda: os.mknod("/tmp/device", 0o666 | stat.S_IFBLK, os.makedev(8, 0)))
        for place in ("/player", "/channel"):
            tried(f"write into {place}", (Path(place) / probe.PLANTED).touch)
        tried("link to the host", lambda: os.link("/etc/passwd", "/tmp/passwd"))
