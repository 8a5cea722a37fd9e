"""What every sandbox does alike: find the player's folder, set its environment, wait until it has connected."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from duel_runner.sandbox.base import FOLDER_PREFIX, Container, Ending, Launch, PlayerDidNotStart, SandboxError
from duel_runner.sandbox.channel import Channel

PLAYER_SERVER = Path(__file__).resolve().parents[2] / "builder" / "image" / "player_server.py"
PLAYER_ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    # A player has one core: more threads would only wait for each other.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


class Starting(Container, Protocol):
    """A container whose player has not connected yet."""

    def is_alive(self) -> bool:
        """Whether it still runs."""

    def kill(self) -> None:
        """End it, so that its log is complete."""

    def connected(self, wire: socket.socket) -> None:
        """Called once, when the player has connected."""


Started = TypeVar("Started", bound=Starting)


def player_folder(image: str) -> Path | None:
    """The folder that a `folder:PATH` image names, None for an image of an engine. Raises SandboxError."""
    if not image.startswith(FOLDER_PREFIX):
        return None
    folder = Path(image.removeprefix(FOLDER_PREFIX)).resolve()
    if not folder.is_dir():
        raise SandboxError(f"The unpacked player {folder.name} is missing on this host.", code="image_missing")
    return folder


def start_player(launch: Launch, channel_dir: Path, start: Callable[[Channel], Started]) -> Started:
    """Open a channel, start a container on it, and return it once its player has connected.

    Whatever goes wrong, nothing is left over. Raises PlayerDidNotStart when the container came up but its player did
    not connect in time, and what `start` raises.
    """
    limits = launch.limits
    channel = Channel(channel_dir, limits.log_limit_bytes)
    try:
        container = start(channel)
    except BaseException:
        channel.close()
        raise
    try:
        wire = channel.accept(limits.start_seconds, container.is_alive)
        if wire is None:
            ending = container.ending()
            container.kill()
            raise PlayerDidNotStart(_reason(ending, limits.start_seconds), log=container.log(), ending=ending)
    except BaseException:
        container.close()
        raise
    container.connected(wire)
    return container


def _reason(ending: Ending, seconds: float) -> str:
    if ending is Ending.RUNNING:
        return f"The player was not ready within {seconds:g} s."
    return "The player ended before it was ready: see its log."
