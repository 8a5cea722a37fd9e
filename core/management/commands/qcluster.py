"""django-q's command with the cluster of `core.operations.cluster`, whose workers send heartbeats.

A queue that has a driver is served by it instead, in this one process.
"""

from __future__ import annotations

import sys
from typing import Any

import django_q.cluster
from django.conf import settings
from django.utils.module_loading import import_string
from django_q.conf import Conf
from django_q.management.commands import qcluster
from django_q.signals import post_spawn

from core.checks.startup import TAG
from core.jobs.heartbeat import Heartbeat
from core.jobs.registry import DRIVERS
from core.jobs.scratch import work_in_own_folder
from core.jobs.worker import worker_name
from core.monitoring.exposition import serve
from core.monitoring.logs import name_service
from core.operations.cluster import ArenaCluster, ArenaSentinel
from core.operations.reaper import reapers


def _spawned(**_: Any) -> None:
    """Start the heartbeat of a worker process, which was just forked and has one thread."""
    Heartbeat(worker_name(), Conf.CLUSTER_NAME).start()


def _drive(queue: str) -> None:
    for reaper in reapers(queue):
        reaper.start()
    if settings.METRICS_PORT:
        serve(settings.METRICS_PORT)
    import_string(DRIVERS[queue])()


class Command(qcluster.Command):  # type: ignore[misc]  # django-q ships no types
    requires_system_checks = (TAG,)
    """Workers have no pages, whose checks load all of them."""

    def handle(self, *args: Any, **options: Any) -> None:
        queue = options.get("cluster_name") or Conf.CLUSTER_NAME
        name_service(f"worker-{queue}")
        if queue in DRIVERS:
            _drive(queue)
            return
        # The command and the cluster find their classes by these names.
        qcluster.Cluster = ArenaCluster
        django_q.cluster.Sentinel = ArenaSentinel
        post_spawn.connect(work_in_own_folder)
        post_spawn.connect(_spawned)
        super().handle(*args, **options)
        if ArenaCluster.running is not None and (code := ArenaCluster.running.wait()):
            sys.exit(1 if code < 0 else code)
