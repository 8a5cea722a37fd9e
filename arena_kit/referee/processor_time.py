"""The core that both players of a duel share: who used it, whose time it was, and who burns it out of turn."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

LOOK_SECONDS = 0.0005
BURNED_SECONDS = 0.2
"""Processor time out of turn from which a player is looked at."""
BURNED_FRACTION = 0.25
"""Share of the time out of turn that it may use the processor for."""


class Side(Protocol):
    """One player, as far as its use of the processor is concerned."""

    index: int

    def cpu_seconds(self) -> float | None:
        """Processor time of its container so far; None where nobody can tell."""

    def throttle(self) -> None:
        """Give it the processor only while nobody else wants it."""


@dataclass(slots=True)
class _Use:
    """What is known of one player. Processor seconds are readings of its container's clock."""

    cpu: float | None = None
    """When its last answers were read, or its container was started."""
    rival_cpu: float | None = None
    """The other player's, when this one's clock began to run."""
    idle_since: float | None = None
    """Since when nobody has asked it anything; None while it is asked."""
    idle_cpu: float = 0.0
    idle_seconds: float = 0.0
    is_throttled: bool = False


class Processor:
    """Reads the players' processor time whenever questions go out and answers come in.

    A player is charged the time from a question to its answer less what its rival's processes took of the common core
    meanwhile, but never less than its own processor time. One that uses the processor while it is not asked anything
    gets it from then on only when nobody else wants it.
    """

    def __init__(self, sides: tuple[Side, Side], *, one_core: bool, clock: Callable[[], float]) -> None:
        self._sides, self._one_core, self._clock = sides, one_core, clock
        self._uses = (_Use(), _Use())
        self._read: tuple[float | None, float | None] = (None, None)
        self._read_at = -math.inf

    def started(self, player: int) -> None:
        """A container of the player has been started."""
        throttled = self._uses[player].is_throttled
        use = self._uses[player]
        self._read_at = -math.inf
        use.cpu, use.idle_since, use.is_throttled = self._look()[1][player], None, False
        # Another container has another clock.
        self._uses[1 - player].rival_cpu = use.cpu
        if throttled:
            self._throttle(player)

    def asked(self, player: int) -> bool:
        """A player that had no open question has been asked: its clock begins to run.

        Returns whether it was throttled, which is a call to the engine and may take its time.
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
        """Answers have been read: (seconds to charge of these `seconds`, processor seconds of the player for them)."""
        use = self._uses[player]
        now, cpus = self._look()
        cpu, rival_cpu = cpus[player], cpus[1 - player]
        own = cpu - use.cpu if cpu is not None and use.cpu is not None else 0.0
        charged = max(min(own, seconds), seconds - self._rival_took(use, rival_cpu))
        use.cpu, use.rival_cpu = cpu, rival_cpu
        use.idle_since = now if is_idle else None
        return charged, own

    def forgiven(self) -> None:
        """The referee was busy elsewhere: both players' clocks begin to run anew."""
        _, cpus = self._look()
        for player, use in enumerate(self._uses):
            use.rival_cpu = cpus[1 - player]

    def excused(self, player: int) -> float:
        """Seconds since the player's clock began to run that were its rival's doing."""
        return self._rival_took(self._uses[player], self._look()[1][1 - player])

    def _look(self) -> tuple[float, tuple[float | None, float | None]]:
        """Now, and the players' processor time, not older than LOOK_SECONDS: quick moves are not slowed by looking."""
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
