"""The containers of a world: what they may do, and the network that they share."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

from docker.types import LogConfig

from arena_kit.image.container import SECCOMP_PROFILE, ulimits
from arena_kit.rollout.worlds.built import BuiltService

PAUSE_BYTES = 128 << 20
PAUSE_PIDS = 32
OPEN_FILES = 4096
LARGEST_FILE_BYTES = 2 << 30
SHARED_BYTES = 64 << 20
LOG_BYTES = 256 << 10
LOOPBACK = "127.0.0.1"
DATABASE_CALLS = ("shmget", "shmat", "shmdt", "shmctl", "signalfd", "signalfd4")
"""PostgreSQL does not start without them. Each container has shared memory of this kind for itself."""
PAUSE_PROGRAM = "import signal; signal.signal(signal.SIGTERM, lambda *_: exit()); signal.pause()"
"""Holds the network while services come and go. It listens nowhere."""


@functools.cache
def kernel_calls() -> str:
    """Return the list of kernel calls: that of players, internet sockets, and what databases need."""
    profile = json.loads(SECCOMP_PROFILE.read_text())
    profile["syscalls"].append({"names": list(DATABASE_CALLS), "action": "SCMP_ACT_ALLOW"})
    return json.dumps(profile)


def pause_options(image: str, names: tuple[str, ...], labels: Mapping[str, str], name: str) -> dict[str, Any]:
    """Return the options of the container whose network, with loopback alone, all services join. names: of services."""
    return {
        **common_walls(image, labels, name),
        "entrypoint": ["python3", "-I", "-S", "-c", PAUSE_PROGRAM],
        "command": [],
        "user": "65534:65534",
        "working_dir": "/",
        "network_mode": "none",
        "extra_hosts": dict.fromkeys(names, LOOPBACK),
        "read_only": True,
        "mem_limit": PAUSE_BYTES,
        "memswap_limit": PAUSE_BYTES,
        "pids_limit": PAUSE_PIDS,
        "nano_cpus": int(1e9),
    }


def service_options(built: BuiltService, network: str, labels: Mapping[str, str], name: str) -> dict[str, Any]:
    """Return the options of a service's container. network: id of the pause container."""
    service = built.service
    options = {
        **common_walls(built.image, labels, name),
        "environment": {**built.environment, **service.environment},
        "network_mode": f"container:{network}",
        "read_only": service.read_only,
        "tmpfs": {path: f"rw,nosuid,nodev,size={size},mode=1777" for path, size in service.tmpfs.items()},
        "mem_limit": service.memory_bytes,
        "memswap_limit": service.memory_bytes,
        "pids_limit": service.pids,
        "nano_cpus": int(service.cpu_count * 1e9),
    }
    written = {
        "entrypoint": list(service.entrypoint or ()),
        "command": list(service.command or ()),
        "user": service.user,
        "working_dir": service.working_dir,
    }
    return options | {key: value for key, value in written.items() if value}


def common_walls(image: str, labels: Mapping[str, str], name: str) -> dict[str, Any]:
    """Return what all containers of a world have in common."""
    return {
        "image": image,
        "name": name,
        "labels": dict(labels),
        "runtime": "runc",
        "ipc_mode": "private",
        "shm_size": SHARED_BYTES,
        "cgroupns": "private",
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges", f"seccomp={kernel_calls()}"],
        "ulimits": ulimits(open_files=OPEN_FILES, file_bytes=LARGEST_FILE_BYTES),
        # One file that begins again: a service that prints without end fills no disk.
        "log_config": LogConfig(type="json-file", config={"max-size": str(LOG_BYTES), "max-file": "1"}),
        "healthcheck": {"test": ["NONE"]},
        "stdin_open": False,
        # Process 1 reaps the processes that services leave behind.
        "init": True,
    }
