"""django-q's own command; its workers say that they live, and give back what they do when it is asked to stop."""

from __future__ import annotations

from types import FrameType
from typing import Any

from django.conf import settings
from django_q.cluster import Cluster
from django_q.conf import Conf
from django_q.management.commands import qcluster
from django_q.signals import post_spawn

from core.beacon import Beacon
from core.exposition import serve
from core.logs import name_service
from core.worker import ask_to_stop, worker_name


class _Cluster(Cluster):  # type: ignore[misc]  # django-q ships no types
    def start(self) -> int:
        process: int = super().start()
        # Only now: its processes have been forked from one without threads.
        if settings.METRICS_PORT:
            serve(settings.METRICS_PORT)
        return process

    def sig_handler(self, number: int, frame: FrameType | None) -> None:
        ask_to_stop()
        super().sig_handler(number, frame)


def _spawned(**_: Any) -> None:
    """A worker process begins; it has been forked a moment ago and has one thread."""
    Beacon(worker_name(), Conf.CLUSTER_NAME).start()


class Command(qcluster.Command):  # type: ignore[misc]  # django-q ships no types
    def handle(self, *args: Any, **options: Any) -> None:
        # The command looks the class up here.
        qcluster.Cluster = _Cluster
        post_spawn.connect(_spawned)
        name_service(f"worker-{options.get('cluster_name') or Conf.CLUSTER_NAME}")
        super().handle(*args, **options)
