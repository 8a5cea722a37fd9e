"""A player in a container of the referee's pod, which the kubelet started and only the cluster can inspect."""

from __future__ import annotations

from pathlib import Path

from arena_kit.environment.spec import Limits
from arena_kit.sandbox.base import Host, Launch, PlayerDidNotStart, Slot
from arena_kit.sandbox.channel import Channel, Listener
from arena_kit.sandbox.ending import Ending
from arena_kit.sandbox.host import PlayerHost

COME_UP_SECONDS = 300.0
"""Seconds that the containers of a pod may take to come up one after another, once the referee's has."""


class PodChannel(Channel):
    """The folder that the referee's container shares with one player's container; it goes with the pod."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def listen(self, name: str) -> Listener:
        return Listener(self.folder / name)

    def close(self) -> None:
        pass


class KubeletBox:
    """A container that only the kubelet can act on."""

    def raise_if_paused(self) -> None:
        pass

    def cpu_seconds(self) -> float | None:
        return None

    def throttle(self) -> None:
        pass

    def bring_forward(self) -> None:
        pass


class PodBox(KubeletBox):
    """The player's container as the referee sees it: it cannot see how the container ended."""

    def __init__(self, name: str) -> None:
        self.id = name
        self.is_lost = False
        """Whether the supervisor was lost, and so the whole container, which cannot be started again."""

    def is_alive(self) -> bool:
        return not self.is_lost

    def ending(self) -> Ending:
        """Count the loss of the container as the player's use of memory, for which the kernel ends all of it.

        The driver reads the reason in the pod's status, and drops the result if the container was killed from outside.
        """
        self.is_lost = True
        return Ending.OUT_OF_MEMORY

    def remove(self) -> None:
        """Leave it to the supervisor, which begins anew when the control connection closes."""


class PodPlayer:
    """Gives the slots of one player, for one duel after another."""

    def __init__(self, name: str, channel: Path, limits: Limits) -> None:
        self._launch = Launch(image="", name=name, limits=limits, labels={})
        self._channel, self._box = PodChannel(channel), PodBox(name)
        self._has_come_up = False
        self._idle: PlayerHost | None = None

    @property
    def is_lost(self) -> bool:
        """Return whether its container is gone; who is to blame stands in the pod's status."""
        return self._box.is_lost

    def launch(self) -> Slot:
        """Return a slot for one duel. Raises SandboxError and PlayerDidNotStart."""
        if self.is_lost:
            raise PlayerDidNotStart("Its container is gone.", log="", ending=Ending.OUT_OF_MEMORY)
        host, self._idle = self._idle, None
        if host is None:
            seconds = None if self._has_come_up else COME_UP_SECONDS
            self._has_come_up = True
            host = PlayerHost(self._launch, self._channel, lambda _: self._box, come_up_seconds=seconds)
        try:
            slot = host.slot()
        except BaseException:
            host.close()
            raise
        slot.on_close = self._put_back
        return slot

    def close(self) -> None:
        """Hang up; the container ends with the pod."""
        if self._idle is not None:
            self._idle.close()

    def _put_back(self, host: Host) -> None:
        if host.reusable:
            assert isinstance(host, PlayerHost)
            self._idle = host
        else:
            host.close()
