"""The process that serves the queue of lots: a driver that holds many claims, woken every few seconds.

It runs as `manage.py run_workers lots`. Several may share an arena.
"""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from threading import Event, Thread

from django.conf import settings
from django.db import Error, close_old_connections, connection

from arena_kit.cluster.client import ApiCluster
from arena_kit.cluster.lots.driver import Driver
from arena_kit.sandbox.base import SandboxError
from core.jobs.claims import is_work_waiting
from core.jobs.heartbeat import Heartbeat
from core.jobs.hosts import worker_name
from core.jobs.stopping import ask_to_stop, has_time_to_finish, is_stopping
from core.jobs.tenants import lots_tenant
from duel_runner.lots.rows import LotRows

logger = logging.getLogger(__name__)

TICK_SECONDS = 5.0
"""Most seconds between two looks at the cluster, and the pause between two watches of it."""
SILENT_SECONDS = 60.0
"""After this long without a list of the cluster, the driver's row shows it, and with it the site's health."""
LOOK_SECONDS = 1.0
"""Seconds between two looks at the rows, which wake a driver that has room, and least between two at the cluster."""


@dataclass
class Driving:
    """A driver in its process.

    version: asks the cluster for its version; raises SandboxError if the cluster may not be used. Until the version is
    known nothing is claimed. changes: yields when something changes on the cluster, and may end, raise or hang.
    """

    driver: Driver
    version: Callable[[], str]
    changes: Callable[[], Iterable[None]] = tuple
    _version: str = ""
    _trouble: str = ""
    _changed: Event = field(default_factory=Event)

    def run(self) -> None:
        """Tick until this process is asked to stop, let lots that are nearly done end, and give the others back."""
        Thread(target=self._wake_by_changes, name="watch", daemon=True).start()
        while not is_stopping() or (self.driver.claimed and has_time_to_finish()):
            self.step()
            self._wait()
        self._safely(self.driver.stop)

    def step(self) -> None:
        """Tick once. Nothing that fails here ends the process: the next tick finds everything in rows and Jobs."""
        close_old_connections()
        self._safely(self._tick)

    def engine(self) -> dict[str, str]:
        """Return the state of the cluster for this process's row."""
        trouble = self._trouble or self.driver.trouble or self._silence()
        return {"engine": f"Kubernetes {self._version}".strip()[:60], "engine_error": trouble[:500]}

    def _silence(self) -> str:
        """Return how long ago the cluster was listed, if that is too long: a tick may hang. Another thread asks."""
        listed_at = self.driver.listed_at
        age = 0.0 if listed_at is None else self.driver.clock() - listed_at
        return f"The cluster was last listed {age:.0f} s ago." if age >= SILENT_SECONDS else ""

    def _tick(self) -> None:
        if not self._version:
            try:
                self._version, self._trouble = self.version(), ""
            except SandboxError as error:
                self._trouble = str(error)
                logger.warning("This driver takes no job: %s", error)
                return
        self.driver.tick()

    def _wait(self) -> None:
        until = time.monotonic() + TICK_SECONDS
        while time.monotonic() < until and not (is_stopping() and not self.driver.claimed):
            time.sleep(LOOK_SECONDS)
            if self._changed.is_set() or self._is_wanted():
                self._changed.clear()
                return

    def _wake_by_changes(self) -> None:
        """Let the next tick come sooner when something changes. A watch that ends or fails costs nothing but that."""
        while not is_stopping():
            try:
                for _ in self.changes():
                    self._changed.set()
            except SandboxError as error:
                logger.info("The cluster could not be watched: %s", error)
            time.sleep(TICK_SECONDS)

    def _is_wanted(self) -> bool:
        """Return whether a job waits that this driver could start now."""
        if is_stopping() or not self._version or self.driver.trouble or self.driver.room == 0:
            return False
        try:
            return is_work_waiting(settings.LOTS_QUEUE)
        except Error:
            connection.close()
            return False

    def _safely(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Error as error:
            logger.warning("The database does not answer this driver: %s", error)
            connection.close()
        except Exception:
            logger.exception("A tick of this driver failed.")


def drive() -> None:
    """Play lots on the cluster of the settings until SIGTERM, SIGHUP or Ctrl-C. Raises SandboxUnavailable."""
    where = lots_tenant()
    cluster = ApiCluster(where)

    def version() -> str:
        cluster.check()
        return cluster.version()

    rows = LotRows(settings.LOTS_QUEUE, lot_size=settings.KUBERNETES_OPTIONS["lot_size"])
    driver = Driver(rows, cluster, where, settings.KUBERNETES_OPTIONS["lots"], time.monotonic)
    driving = Driving(driver, version, cluster.changes)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: ask_to_stop())
    heartbeat = Heartbeat(worker_name(), settings.LOTS_QUEUE, driving.engine)
    heartbeat.start()
    driving.run()
    heartbeat.stop()
