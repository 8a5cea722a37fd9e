"""django-q's own command; its workers learn when it is asked to stop, and give back what they do."""

from __future__ import annotations

from types import FrameType
from typing import Any

from django_q.cluster import Cluster
from django_q.management.commands import qcluster

from core.worker import ask_to_stop


class _Cluster(Cluster):  # type: ignore[misc]  # django-q ships no types
    def sig_handler(self, number: int, frame: FrameType | None) -> None:
        ask_to_stop()
        super().sig_handler(number, frame)


class Command(qcluster.Command):  # type: ignore[misc]  # django-q ships no types
    def handle(self, *args: Any, **options: Any) -> None:
        # The command looks the class up here.
        qcluster.Cluster = _Cluster
        super().handle(*args, **options)
