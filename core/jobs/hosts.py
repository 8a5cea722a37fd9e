"""The name of this host, and whether it is drained: its workers finish what they do and begin nothing more."""

from __future__ import annotations

import os
import socket

from core.models import HostState, WorkerHost

_name = ""


def host_name() -> str:
    """Return the name of this host as pages show it, at most 80 characters."""
    return (_name or socket.gethostname())[:80]


def worker_name() -> str:
    """Return the name of this process, as pages show it beside jobs."""
    return f"{host_name()}:{os.getpid()}"


def host_call(name: str) -> None:
    """Give this process and its later forks another host's name, where several hosts share a machine."""
    global _name  # noqa: PLW0603  # one for each process
    _name = name


def host_is_draining(name: str) -> bool:
    """Return whether a host is being drained."""
    return WorkerHost.objects.filter(name=name, state=HostState.DRAINING).exists()
