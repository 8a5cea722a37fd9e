"""The container of a world that keeps its network log, so that the log does not come from the browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from arena_kit.errors import PlatformFault
from arena_kit.rollout.values.strict_json import NotJson, parse_json
from arena_kit.rollout.worlds.walls import common_walls

PROGRAM = Path(__file__).with_name("inside") / "front_proxy.py"
NAME, PORT, LOG = "_front", 61_999, "/var/tmp/front.jsonl"  # noqa: S108  # inside the container
"""Its name among the containers of a world; no service can be called so. Services must leave the port alone."""
READY = "listening"
"""The line that the proxy prints once it accepts."""
MEMORY_BYTES, PIDS = 128 << 20, 32


def front_options(
    image: str, origins: Sequence[str], network: str, labels: Mapping[str, str], name: str
) -> Mapping[str, Any]:
    """Return the options of the container. image: one with Python. network: the container whose network it joins."""
    return {
        **common_walls(image, labels, name),
        "entrypoint": ["python3", "-I", "-S", "-c", PROGRAM.read_text(encoding="utf-8")],
        "command": [str(PORT), LOG, *origins],
        "user": "65534:65534",
        "working_dir": "/",
        "network_mode": f"container:{network}",
        "mem_limit": MEMORY_BYTES,
        "memswap_limit": MEMORY_BYTES,
        "pids_limit": PIDS,
        "nano_cpus": int(1e9),
    }


def requests_kept(log: bytes) -> list[Mapping[str, Any]]:
    """Return the requests of a log in the order in which they were made. Raises PlatformFault."""
    try:
        found = [parse_json(line) for line in log.decode("utf-8", "replace").splitlines()]
        return sorted(found, key=lambda each: int(each["number"]))
    except (NotJson, KeyError, TypeError, ValueError):
        raise PlatformFault("The log of the proxy cannot be read.", code="front_failed") from None
