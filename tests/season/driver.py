"""Injects faults, sees each take effect, and measures how long the arena takes to be over it."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker.errors import DockerException
from requests import RequestException

from arena_kit.image.engine import NoEngine, connect
from tests.season.season import Season, Workers, again
from tests.season.services import CannotRun, Engine, Postgres, RedisServer, state_of, until
from tests.season.stores import Store

CATCH_SECONDS = 60.0
RECOVER_SECONDS = 120.0
TRIES = 3
"""Of a fault that did not take effect: its victim was quicker, or another fault was in the way."""
HANDS = 8
"""Faults under way at once."""
HOSTS = 3
"""Further hosts of workers at once: their workers are to get some of the work, and some of the processors."""


class NotInjected(Exception):
    """The fault did not take effect and does not count; the message says why."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A worker that was caught at a place and waits there."""

    number: int
    pid: int
    worker: str
    facts: dict[str, Any]

    @property
    def host(self) -> list[int]:
        """The processes of its whole host: `run_workers`, and all that it has forked."""
        parent = int(Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[1])
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        return [parent, *map(int, children)]


@dataclass(frozen=True, slots=True)
class Injected:
    """A fault that took effect. seconds: until the arena was over it, None when it was not in RECOVER_SECONDS."""

    kind: str
    seconds: float | None
    detail: str


@dataclass(frozen=True, slots=True)
class Services:
    """What may be broken beside workers. number: of the season's Redis database."""

    postgres: Postgres
    redis: RedisServer
    engine: Engine
    store: Store
    database: str
    number: int


Fault = Callable[["Driver", random.Random], tuple[float | None, str]]
"""Injects once; returns the seconds to recover and what was hit. Raises NotInjected."""


class Driver:
    """Works through a deck of faults, several at once."""

    def __init__(self, season: Season, workers: Workers, services: Services, seed: int) -> None:
        self.season, self.workers, self.services = season, workers, services
        self.injected: list[Injected] = []
        self.failed: list[str] = []
        self._numbers = itertools.count(1)
        self._locks = {
            name: threading.Lock() for name in ("engine", "postgres", "redis", "store", "clock", "scaler", "host")
        }
        self._seed = seed
        self.scaler: object = None
        self.room_for_hosts = threading.BoundedSemaphore(HOSTS)

    def run(self, deck: list[tuple[str, Fault]], deadline: float) -> None:
        """Inject every fault of the deck, or as many as come before the deadline (monotonic seconds)."""
        from django.db import Error, connection

        waiting: queue.SimpleQueue[tuple[int, int, str, Fault]] = queue.SimpleQueue()
        for number, (kind, fault) in enumerate(deck):
            waiting.put((number, 1, kind, fault))

        def work() -> None:
            while time.monotonic() < deadline:
                try:
                    number, turn, kind, fault = waiting.get_nowait()
                except queue.Empty:
                    return
                try:
                    seconds, detail = fault(self, random.Random(f"{self._seed}-{number}-{turn}"))
                except (NotInjected, CannotRun, OSError, Error) as error:
                    self.failed.append(f"{kind}: {error}")
                    if turn < TRIES:
                        waiting.put((number, turn + 1, kind, fault))
                else:
                    self.injected.append(Injected(kind, seconds, detail))
                    shown = "not recovered" if seconds is None else f"over after {seconds:.1f} s"
                    print(f"  {len(self.injected):4d} {kind}: {detail}; {shown}", flush=True)

        def hand() -> None:
            try:
                work()
            finally:
                connection.close()

        hands = [threading.Thread(target=hand, name=f"hand-{number}") for number in range(HANDS)]
        for thread in hands:
            thread.start()
        for thread in hands:
            thread.join()

    @contextlib.contextmanager
    def alone_with(self, name: str) -> Iterator[None]:
        """Only one fault at a time breaks the same service."""
        with self._locks[name]:
            yield

    # --- Catching workers -----------------------------------------------------------------------------------

    @contextlib.contextmanager
    def caught(self, place: str) -> Iterator[Hit]:
        """A worker that waits at a place of `tests.season.worker`; it goes on afterwards, if it still can."""
        number = next(self._numbers)
        armed, hit = (self.season.hooks / f"{name}-{number}" for name in (f"arm-{place}", "hit"))
        armed.touch()
        try:
            deadline = time.monotonic() + CATCH_SECONDS
            while not hit.exists():
                if time.monotonic() > deadline:
                    raise NotInjected(f"no worker reached {place}")
                time.sleep(0.01)
            facts = json.loads(hit.read_text())
            assert facts["place"] == place
            yield Hit(number, facts["pid"], facts["worker"], facts)
        finally:
            armed.unlink(missing_ok=True)
            self.let_go(number)

    def let_go(self, number: int) -> None:
        (self.season.hooks / f"go-{number}").touch()

    def clock(self, worker: str) -> tuple[int, float]:
        """Process of a duel worker and seconds by which its clock is ahead. Raises NotInjected."""
        try:
            pid, seconds = (self.season.hooks / f"clock-{worker}").read_text().split()
            return int(pid), float(seconds) - time.time()
        except (OSError, ValueError):
            raise NotInjected(f"{worker} shows no clock") from None

    # --- Looking at the arena -------------------------------------------------------------------------------

    def job(self, hit: Hit) -> Any:
        """The row of the job that a caught worker was at."""
        from core.jobs.kinds import JOB_MODELS

        return again(lambda: JOB_MODELS[hit.facts["kind"]]._default_manager.get(pk=hit.facts["job"]))()

    def runs_elsewhere(self, hit: Hit) -> bool:
        """Return whether the job has been taken by another worker, or even finished by it."""
        job = self.job(hit)
        is_other = job.claim_token is not None and str(job.claim_token) != hit.facts["token"]
        return is_other and job.state in ("RUNNING", "SUCCEEDED")

    def is_over(self, hit: Hit) -> bool:
        return bool(self.job(hit).is_over)

    def seconds_until(self, true: Callable[[], bool], begun: float) -> float | None:
        """Seconds from `begun` until something was true; None when it was not in RECOVER_SECONDS."""
        while time.monotonic() - begun < RECOVER_SECONDS:
            if true():
                return time.monotonic() - begun
            time.sleep(0.1)
        return None

    def next_success(self, begun: float) -> float | None:
        """Seconds until a duel or validation that was claimed from now on has been finished."""
        from django.db.models.functions import Now

        from core.models import Duel, Environment, Validation

        now = again(lambda: Environment.objects.annotate(now=Now()).values_list("now", flat=True)[0])()

        @again
        def has_succeeded() -> bool:
            return any(
                model._default_manager.filter(state="SUCCEEDED", started_at__gt=now).exists()
                for model in (Duel, Validation)
            )

        return self.seconds_until(has_succeeded, begun)

    @contextlib.contextmanager
    def engine(self) -> Iterator[Any]:
        """A client of the season's engine. Its silence is another fault's doing."""
        try:
            client = connect(10)
            try:
                yield client
            finally:
                client.close()
        except (NoEngine, DockerException, RequestException) as error:
            raise NotInjected(f"the engine does not answer: {type(error).__name__}") from error


def kill(pid: int, *, host: Sequence[int] = ()) -> float:
    """SIGKILL a process, or the groups of a whole host, stopped first so that none sees another's end; return when it
    was seen dead (monotonic seconds). Raises NotInjected."""
    try:
        if not host:
            os.kill(pid, signal.SIGKILL)
        groups = [os.getpgid(one) for one in host]
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for group in groups:
                os.killpg(group, number)
    except ProcessLookupError:
        raise NotInjected(f"process {pid} had ended already") from None
    begun = time.monotonic()
    until(lambda: not state_of(pid), 10, f"the end of process {pid}")
    return begun


def stop(pid: int) -> None:
    """SIGSTOP a process and see it stopped. Raises NotInjected."""
    try:
        os.kill(pid, signal.SIGSTOP)
    except ProcessLookupError:
        raise NotInjected(f"process {pid} had ended already") from None
    until(lambda: state_of(pid) in ("T", ""), 5, f"process {pid} stopped")
    if state_of(pid) != "T":
        raise NotInjected(f"process {pid} ended instead of stopping")


def partial_file(files: Mapping[str, int], name: str, size: int, *, is_folder: bool) -> None:
    """Raise NotInjected unless a folder has a file with less than it should have, or a bucket none at all."""
    if (name in files and files[name] >= size) or is_folder != (name in files):
        raise NotInjected(f"{name} is not half written")
