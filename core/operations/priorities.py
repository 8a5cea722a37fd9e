"""Organisers decide that a waiting job is taken earlier or later."""

from __future__ import annotations

from django.db import transaction

from core.jobs.control import job_prioritise
from core.models import Job
from core.people.audit_log import Operator, audit_record


def priority_set(*, job: Job, priority: int, operator: Operator) -> None:
    """Give a waiting job a priority from -10 to 10 and record it in the audit log. Raises Refused."""
    with transaction.atomic():
        before = job.priority
        job_prioritise(job=job, priority=priority)
        audit_record(
            operator=operator, action=f"set priority of {job.KIND}", row=job, changes={"priority": [before, priority]}
        )
