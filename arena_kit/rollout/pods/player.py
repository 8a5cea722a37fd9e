"""The agent's player in the container of a world's pod, which the kubelet started and only the cluster can end."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from pathlib import Path

from arena_kit.cluster.pod_player import KubeletBox
from arena_kit.cluster.status import ending_of
from arena_kit.rollout.pods.calls import PodCalls
from arena_kit.rollout.pods.channel import RelayedChannel
from arena_kit.rollout.pods.manifest import PLAYER
from arena_kit.sandbox.base import EXIT_SECONDS, Container, Launch, SandboxError
from arena_kit.sandbox.ending import Ending
from arena_kit.sandbox.host import PlayerHost
from arena_kit.sandbox.slots import slot_once

COME_UP_SECONDS = 30.0
"""The container runs already; only its supervisor has to connect."""
MODEL, MODEL_SECONDS, PIECE_BYTES = "model.sock", 300.0, 1 << 16


def gateway_lead(channel: RelayedChannel, gateway: Path) -> None:
    """Lead the player's one connection to its model to the gateway of this process. Raises SandboxError."""
    listener = channel.listen(MODEL)

    def lead() -> None:
        try:
            player = listener.accept(time.monotonic() + MODEL_SECONDS, lambda: True)
        except SandboxError:
            return
        finally:
            listener.close()
        if player is not None:
            with player, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as ours, contextlib.suppress(OSError):
                ours.connect(str(gateway))
                there = threading.Thread(target=_carry, args=(ours, player), daemon=True)
                there.start()
                _carry(player, ours)
                there.join()

    threading.Thread(target=lead, daemon=True).start()


def _carry(source: socket.socket, target: socket.socket) -> None:
    """Hand on what one side says, and end both when it ends."""
    with contextlib.suppress(OSError):
        while data := source.recv(PIECE_BYTES):
            target.sendall(data)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


class WorldBox(KubeletBox):
    """The player's container, whose end stands in the pod's status."""

    def __init__(self, calls: PodCalls) -> None:
        self.id = calls.name
        self._calls = calls

    def is_alive(self) -> bool:
        return self._calls.is_running(PLAYER)

    def ending(self) -> Ending:
        """Return how it ended. Raises SandboxError if the whole pod is gone, which no player can cause."""
        ended = self._calls.ended(PLAYER, EXIT_SECONDS)
        return ending_of(ended) if ended else Ending.RUNNING

    def remove(self) -> None:
        """Leave it to the removal of the world."""


def player_launch(calls: PodCalls, channel: RelayedChannel, launch: Launch) -> Container:
    """Return the player of a world that runs. channel: its folder. Raises SandboxError and PlayerDidNotStart."""
    box = WorldBox(calls)
    if launch.model_folder:
        gateway_lead(channel, Path(launch.model_folder) / MODEL)
    return slot_once(PlayerHost(launch, channel, lambda _: box, come_up_seconds=COME_UP_SECONDS))
