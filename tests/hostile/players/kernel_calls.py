"""Calls of the kernel that no player needs: namespaces, mounts, tracing, keys, and doors that were exploited before."""

from __future__ import annotations

import os

from tests.hostile import probe
from tests.hostile.probe import syscall, tried

CLONE_NEWUSER = 0x10000000


class Player(probe.Player):
    def attack(self) -> None:
        syscall("unshare", 272, 97, CLONE_NEWUSER)
        syscall("setns", 308, 268, 0, 0)
        syscall("mount", 165, 40, b"none", b"/tmp", b"tmpfs", 0, None)
        syscall("pivot_root", 155, 41, b"/tmp", b"/tmp")
        tried("chroot", os.chroot, "/tmp")
        syscall("ptrace", 101, 117, 16, 1, 0, 0)
        syscall("process_vm_readv", 310, 270, 1, None, 0, None, 0, 0)
        syscall("process_vm_writev", 311, 271, 1, None, 0, None, 0, 0)
        syscall("pidfd_getfd", 438, 438, 0, 0, 0)
        syscall("keyctl", 250, 219, 0, -3, 1, 0, 0)
        syscall("add_key", 248, 217, b"user", b"probe", b"x", 1, -3)
        syscall("bpf", 321, 280, 0, None, 0)
        syscall("userfaultfd", 323, 282, 0)
        syscall("perf_event_open", 298, 241, None, 0, -1, -1, 0)
        syscall("io_uring_setup", 425, 425, 1, None)
        syscall("mq_open", 240, 180, b"probe", 0o100 | 2, 0o600, None)
        syscall("shmget", 29, 194, 0, 4096, 0o1600)
        syscall("flock", 73, 32, 0, 1)
        syscall("inotify_init1", 294, 26, 0)
        syscall("open_by_handle_at", 304, 265, -1, None, 0)
        syscall("kexec_load", 246, 104, 0, 0, None, 0)
        syscall("init_module", 175, 105, None, 0, None)
        syscall("reboot", 169, 142, 0, 0, 0, None)
        syscall("clock_settime", 227, 112, 0, None)
        syscall("syslog", 103, 116, 10, None, 0)
