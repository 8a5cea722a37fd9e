"""Waiting for runs: any number of calls are futures, and one poller asks the database for all of them."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection

from core.duels.run_selectors import RunState
from executor.statuses import CallEnded, Code

logger = logging.getLogger(__name__)
PAUSE_SECONDS = 0.25
Read = Callable[[Collection[int]], Awaitable[dict[int, RunState]]]


class WaitingCalls:
    """Calls that wait for the ends of runs. read: fetches the states of runs, those that are gone left out."""

    def __init__(self, read: Read, *, pause_seconds: float = PAUSE_SECONDS) -> None:
        self._read, self._pause_seconds = read, pause_seconds
        self._calls: dict[int, list[asyncio.Future[RunState]]] = defaultdict(list)
        self._filled = asyncio.Event()
        self._closed: CallEnded | None = None

    @property
    def count(self) -> int:
        """The number of calls that wait."""
        return sum(map(len, self._calls.values()))

    async def end(self, run_id: int) -> RunState:
        """Return the last state of a run. Raises CallEnded."""
        if self._closed is not None:
            raise self._closed
        future: asyncio.Future[RunState] = asyncio.get_running_loop().create_future()
        self._calls[run_id].append(future)
        self._filled.set()
        try:
            return await future
        finally:
            self._forget(run_id, future)

    async def poll(self) -> None:
        """Ask for the runs that calls wait for, again and again; for none, nothing is asked."""
        while True:
            await self._filled.wait()
            try:
                asked = list(self._calls)
                states = await self._read(asked)
            except Exception as error:
                # The calls wait on: each has a deadline of its own.
                logger.warning("Runs cannot be followed now: %s", error)
            else:
                self._tell(asked, states)
            await asyncio.sleep(self._pause_seconds)

    def close(self, reason: CallEnded) -> None:
        """End all calls that wait, and those that come."""
        self._closed = reason
        for calls in self._calls.values():
            for future in calls:
                if not future.done():
                    future.set_exception(reason)

    def _tell(self, asked: list[int], states: dict[int, RunState]) -> None:
        for run_id in asked:
            state = states.get(run_id)
            for future in self._calls.get(run_id, ()):
                if future.done():
                    continue
                if state is None:
                    future.set_exception(CallEnded(Code.NOT_FOUND, "This run has been deleted."))
                elif state.is_over:
                    future.set_result(state)

    def _forget(self, run_id: int, future: asyncio.Future[RunState]) -> None:
        left = [call for call in self._calls[run_id] if call is not future]
        if left:
            self._calls[run_id] = left
            return
        del self._calls[run_id]
        if not self._calls:
            self._filled.clear()
