"""How often one caller may call. One process serves all calls of an address, so it counts by itself."""

from __future__ import annotations

import time
from collections.abc import Callable

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
MOST_CALLERS = 10_000
"""After so many callers in one period, the counts begin again: they must not fill the memory."""


class Rate:
    """A number of calls in a period, for each caller. rate: as in RATES, e.g. 1200/minute."""

    def __init__(self, rate: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        number, _, period = rate.partition("/")
        self._limit, self._seconds, self._clock = int(number), SECONDS[period[0]], clock
        self._counts: dict[str, tuple[float, int]] = {}

    def wait(self, caller: str) -> int:
        """Count a call; return 0 if it may pass, else the seconds until the next period."""
        begun, count = self._current(caller)
        if len(self._counts) >= MOST_CALLERS:
            self._counts.clear()
        self._counts[caller] = (begun, count + 1)
        return 0 if count < self._limit else self._left(begun)

    def _current(self, caller: str) -> tuple[float, int]:
        now = self._clock()
        begun, count = self._counts.get(caller, (now, 0))
        return (begun, count) if now - begun < self._seconds else (now, 0)

    def _left(self, begun: float) -> int:
        return max(1, round(begun + self._seconds - self._clock()))
