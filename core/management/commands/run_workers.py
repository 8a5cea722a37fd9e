"""Run the workers of all queues on this machine: one `qcluster` per queue."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

GRACE_SECONDS = 20
BACK_OFF_SECONDS = (1, 2, 5, 10, 30)


class Command(BaseCommand):
    help = "Run the workers of all queues (or those named) until SIGTERM or Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("queues", nargs="*", help=f"default: all of {', '.join(settings.QUEUES)}")

    def handle(self, *args: Any, **options: Any) -> None:
        self._stopping = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        queues = options["queues"] or settings.QUEUES
        clusters = {queue: self._start(queue) for queue in queues}
        deaths = dict.fromkeys(queues, 0)
        self.stdout.write(f"Workers of {', '.join(queues)} started.")
        while not self._stopping:
            time.sleep(0.5)
            for queue, cluster in clusters.items():
                if cluster.poll() is not None and not self._stopping:
                    pause = BACK_OFF_SECONDS[min(deaths[queue], len(BACK_OFF_SECONDS) - 1)]
                    deaths[queue] += 1
                    self.stderr.write(f"The workers of {queue} ended with {cluster.returncode}; again in {pause} s.")
                    time.sleep(pause)
                    clusters[queue] = self._start(queue)
        self._end(list(clusters.values()))

    def _start(self, queue: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, str(settings.BASE_DIR / "manage.py"), "qcluster"],
            env={**os.environ, "Q_CLUSTER_NAME": queue},
            # A group of its own: Ctrl-C reaches this command alone, which then ends the workers in order.
            start_new_session=True,
        )

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True

    def _end(self, clusters: list[subprocess.Popen[bytes]]) -> None:
        for cluster in clusters:
            if cluster.poll() is None:
                cluster.terminate()
        deadline = time.monotonic() + GRACE_SECONDS
        for cluster in clusters:
            try:
                cluster.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                pass
            try:
                os.killpg(cluster.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.stdout.write("All workers have ended.")
