"""Opens a socket of every family: some of them know no network namespaces."""

from __future__ import annotations

import socket

from tests.hostile import probe
from tests.hostile.probe import tried

SOCKETS = {
    "tcp": (socket.AF_INET, socket.SOCK_STREAM), "udp": (socket.AF_INET, socket.SOCK_DGRAM),
    "tcp6": (socket.AF_INET6, socket.SOCK_STREAM), "raw": (socket.AF_INET, socket.SOCK_RAW),
    "netlink": (16, socket.SOCK_RAW), "packet": (17, socket.SOCK_RAW), "vsock": (40, socket.SOCK_STREAM),
    "alg": (38, socket.SOCK_SEQPACKET),
}  # fmt: skip


def make(family: int, kind: int) -> None:
    socket.socket(family, kind).close()


class Player(probe.Player):
    def attack(self) -> None:
        for name, (family, kind) in SOCKETS.items():
            tried(f"{name} socket", make, family, kind)
