"""django-q's cluster, so that its workers give back what they do when asked to stop, and none takes the others along.

The processes of a cluster share queues whose locks die with whoever holds them: a worker that is killed while it waits
for its next message would leave all others waiting for ever. So a cluster that loses a process to a signal ends as a
whole, and what keeps it running (`run_workers`, the container's restart policy) starts a new one.
"""

from __future__ import annotations

import os
import time
from multiprocessing import Value
from types import FrameType, TracebackType
from typing import Any, Self

from django.conf import settings
from django_q.cluster import Cluster, Sentinel
from django_q.conf import Conf, logger
from django_q.worker import worker

from core.jobs.reaper import reapers
from core.jobs.worker import ask_to_stop
from core.operations.exposition import serve


class NoLock:
    """In the place of a lock that a killed worker could take with it; its timer is one word, written at once."""

    def acquire(self, *_: Any) -> bool:
        return True

    def release(self) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


class ArenaSentinel(Sentinel):  # type: ignore[misc]  # django-q ships no types
    """Looks after a cluster's processes."""

    def spawn_worker(self) -> None:
        timer = Value("f", -1.0, lock=NoLock())  # type: ignore[call-overload]  # typeshed knows only real locks
        self.spawn_process(worker, self.task_queue, self.result_queue, timer, self.timeout)

    def reincarnate(self, process: Any) -> None:
        if (process.exitcode or 0) < 0:
            self._end(process)
        super().reincarnate(process)

    def _end(self, killed: Any) -> None:
        logger.critical("Process %s was killed by signal %s: this cluster ends.", killed.pid, -killed.exitcode)
        ask_to_stop()
        deadline = time.monotonic() + settings.STOP_GRACE_SECONDS
        while time.monotonic() < deadline and any(other.is_alive() and other.timer.value >= 0 for other in self.pool):
            time.sleep(0.05)
        for process in (*self.pool, self.pusher, self.monitor):
            if process is not None and process.is_alive():
                process.kill()
        # Not by an exception: what would be waited for may never come.
        os._exit(1)


class ArenaCluster(Cluster):  # type: ignore[misc]  # django-q ships no types
    """A cluster whose end is noticed. Its reapers start with it."""

    running: ArenaCluster | None = None

    def start(self) -> int:
        ArenaCluster.running = self
        pid: int = super().start()
        for reaper in reapers(Conf.CLUSTER_NAME):
            reaper.start()
        # Only now, as the reapers: its processes have been forked from one without threads.
        if settings.METRICS_PORT:
            serve(settings.METRICS_PORT)
        return pid

    def sig_handler(self, number: int, frame: FrameType | None) -> None:
        ask_to_stop()
        super().sig_handler(number, frame)

    def wait(self) -> int:
        """Return the exit code of its sentinel once it has ended: 0 when it was asked to."""
        self.sentinel.join()
        return int(self.sentinel.exitcode)
