"""Run the workers of all queues on this machine: processes that are forks of this one, each replaced when it ends.

Loading the arena takes longer than most jobs. It is loaded once here, and again only when this command is.
"""

from __future__ import annotations

import gc
import multiprocessing
import signal
import time
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from io import StringIO
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from django.utils.module_loading import import_string

from core.checks.schema import refuse_unfit_schema
from core.checks.startup import TAG
from core.jobs.forks import ENDING, Fork, end_with_parent
from core.jobs.hosts import host_call, host_name
from core.jobs.loop import work
from core.jobs.registry import DRIVERS, work_load
from core.jobs.worker_processes import WorkerProcesses
from core.monitoring.exposition import serve
from core.monitoring.logs import name_service
from core.operations.keys import refuse_other_key
from core.operations.reaper import reapers

SCHEDULES = "schedules"
"""The child that turns schedules into messages: django-q's cluster, beside the workers of the tournament queue."""
LOOKOUT = "lookout"
"""The child that looks after what dead workers leave, and does the chores of this host."""


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
        try:
            refuse_unfit_schema()
            refuse_other_key(host=host_name())
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from None
        children = children_of(queues)
        processes = WorkerProcesses(lambda name: Fork(children[name]), children, clock=time.monotonic, write=self._say)
        for number in ENDING:
            signal.signal(number, lambda *_: processes.ask_to_stop())
        self._say(f"Starting the workers of {', '.join(queues)}.")
        if {"duel", "sitting", "quick", "heavy"} & set(queues) and settings.SANDBOX == "docker":
            self._check_sandbox()
        load(queues)
        # Threads start only after the forks, but for those of a child that has died.
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


def children_of(queues: Sequence[str]) -> dict[str, Callable[[], None]]:
    """Return what the children of this process do, by their names."""
    children: dict[str, Callable[[], None]] = {}
    for queue in queues:
        count = settings.WORKERS.get(queue, 1)
        for number in range(1, count + 1):
            children[queue if count == 1 else f"{queue}-{number}"] = partial(_serve, queue)
    children[LOOKOUT] = partial(_look_out, queues)
    if "tournament" in queues:
        children[SCHEDULES] = _schedule
    return children


def load(queues: list[str]) -> None:
    """Import what the children need, and have nothing open that forks must not share."""
    import django_q.management.commands.qcluster  # noqa: F401  (a command is imported when it is called)

    work_load(queues)
    connections.close_all()
    # Freeze these objects, so that forks do not copy their memory.
    gc.collect()
    gc.freeze()


def _serve(queue: str) -> None:
    name_service(f"worker-{queue}")
    if queue in DRIVERS:
        import_string(DRIVERS[queue])()
    else:
        work(queue)


def _look_out(queues: Sequence[str]) -> None:
    name_service(LOOKOUT)
    # Its threads inherit the mask, so that the signal comes here.
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    for reaper in reapers(queues):
        reaper.start()
    signal.sigwait(ENDING)


def _schedule() -> None:
    """Run django-q's cluster in a process that gets one signal to stop: a second one locks its handler for ever."""
    name_service(SCHEDULES)
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    cluster = multiprocessing.get_context("fork").Process(target=_cluster)
    cluster.start()
    while cluster.is_alive() and not signal.sigtimedwait(ENDING, 0.5):
        pass
    cluster.terminate()
    cluster.join()
    raise SystemExit(1 if cluster.exitcode else 0)


def _cluster() -> None:
    end_with_parent()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    call_command("qcluster")
