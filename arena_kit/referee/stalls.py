"""Notices that this process was held up: stopped by somebody, or left without a processor for long."""

from __future__ import annotations

import time

HELD_UP_SECONDS = 1.0
"""When waiting takes so much longer than asked for, nobody who was waited for had a part in it."""


class Stalls:
    """Looks at the kernel's own clock, by which waiting is done, whatever clock players are timed by."""

    def __init__(self) -> None:
        self._awake_at = time.monotonic()

    def was_held_up(self, waited_seconds: float) -> bool:
        """Call it after every wait. waited_seconds: the most that was to be waited since it was last called."""
        asleep_at, self._awake_at = self._awake_at, time.monotonic()
        return self._awake_at - asleep_at > waited_seconds + HELD_UP_SECONDS
