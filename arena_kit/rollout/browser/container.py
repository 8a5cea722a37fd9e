"""The browser's container: in the network of its world, without capabilities, with nothing in it but this rollout."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker.types import Mount

from arena_kit.rollout.worlds.walls import common_walls
from arena_kit.sandbox.startup import server_files

SERVER = Path(__file__).with_name("inside") / "browser_server"
CHANNEL, POLICIES, SOCKET = "/channel", "/etc/chromium/policies/managed", "browser.sock"
MEMORY_BYTES, TMP_BYTES, PIDS, CPU_COUNT = 1 << 30, 192 << 20, 256, 2.0
USER = "61500:61500"
"""Nobody, and no player's or service's user either."""
NAME = "browser"


@dataclass(frozen=True, slots=True)
class BrowserPlace:
    """Where browsers run. image: made by make-browser-image.sh. channel_dir: folder of the sockets, of this user."""

    image: str
    channel_dir: Path


def channel_fill(folder: Path, origins: Sequence[str]) -> None:
    """Write the server and Chromium's policies into the folder of a channel."""
    for name, content in server_files(SERVER).items():
        _write(folder / SERVER.name / name, content)
    _write(folder / "policies" / "arena.json", json.dumps(policies(origins)).encode())


def policies(origins: Sequence[str]) -> Mapping[str, Any]:
    """Return what Chromium may open: the addresses of the application, whatever page or redirect leads elsewhere."""
    places = [origin.replace("://", "://.", 1) for origin in origins]
    return {
        "URLBlocklist": ["*"],
        # The dot keeps names that only end so out; the others show what a page has made itself.
        "URLAllowlist": [*places, "about:*", "data:*", "blob:*"],
        "DownloadRestrictions": 3,
        "DefaultGeolocationSetting": 2,
        "DefaultNotificationsSetting": 2,
        "DefaultClipboardSetting": 2,
        "DefaultSensorsSetting": 2,
        "AudioCaptureAllowed": False,
        "VideoCaptureAllowed": False,
        "PasswordManagerEnabled": False,
        "PrintingEnabled": False,
        "BrowserSignin": 0,
        "SafeBrowsingProtectionLevel": 0,
        "DnsOverHttpsMode": "off",
    }


def browser_options(image: str, folder: Path, network: str, labels: Mapping[str, str], name: str) -> Mapping[str, Any]:
    """Return the options of the container. folder: of its channel. network: the container whose network it joins."""
    start = f"{CHANNEL}/{SERVER.name}/start.py"
    return {
        **common_walls(image, labels, name),
        "entrypoint": ["python3", "-s", "-P", "-u", start],
        "command": [f"{CHANNEL}/{SOCKET}"],
        "user": USER,
        "working_dir": "/tmp",  # noqa: S108  # inside the container
        "environment": {"HOME": "/tmp", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"},  # noqa: S108
        "network_mode": f"container:{network}",
        "read_only": True,
        "tmpfs": {"/tmp": f"rw,nosuid,nodev,size={TMP_BYTES},mode=1777"},  # noqa: S108
        "mounts": [
            Mount(CHANNEL, str(folder), type="bind", read_only=True),
            Mount(POLICIES, str(folder / "policies"), type="bind", read_only=True),
        ],
        "mem_limit": MEMORY_BYTES,
        "memswap_limit": MEMORY_BYTES,
        "pids_limit": PIDS,
        "nano_cpus": int(CPU_COUNT * 1e9),
    }


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(0o644)
