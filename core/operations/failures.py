"""The jobs that failed last by the arena's fault."""

from __future__ import annotations

from datetime import datetime

from core.jobs.kinds import JOB_MODELS
from core.models import Job, JobFault, JobState

SHOWN = 5
"""The most failed jobs of a kind that are listed."""


def failed_list(since: datetime) -> list[Job]:
    """Return the last jobs of each kind that failed by the arena's fault, the newest first. A query for each kind."""
    found: list[Job] = []
    for model in JOB_MODELS.values():
        rows = model._base_manager.filter(state=JobState.FAILED, fault=JobFault.PLATFORM, ended_at__gte=since)
        found += rows.order_by("-ended_at").only("pk", "state", "fault", "error", "error_code", "ended_at", "worker")[
            :SHOWN
        ]
    return sorted(found, key=lambda job: job.ended_at or since, reverse=True)
