"""A worker's heartbeat: every few seconds its row shows its kind, its job and its state."""

from __future__ import annotations

import logging
import os
import platform
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from multiprocessing.util import Finalize

from django.conf import settings
from django.db import Error, connection
from django.db.models.functions import Now

from core.jobs.hosts import host_is_draining, host_name
from core.jobs.workers import worker_appear, worker_beat, worker_stop
from core.models import Job, Worker
from core.version import arena_version

logger = logging.getLogger(__name__)

BEAT_SECONDS = 5.0
ENGINE_BEATS = 6
"""Number of heartbeats between two checks whether the worker's engine answers."""
ENGINE_SECONDS = 5
ENGINE_QUEUES = ("build", "duel", "sitting", "quick", "heavy")
"""The queues whose workers start containers on an engine of their host, unless players run on a cluster."""


def engine_queues() -> tuple[str, ...]:
    """Return the queues whose workers need a container engine on their host."""
    players = {"docker": ENGINE_QUEUES, "kubernetes": ("build",)}.get(settings.SANDBOX, ())
    # Packages are built on Docker, and rollouts are played there unless that is done on a cluster.
    return (*players, settings.PACKAGE_QUEUE) if settings.PACKAGE_QUEUE in settings.QUEUES else players


@dataclass(slots=True)
class Activity:
    """The current job and counters of this process. Written by the working thread, read by the heartbeat's thread."""

    job_kind: str = ""
    job_id: int | None = None
    jobs_done: int = 0
    faults: int = 0
    last_fault: str = ""
    is_draining: bool = False
    """Whether its host is drained. Written by the heartbeat, read before a claim."""

    def begin(self, job: Job) -> None:
        self.job_kind, self.job_id = job.KIND, job.pk

    def end(self, *, is_done: bool) -> None:
        self.job_kind, self.job_id = "", None
        self.jobs_done += is_done

    def fault(self, sentence: str) -> None:
        """Count a platform fault on a job of this process."""
        self.faults += 1
        self.last_fault = sentence


activity = Activity()
"""The activity of this process."""


class Heartbeat:
    """Keeps the row of one worker process up to date, in its own thread, until the process ends.

    name: of the worker. queue: whose jobs it performs. engine: returns the fields of the row about what players run on;
    by default those of the container engine, where the queue needs one.
    """

    def __init__(self, name: str, queue: str, engine: Callable[[], dict[str, str]] | None = None) -> None:
        self._look_at_engine = engine or self._ask_engine
        self._name = name
        self._queue = queue
        self._worker: Worker | None = None
        self._faults_told = 0
        self._engine: dict[str, str] = {}
        self._beats = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Start the thread; the row is closed when multiprocessing ends the process in order."""
        self._thread.start()
        Finalize(self, self.stop, exitpriority=20)

    def stop(self) -> None:
        """Stop the thread, which then writes that this worker has ended."""
        self._stop.set()
        self._thread.join()

    def beat(self) -> None:
        """Write the row once."""
        now = replace(activity)
        if self._beats % ENGINE_BEATS == 0:
            self._engine = self._look_at_engine()
        self._beats += 1
        fields = asdict(now) | self._engine
        del fields["is_draining"]
        if now.faults > self._faults_told:
            fields["last_fault_at"] = Now()
        # If the row was pruned or deleted meanwhile, the worker appears anew.
        if self._worker is None or not worker_beat(worker=self._worker, fields=fields):
            self._worker = worker_appear(
                name=self._name,
                host=host_name(),
                pid=os.getpid(),
                queue=self._queue,
                version=arena_version(),
                python=platform.python_version(),
                **fields,
            )
        self._faults_told = now.faults
        activity.is_draining = host_is_draining(host_name())

    def _ask_engine(self) -> dict[str, str]:
        if self._queue not in engine_queues():
            return {}
        # Imported here: the engine's client takes long to load.
        from arena_kit.image.engine import NoEngine, engine_version

        try:
            return {"engine": engine_version(ENGINE_SECONDS)[:60], "engine_error": ""}
        except NoEngine as error:
            return {"engine_error": str(error)[:500]}

    def _run(self) -> None:
        try:
            while True:
                self._try(self.beat)
                if self._stop.wait(BEAT_SECONDS):
                    break
            if (worker := self._worker) is not None:
                self._try(lambda: worker_stop(worker=worker))
        finally:
            connection.close()

    def _try(self, write: Callable[[], None]) -> None:
        try:
            write()
        except Error:
            # A new connection may reach the database again at the next heartbeat.
            connection.close()
            logger.warning("The heartbeat of %s could not be written.", self._name, exc_info=True)
