"""django-q's cluster with two changes: workers return their jobs when asked to stop, and a killed one ends the cluster.

The processes of a cluster share queues with locks. A worker that is killed while it waits for a message keeps its lock,
and all others would wait forever. So a cluster that loses a process to a signal ends as a whole, and its supervisor
(`run_workers`, the container's restart policy) starts a new one.
"""

from __future__ import annotations

import os
import time
from importlib.util import find_spec, module_from_spec
from multiprocessing import Value
from types import FrameType, TracebackType
from typing import Any, Self

from django.conf import settings
from django_q.cluster import Cluster, Sentinel
from django_q.conf import Conf, logger
from django_q.worker import worker

from core.jobs.stopping import ask_to_stop
from core.monitoring.exposition import serve
from core.operations.reaper import reapers


def cluster_choose(queue: str) -> None:
    """Make this process, a fork that has loaded django-q, one that was started with Q_CLUSTER_NAME."""
    os.environ["Q_CLUSTER_NAME"] = queue
    # django-q reads the variable when its settings are imported: they are read anew, and the class in use gets them.
    spec = find_spec(Conf.__module__)
    assert spec is not None
    assert spec.loader is not None
    again = module_from_spec(spec)
    spec.loader.exec_module(again)
    for name, value in vars(again.Conf).items():
        if not name.startswith("__"):
            setattr(Conf, name, value)


class NoLock:
    """A lock that does nothing, so that a killed worker cannot keep it; the timer is one word, written atomically."""

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
    """The process that supervises a cluster's workers."""

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
        # No exception: the normal way out would wait for processes that may never end.
        os._exit(1)


class ArenaCluster(Cluster):  # type: ignore[misc]  # django-q ships no types
    """A cluster whose exit code is returned. It starts its reapers."""

    running: ArenaCluster | None = None

    def start(self) -> int:
        ArenaCluster.running = self
        pid: int = super().start()
        for reaper in reapers(Conf.CLUSTER_NAME):
            reaper.start()
        # Threads start only after the fork of the cluster's processes.
        if settings.METRICS_PORT:
            serve(settings.METRICS_PORT)
        return pid

    def sig_handler(self, number: int, frame: FrameType | None) -> None:
        ask_to_stop()
        super().sig_handler(number, frame)

    def wait(self) -> int:
        """Return the exit code of the sentinel once it has ended: 0 when it was asked to stop."""
        self.sentinel.join()
        return int(self.sentinel.exitcode)
