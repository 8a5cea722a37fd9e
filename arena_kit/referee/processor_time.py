"""Divides the time on the core that both players of a duel share, and throttles a player that uses it out of turn."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

LOOK_SECONDS = 0.0005
"""The clocks of the containers are read at most this often, because reading them slows quick moves."""
BURNED_SECONDS = 0.2
"""A player with less processor time out of turn than this is never throttled."""
BURNED_FRACTION = 0.25
"""The largest share of the time out of turn in which a player may use the processor."""


class ChargedPlayer(Protocol):
    """The parts of a player that this module needs."""

    index: int

    def cpu_seconds(self) -> float | None:
        """Return the processor time of its container so far; None when unknown."""

    def throttle(self) -> None:
        """Give it the processor only while no other process needs it."""


@dataclass(slots=True)
class _Use:
    """The known use of the processor by one player."""

    cpu: float | None = None
    """Its processor time when its last answers were read, or its container was started."""
    rival_cpu: float | None = None
    """The other player's processor time when this one's clock began to run."""
    idle_since: float | None = None
    """The time since which it has no open question; None while it has one."""
    idle_cpu: float = 0.0
    """Processor time that it has used without an open question."""
    idle_seconds: float = 0.0
    """Wall time that it has been without an open question."""
    is_throttled: bool = False


class Processor:
    """Reads the players' processor time whenever questions are sent and answers arrive.

    A player is charged the time from a question to its answer, less what its rival's processes used of the shared core
    meanwhile, but at least its own processor time. A player that uses the processor without an open question is
    throttled: it gets the processor only while no other process needs it.
    """

    def __init__(
        self, sides: tuple[ChargedPlayer, ChargedPlayer], *, one_core: bool, clock: Callable[[], float]
    ) -> None:
        self._sides, self._one_core, self._clock = sides, one_core, clock
        self._uses = (_Use(), _Use())
        self._read: tuple[float | None, float | None] = (None, None)
        self._read_at = -math.inf

    def started(self, player: int) -> None:
        """Note that a container of the player has been started."""
        throttled = self._uses[player].is_throttled
        use = self._uses[player]
        self._read_at = -math.inf
        use.cpu, use.idle_since, use.is_throttled = self._look()[1][player], None, False
        # The clock of a new container starts anew.
        self._uses[1 - player].rival_cpu = use.cpu
        if throttled:
            self._throttle(player)

    def asked(self, player: int) -> bool:
        """Start the clock of a player that had no open question and now has one.

        Return whether the player was throttled, because that calls the engine and may take long.
        """
        use = self._uses[player]
        now, cpus = self._look()
        use.rival_cpu = cpus[1 - player]
        if use.idle_since is None:
            return False
        cpu, since, use.idle_since = cpus[player], use.idle_since, None
        if cpu is None or use.cpu is None:
            return False
        use.idle_seconds += now - since
        use.idle_cpu += cpu - use.cpu
        use.cpu = cpu
        if use.idle_cpu > BURNED_SECONDS and use.idle_cpu > BURNED_FRACTION * use.idle_seconds:
            return self._throttle(player)
        return False

    def answered(self, player: int, seconds: float, *, is_idle: bool) -> tuple[float, float]:
        """Note that a player's answers were read; return (seconds to charge, the player's processor seconds).

        seconds: wall time that the answers took. is_idle: whether the player has no open question now.
        """
        use = self._uses[player]
        now, cpus = self._look()
        cpu, rival_cpu = cpus[player], cpus[1 - player]
        own = cpu - use.cpu if cpu is not None and use.cpu is not None else 0.0
        charged = max(min(own, seconds), seconds - self._rival_took(use, rival_cpu))
        use.cpu, use.rival_cpu = cpu, rival_cpu
        use.idle_since = now if is_idle else None
        return charged, own

    def forgiven(self) -> None:
        """Restart both players' clocks after the referee was busy with something else."""
        _, cpus = self._look()
        for player, use in enumerate(self._uses):
            use.rival_cpu = cpus[1 - player]

    def excused(self, player: int) -> float:
        """Return the seconds that the rival has used of the core since the player's clock began to run."""
        return self._rival_took(self._uses[player], self._look()[1][1 - player])

    def _look(self) -> tuple[float, tuple[float | None, float | None]]:
        """Return the time now, and the players' processor times, which may be LOOK_SECONDS old."""
        now = self._clock()
        if now - self._read_at >= LOOK_SECONDS:
            self._read_at = now
            self._read = (self._sides[0].cpu_seconds(), self._sides[1].cpu_seconds())
        return now, self._read

    def _rival_took(self, use: _Use, rival_cpu: float | None) -> float:
        if not self._one_core or rival_cpu is None or use.rival_cpu is None:
            return 0.0
        return max(0.0, rival_cpu - use.rival_cpu)

    def _throttle(self, player: int) -> bool:
        use = self._uses[player]
        if not self._one_core or use.is_throttled:
            return False
        use.is_throttled = True
        self._sides[player].throttle()
        return True
