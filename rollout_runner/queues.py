"""The queue that workers of applications serve."""

from __future__ import annotations

from django.conf import settings

from core.jobs.registry import Line, queue_serve
from core.models import PackageBuild, Rollout


def serve() -> None:
    """Register the lines of packages and rollouts. A package is built once, and everything about it waits for it."""
    builds = Line(PackageBuild, "rollout_runner.building.package_make")
    rollouts = Line(Rollout, "rollout_runner.working.rollout_perform")
    if settings.PACKAGE_QUEUE == settings.ROLLOUT_QUEUE:
        queue_serve(settings.ROLLOUT_QUEUE, first=[builds], shared=[rollouts])
        return
    queue_serve(settings.PACKAGE_QUEUE, first=[builds])
    queue_serve(settings.ROLLOUT_QUEUE, shared=[rollouts])
