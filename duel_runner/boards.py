"""The boards at which a player waits for a person: sittings that are kept between two of its moves."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from multiprocessing.util import Finalize

from arena_kit.referee.sitting import Sitting
from arena_kit.sandbox.warm import JANITOR_SECONDS, memory_is_free


class Boards:
    """Sittings by the keys of their rows. Safe to use from several threads; a row's claim keeps two from one board.

    most: how many are kept; the board left longest ago goes first. idle_seconds: how long one is kept. A sitting that
    is not kept costs only time: a fresh player is asked everything again.
    """

    def __init__(self, *, most: int, idle_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._idle_seconds, self._clock = most, idle_seconds, clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, tuple[Sitting, float]] = OrderedDict()
        threading.Thread(target=self._look_after, name="boards-janitor", daemon=True).start()
        # Before the workplace, which removes the containers that are idle by then.
        Finalize(self, self.close, exitpriority=15)

    def take(self, key: int) -> Sitting | None:
        """Return the sitting that is kept, for the caller alone."""
        with self._lock:
            kept = self._kept.pop(key, None)
        return None if kept is None else kept[0]

    def keep(self, key: int, sitting: Sitting) -> None:
        """Keep a sitting until its next move."""
        with self._lock:
            self._kept[key] = (sitting, self._clock())

    def trim(self) -> None:
        """Close what is too many or too old, and while the host is short of memory the board left longest ago."""
        before = self._clock() - self._idle_seconds
        room = self._most if memory_is_free() else min(self._most, len(self._kept) - 1)
        self._close(lambda count, since: count > room or since <= before)

    def close(self) -> None:
        """Close all."""
        self._close(lambda *_: True)

    def _close(self, is_due: Callable[[int, float], bool]) -> None:
        while True:
            with self._lock:
                key = next(iter(self._kept), None)
                if key is None or not is_due(len(self._kept), self._kept[key][1]):
                    return
                sitting, _ = self._kept.pop(key)
            sitting.close()

    def _look_after(self) -> None:
        while True:
            time.sleep(JANITOR_SECONDS)
            self.trim()
