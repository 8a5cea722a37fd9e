"""django-q's command with the cluster of `core.operations.cluster`, whose workers send heartbeats."""

from __future__ import annotations

import sys
from typing import Any

import django_q.cluster
from django_q.conf import Conf
from django_q.management.commands import qcluster
from django_q.signals import post_spawn

from core.checks import TAG
from core.jobs.heartbeat import Heartbeat
from core.jobs.scratch import work_in_own_folder
from core.jobs.worker import worker_name
from core.monitoring.logs import name_service
from core.operations.cluster import ArenaCluster, ArenaSentinel


def _spawned(**_: Any) -> None:
    """Start the heartbeat of a worker process, which was just forked and has one thread."""
    Heartbeat(worker_name(), Conf.CLUSTER_NAME).start()


class Command(qcluster.Command):  # type: ignore[misc]  # django-q ships no types
    requires_system_checks = (TAG,)
    """Workers have no pages, whose checks load all of them."""

    def handle(self, *args: Any, **options: Any) -> None:
        # The command and the cluster find their classes by these names.
        qcluster.Cluster = ArenaCluster
        django_q.cluster.Sentinel = ArenaSentinel
        post_spawn.connect(work_in_own_folder)
        post_spawn.connect(_spawned)
        name_service(f"worker-{options.get('cluster_name') or Conf.CLUSTER_NAME}")
        super().handle(*args, **options)
        if ArenaCluster.running is not None and (code := ArenaCluster.running.wait()):
            sys.exit(1 if code < 0 else code)
