"""Keeps containers with loaded players between the duels of a worker, so that starting them does not dominate."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from duel_runner.sandbox.base import Host, Launch, Sandbox, SandboxError, Seat
from environments.spec import Limits

logger = logging.getLogger(__name__)

KEPT_MEMORY_FRACTION = 0.2
"""Nothing is kept while less of the host's memory than this is free."""
MEMORY_FIGURES = Path("/proc/meminfo")
JANITOR_SECONDS = 15.0


class Key(NamedTuple):
    """What two launches must share to use each other's container."""

    image: str
    limits: Limits
    core: int | None
    fresh: bool

    @classmethod
    def of(cls, launch: Launch) -> Key:
        return cls(launch.image, launch.limits, launch.core, launch.fresh)


@dataclass(frozen=True, slots=True)
class Idle:
    """A container that waits for its next duel. since: by the pool's clock."""

    key: Key
    host: Host
    since: float


class WarmPlayers:
    """A worker's containers with loaded players. Safe to use from several threads.

    capacity: containers kept while idle, 0 for none. idle_seconds: how long they are kept.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        *,
        capacity: int,
        idle_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sandbox, self._capacity, self._idle_seconds, self._clock = sandbox, capacity, idle_seconds, clock
        self._lock = threading.Lock()
        self._idle: list[Idle] = []
        """The longest unused first."""
        self._starting: dict[Key, list[Future[Host]]] = {}
        self._is_closed = False
        # Started from a thread that is pinned to its duel's core, they would compete with that duel.
        cores = _all_cores()
        self._helpers = ThreadPoolExecutor(2, "warm-players", initializer=_unpin, initargs=(cores,))
        self._closing = threading.Event()
        self._janitor = threading.Thread(target=self._look_after, name="warm-janitor", daemon=True)
        if capacity:
            self._janitor.start()

    def seat(self, launch: Launch) -> Seat:
        """The player, seated for one duel; when that is over its container goes back to the others.

        Raises SandboxError and PlayerDidNotStart.
        """
        key = Key.of(launch)
        for host in (self._take(key), None):
            host = host or self._started(key) or self._sandbox.start(launch)
            try:
                seat = host.seat()
            except SandboxError as error:
                self._retire(host)
                if error.code != "container_gone":
                    raise
            except BaseException:
                self._retire(host)
                raise
            else:
                seat.on_close = lambda host: self._put_back(key, host)
                return seat
        raise SandboxError("The player's container ended before its duel.", code="container_gone")

    def prepare(self, launches: Iterable[Launch]) -> None:
        """Start containers for these in the background, as far as there are none waiting for them."""
        if not self._capacity:
            return
        with self._lock:
            ready = [idle.key for idle in self._idle]
            for launch in launches:
                key = Key.of(launch)
                if key in ready:
                    ready.remove(key)
                elif not self._is_closed:
                    self._starting.setdefault(key, []).append(self._helpers.submit(self._sandbox.start, launch))

    def close(self) -> None:
        """Remove every container that waits; those in a duel are removed when it is over."""
        with self._lock:
            self._is_closed = True
            hosts = [idle.host for idle in self._idle]
            starting = [future for futures in self._starting.values() for future in futures]
            self._idle, self._starting = [], {}
        self._closing.set()
        for future in starting:
            if not future.cancel():
                future.add_done_callback(_close_started)
        for host in hosts:
            self._helpers.submit(_close, host)
        self._helpers.shutdown(wait=True)

    def close_idle(self) -> int:
        """Remove what has waited too long; return how many."""
        limit = self._clock() - self._idle_seconds
        with self._lock:
            old = [idle for idle in self._idle if idle.since <= limit]
            self._idle = [idle for idle in self._idle if idle.since > limit]
        for idle in old:
            _close(idle.host)
        return len(old)

    def _take(self, key: Key) -> Host | None:
        with self._lock:
            for idle in reversed(self._idle):
                if idle.key == key:
                    self._idle.remove(idle)
                    return idle.host
        return None

    def _started(self, key: Key) -> Host | None:
        """A container that is being started in the background. Raises what its start raised."""
        with self._lock:
            futures = self._starting.get(key)
            if not futures:
                return None
            future = futures.pop(0)
            if not futures:
                del self._starting[key]
        return None if future.cancel() else future.result()

    def _put_back(self, key: Key, host: Host) -> None:
        surplus: list[Host] = []
        with self._lock:
            if host.reusable and not self._is_closed and self._capacity and _memory_is_free():
                self._idle.append(Idle(key, host, self._clock()))
                surplus = [idle.host for idle in self._idle[: -self._capacity]]
                self._idle = self._idle[-self._capacity :]
            else:
                surplus = [host]
        for other in surplus:
            self._retire(other)

    def _retire(self, host: Host) -> None:
        """Remove a container in the background: that can wait for the next duel to be under way."""
        with self._lock:
            if not self._is_closed:
                self._helpers.submit(_close, host)
                return
        _close(host)

    def _look_after(self) -> None:
        while not self._closing.wait(JANITOR_SECONDS):
            self.close_idle()


def _close(host: Host) -> None:
    try:
        host.close()
    except SandboxError as error:
        logger.warning("A player's container could not be removed: %s", error)


def _close_started(started: Future[Host]) -> None:
    if started.exception() is None:
        _close(started.result())


def _memory_is_free() -> bool:
    try:
        lines = MEMORY_FIGURES.read_text().splitlines()
        figures = {name: int(value.split()[0]) for name, _, value in (line.partition(":") for line in lines)}
        return figures["MemAvailable"] > KEPT_MEMORY_FRACTION * figures["MemTotal"]
    except (OSError, KeyError, ValueError, IndexError):
        return True


def _all_cores() -> set[int] | None:
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None


def _unpin(cores: set[int] | None) -> None:
    if cores:
        os.sched_setaffinity(0, cores)
