"""Run the workers of all queues on this machine: one `qcluster` per queue, each a fork of this process.

Loading the arena takes longer than most jobs. It is loaded once here, and again only when this command is.
"""

from __future__ import annotations

import gc
import signal
import time
from argparse import ArgumentParser
from contextlib import suppress
from io import StringIO
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from core.checks.startup import TAG
from core.jobs.forks import Fork
from core.jobs.hosts import host_call
from core.jobs.registry import work_load
from core.jobs.stopping import stop_apart
from core.jobs.worker_processes import WorkerProcesses
from core.monitoring.exposition import serve
from core.operations.cluster import cluster_choose


class Command(BaseCommand):
    requires_system_checks = (TAG,)
    """Workers have no pages, whose checks load all of them."""
    help = "Run the workers of all queues (or of those named) until SIGTERM, SIGHUP or Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        everything, extra = ", ".join(settings.QUEUES), ", ".join(settings.EXTRA_QUEUES)
        parser.add_argument(
            "queues", nargs="*", help=f"default: all of {everything}; also {extra}, for reserved workers"
        )
        parser.add_argument("--host", default="", help="name of this host, where several share a machine")

    def handle(self, *args: Any, **options: Any) -> None:
        queues: list[str] = list(dict.fromkeys(options["queues"])) or list(settings.QUEUES)
        known = (*settings.QUEUES, *settings.EXTRA_QUEUES)
        unknown = [queue for queue in queues if queue not in known]
        if unknown:
            raise CommandError(f"There is no queue {unknown[0]!r}. The queues are: {', '.join(known)}.")
        host_call(options["host"])
        processes = WorkerProcesses(
            lambda queue: Fork(lambda: work(queue)), queues, clock=time.monotonic, write=self._say
        )
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: processes.ask_to_stop())
        self._say(f"Starting the workers of {', '.join(queues)}.")
        if {"duel", "quick", "heavy"} & set(queues) and settings.SANDBOX == "docker":
            self._check_sandbox()
        load(queues)
        # Threads start only after the forks, but for those of a cluster that has died.
        processes.step()
        if settings.METRICS_PORT:
            serve(settings.METRICS_PORT)
        processes.run(grace_seconds=settings.STOP_GRACE_SECONDS)
        self._say("All workers have ended.")

    def _check_sandbox(self) -> None:
        found = StringIO()
        try:
            # Called by name: rooms may import core, but core imports no room.
            call_command("sandbox_check", quick=True, stdout=found)
        except CommandError as error:
            found.write(f"WARNING: {error}")
        self._say(found.getvalue().rstrip())

    def _say(self, line: str) -> None:
        # The terminal may be closed while the workers still have to be ended.
        with suppress(OSError):
            self.stdout.write(line)
            self.stdout.flush()


def load(queues: list[str]) -> None:
    """Import what the workers of these queues need, and have nothing open that forks must not share."""
    import core.management.commands.qcluster  # noqa: F401  (a command is imported when it is called)

    work_load(queues)
    connections.close_all()
    # What is never looked at is never copied.
    gc.collect()
    gc.freeze()


def work(queue: str) -> None:
    """Be the cluster of a queue: the rest of a fork's life."""
    stop_apart()
    cluster_choose(queue)
    # The processes share their metrics, so the processes serves them all on one port.
    settings.METRICS_PORT = 0
    call_command("qcluster")
