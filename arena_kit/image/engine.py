"""Connects to the Docker engine of this host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import docker
import requests
from docker.constants import DEFAULT_UNIX_SOCKET
from docker.errors import DockerException
from docker.utils import kwargs_from_env

from arena_kit.machine.sockets import knock

ENGINE_SECONDS = 60
"""A call to the engine that takes longer counts as a platform fault."""
_PROBE_SECONDS = 5
LIMITS = {
    "MemoryLimit": "memory",
    "SwapLimit": "swap",
    "PidsLimit": "number of processes",
    "CpuCfsQuota": "CPU time",
    "CPUSet": "choice of cores",
}
"""The resources that the arena limits, by the key with which an engine reports that it can limit them."""


class NoEngine(Exception):
    """No engine answers; the message names what to check."""

    def __init__(
        self, message: str = "No Docker engine answers: it is not running, or this user may not use its socket."
    ) -> None:
        super().__init__(message)


def connect(seconds: int = ENGINE_SECONDS) -> docker.DockerClient:
    """Return a client of the engine that DOCKER_HOST names, or else of this host's socket. Raises NoEngine.

    seconds: the limit on one call, or on the silence within a streaming call.
    """
    _knock(str(kwargs_from_env().get("base_url") or DEFAULT_UNIX_SOCKET))
    try:
        return docker.from_env(timeout=seconds)
    except (DockerException, requests.RequestException) as error:
        raise NoEngine from error


def engine_version(seconds: int = ENGINE_SECONDS) -> str:
    """Return the engine's name and version, e.g. Docker 27.1.0. Raises NoEngine."""
    client = connect(seconds)
    try:
        return f"Docker {client.version()['Version']}"
    except (DockerException, requests.RequestException, KeyError) as error:
        raise NoEngine(f"The Docker engine does not answer as it should: {error}") from error
    finally:
        client.close()


def engine_is_down() -> bool:
    """Return whether no engine answers here, or only one that is too slow to start anything."""
    try:
        client = connect(_PROBE_SECONDS)
        try:
            client.ping()
        finally:
            client.close()
    except (NoEngine, DockerException, requests.RequestException):
        return True
    return False


def missing_limits(info: Mapping[str, Any]) -> list[str]:
    """Return the names of the limits that an engine accepts but does not enforce, according to its own `info`."""
    missing = [name for key, name in LIMITS.items() if not info.get(key)]
    if not any(option.startswith("name=seccomp") for option in info.get("SecurityOptions") or ()):
        missing.append("kernel calls")
    return missing


def _knock(address: str) -> None:
    # The library leaks a socket when no engine listens, and workers retry often, so the address is tried first.
    scheme, _, path = address.partition("://")
    if not scheme.endswith("unix"):
        return
    try:
        knock(path, _PROBE_SECONDS)
    except OSError as error:
        raise NoEngine from error
