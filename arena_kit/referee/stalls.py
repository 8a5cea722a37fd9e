"""Notices when this process was held up, because it was stopped or had no processor."""

from __future__ import annotations

import time

STALL_SECONDS = 1.0
"""A wait that takes this much longer than planned means that this process was held up."""


class Stalls:
    """Measures waits by the kernel's monotonic clock, whichever clock players are timed by."""

    def __init__(self) -> None:
        self._awake_at = time.monotonic()

    def was_stalled(self, waited_seconds: float) -> bool:
        """Return whether the process was held up since the last call. Call it after every wait.

        waited_seconds: the longest that the process meant to wait since the last call.
        """
        asleep_at, self._awake_at = self._awake_at, time.monotonic()
        return self._awake_at - asleep_at > waited_seconds + STALL_SECONDS
