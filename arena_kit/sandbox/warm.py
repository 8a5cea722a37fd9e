"""Keeps containers with loaded players between the duels of a worker, to save the time of starting them."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from arena_kit.environment.spec import Limits
from arena_kit.machine.processes import allowed_cores, run_on
from arena_kit.sandbox.base import Host, Launch, PlayerDidNotStart, Sandbox, SandboxError, Slot

logger = logging.getLogger(__name__)

KEPT_MEMORY_FRACTION = 0.2
"""No containers are kept or prepared while less than this fraction of the host's memory is free."""
MEMORY_FIGURES = Path("/proc/meminfo")
JANITOR_SECONDS = 15.0


class Key(NamedTuple):
    """The properties that two launches must share to use the same container."""

    image: str
    limits: Limits
    core: int | None
    fresh: bool
    packages: str

    @classmethod
    def of(cls, launch: Launch) -> Key:
        return cls(launch.image, launch.limits, launch.core, launch.fresh, launch.packages)


@dataclass(frozen=True, slots=True)
class Idle:
    """A container that waits for its next duel. since: when it became idle, by the pool's clock."""

    key: Key
    host: Host
    since: float


class WarmPlayers:
    """A worker's pool of containers with loaded players. Safe to use from several threads.

    capacity: number of idle containers to keep. idle_seconds: how long to keep an idle container.
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
        self._lock = threading.RLock()
        self._idle: list[Idle] = []
        """Ordered by the time since which they are idle, the longest first."""
        self._starting: dict[Key, list[Future[Host]]] = {}
        """Containers being prepared that no duel has asked for yet."""
        self._unclosed: list[Host] = []
        """Containers whose removal failed; `close_idle` tries again."""
        self._is_closed = False
        # The helpers must not inherit a thread's pinning to a core, or they would compete with the duel there.
        self._helpers = ThreadPoolExecutor(2, "warm-players", initializer=run_on, initargs=(allowed_cores(),))
        self._closing = threading.Event()
        if capacity:
            threading.Thread(target=self._look_after, name="warm-janitor", daemon=True).start()

    def slot(self, launch: Launch) -> Slot:
        """Return a slot for one duel, in an idle container if there is one; closing it gives the container back.

        Raises SandboxError and PlayerDidNotStart.
        """
        key = Key.of(launch)
        waiting = self._take(key)
        if waiting is not None:
            # An idle container may have died meanwhile, e.g. when the host ran out of memory; only a new one's failure
            # counts.
            with contextlib.suppress(SandboxError, PlayerDidNotStart):
                return self._slot(key, waiting)
        return self._slot(key, self._sandbox.start(launch))

    def prepare(self, duels: Sequence[Sequence[Launch]]) -> None:
        """Start the containers in the background that these duels will need and that do not exist yet.

        The duels are played one after another, so a player in several duels needs as many containers as the duel that
        needs most of them.
        """
        launches = {Key.of(launch): launch for duel in duels for launch in duel}
        needed: Counter[Key] = Counter()
        for duel in duels:
            needed |= Counter(map(Key.of, duel))
        with self._lock:
            needed -= Counter(idle.key for idle in self._idle)
            needed -= Counter({key: len(futures) for key, futures in self._starting.items()})
            for number, key in enumerate(needed.elements()):
                room = self._capacity - sum(map(len, self._starting.values()))
                if self._is_closed or room <= 0 or not memory_is_free():
                    return
                launch = launches[key]
                # Names must be unique, also when a duel needs two containers of the same player.
                launch = replace(launch, name=f"{launch.name}-{number}", in_background=True)
                future = self._helpers.submit(self._sandbox.start, launch)
                self._starting.setdefault(key, []).append(future)
                future.add_done_callback(lambda done, key=key: self._started(key, done))  # type: ignore[misc]

    def close(self) -> None:
        """Remove all idle containers; those in a duel are removed when the duel is over."""
        with self._lock:
            self._is_closed = True
            hosts = [idle.host for idle in self._idle] + self._unclosed
            starting = [future for futures in self._starting.values() for future in futures]
            self._idle, self._unclosed = [], []
        self._closing.set()
        for future in starting:
            # A start that is under way cannot be cancelled; `_put_back` removes its container.
            future.cancel()
        for host in hosts:
            self._helpers.submit(self._close, host)
        self._helpers.shutdown(wait=True)

    def close_idle(self) -> int:
        """Remove containers that were idle for longer than `idle_seconds`; return how many."""
        limit = self._clock() - self._idle_seconds
        with self._lock:
            old = [idle.host for idle in self._idle if idle.since <= limit]
            self._idle = [idle for idle in self._idle if idle.since > limit]
            again, self._unclosed = self._unclosed, []
        for host in (*old, *again):
            self._close(host)
        return len(old)

    def _slot(self, key: Key, host: Host) -> Slot:
        try:
            slot = host.slot()
        except BaseException:
            self._retire(host)
            raise
        slot.on_close = lambda host: self._put_back(key, host)
        return slot

    def _take(self, key: Key) -> Host | None:
        """Return an idle container, or one that is being prepared; None when neither is usable."""
        with self._lock:
            for idle in reversed(self._idle):
                if idle.key == key:
                    self._idle.remove(idle)
                    return idle.host
            futures = self._starting.get(key)
            if not futures:
                return None
            future = futures.pop(0)
        if future.cancel():
            return None
        # Beside a running duel the start may have been too slow. The caller tries again alone, and that result counts.
        with contextlib.suppress(SandboxError, PlayerDidNotStart):
            return future.result()
        return None

    def _started(self, key: Key, done: Future[Host]) -> None:
        """Keep a container that has been prepared, unless a duel already waits for it."""
        with self._lock:
            futures = self._starting.get(key, [])
            is_wanted = done not in futures
            if not is_wanted:
                futures.remove(done)
        if done.cancelled() or done.exception() is not None or is_wanted:
            return
        host = done.result()
        if host.why_cold:
            # What keeps it from forking, e.g. a thread, may use the processor while it waits, at another duel's cost.
            self._retire(host)
        else:
            self._put_back(key, host)

    def _put_back(self, key: Key, host: Host) -> None:
        with self._lock:
            if host.reusable and not self._is_closed and self._capacity and memory_is_free():
                self._idle.append(Idle(key, host, self._clock()))
                surplus = [idle.host for idle in self._idle[: -self._capacity]]
                self._idle = self._idle[-self._capacity :]
            else:
                surplus = [host]
        for other in surplus:
            self._retire(other)

    def _retire(self, host: Host) -> None:
        """Remove a container in the background, so that the next duel need not wait for it."""
        with self._lock:
            if not self._is_closed:
                self._helpers.submit(self._close, host)
                return
        self._close(host)

    def _close(self, host: Host) -> None:
        try:
            host.close()
        except SandboxError as error:
            logger.warning("A player's container could not be removed: %s", error)
            with self._lock:
                self._unclosed.append(host)

    def _look_after(self) -> None:
        while not self._closing.wait(JANITOR_SECONDS):
            self.close_idle()


def memory_is_free() -> bool:
    """Return whether the host has memory for players that only wait."""
    try:
        lines = MEMORY_FIGURES.read_text().splitlines()
        figures = {name: int(value.split()[0]) for name, _, value in (line.partition(":") for line in lines)}
        return figures["MemAvailable"] > KEPT_MEMORY_FRACTION * figures["MemTotal"]
    except (OSError, KeyError, ValueError, IndexError):
        return True
