"""Tries every way out. Anything that could reach another machine is tried only where `lo` is the sole interface."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from tests.hostile import probe
from tests.hostile.probe import tried

METADATA = ("169.254.169.254", 80)


def interfaces() -> list[str]:
    lines = Path("/proc/net/dev").read_text().splitlines()[2:]
    return sorted(line.split(":")[0].strip() for line in lines)


def connect(address: tuple[str, int], timeout: float = 0.3) -> None:
    socket.create_connection(address, timeout).close()


class Player(probe.Player):
    def attack(self) -> None:
        tried("interfaces", interfaces)
        tried("proxies", lambda: [name for name in os.environ if name.lower().endswith("_proxy")])
        if interfaces() == ["lo"]:
            tried("metadata address", connect, METADATA)
            tried("gateway of the engine", connect, ("172.17.0.1", 80))
            tried("server on this host", connect, ("127.0.0.1", 22))
            tried("name resolution", socket.getaddrinfo, "arena.example", 80)
