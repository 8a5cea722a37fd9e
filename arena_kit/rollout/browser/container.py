"""The browser's container: in the network of its world, without capabilities, with nothing in it but this rollout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker.types import Mount

from arena_kit.rollout.browser.folder import CHANNEL, ENVIRONMENT, SOCKET, START
from arena_kit.rollout.worlds.walls import common_walls

POLICIES = "/etc/chromium/policies/managed"
MEMORY_BYTES, TMP_BYTES, PIDS, CPU_COUNT = 1 << 30, 192 << 20, 256, 2.0
UID: int = 61500
"""The user of browsers, and of no player or service."""
NAME = "_browser"
"""Among the containers of a world; no service can be called so."""


@dataclass(frozen=True, slots=True)
class BrowserHost:
    """Where browsers run. image: made by make-browser-image.sh. channel_dir: folder of the sockets, of this user."""

    image: str
    channel_dir: Path


def browser_options(image: str, folder: Path, network: str, labels: Mapping[str, str], name: str) -> Mapping[str, Any]:
    """Return the options of the container. folder: of its channel. network: the container whose network it joins."""
    return {
        **common_walls(image, labels, name),
        "entrypoint": list(START),
        "command": [f"{CHANNEL}/{SOCKET}"],
        "user": f"{UID}:{UID}",
        "working_dir": "/tmp",  # noqa: S108  # inside the container
        "environment": dict(ENVIRONMENT),
        "network_mode": f"container:{network}",
        "read_only": True,
        "tmpfs": {"/tmp": f"rw,nosuid,nodev,size={TMP_BYTES},mode=1777"},  # noqa: S108  (inside the container)
        "mounts": [
            Mount(CHANNEL, str(folder), type="bind", read_only=True),
            Mount(POLICIES, str(folder / "policies"), type="bind", read_only=True),
        ],
        "mem_limit": MEMORY_BYTES,
        "memswap_limit": MEMORY_BYTES,
        "pids_limit": PIDS,
        "nano_cpus": int(CPU_COUNT * 1e9),
    }
