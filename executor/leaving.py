"""Callers that go away: their runs are cancelled a little later, unless a call asks for them again."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

GRACE_SECONDS = 30.0
"""A broken connection and a cancelled call look the same here, and a client with a broken one comes back."""


class Leaving:
    """Who waits for which run. cancel: cancels a run. timers: by run, of those whose callers are gone."""

    def __init__(self, cancel: Callable[[int], Awaitable[object]]) -> None:
        self._cancel = cancel
        self._present: Counter[int] = Counter()
        self.timers: dict[int, asyncio.Task[None]] = {}

    @contextmanager
    def waits(self, run_id: int, *, is_detached: bool) -> Iterator[None]:
        """Be there for a run. is_detached: whether it goes on without its caller."""
        self.seen(run_id)
        self._present[run_id] += 1
        try:
            yield
        except asyncio.CancelledError:
            if self._present[run_id] == 1 and not is_detached:
                self._count_down(run_id)
            raise
        finally:
            self._present[run_id] -= 1
            if not self._present[run_id]:
                del self._present[run_id]

    def seen(self, run_id: int) -> None:
        """Note that a call asks for a run."""
        if (timer := self.timers.pop(run_id, None)) is not None:
            timer.cancel()

    def left(self, run_id: int) -> None:
        """Note that the caller of a run has gone before it could wait for it."""
        if run_id not in self._present and run_id not in self.timers:
            self._count_down(run_id)

    def close(self) -> None:
        """Cancel no run any more: they go on without this process."""
        for run_id in list(self.timers):
            self.seen(run_id)

    def _count_down(self, run_id: int) -> None:
        self.timers[run_id] = asyncio.get_running_loop().create_task(self._later(run_id))

    async def _later(self, run_id: int) -> None:
        await self._pause()
        self.timers.pop(run_id, None)
        await self._cancel(run_id)

    async def _pause(self) -> None:
        await asyncio.sleep(GRACE_SECONDS)
