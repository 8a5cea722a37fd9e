"""Verdicts: the results of rechecking finished duels and evaluations from their records."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from core.links import page, tournament_address
from core.models import Duel, Evaluation, RecheckVerdict
from core.notices.alarms import alarm_raise, alarm_settle


def verdict_keep(*, job: Duel | Evaluation, verdict: RecheckVerdict, verification: str) -> None:
    """Store the verdict of a recheck; a mismatch raises an alarm, and a later success settles it.

    verification: for everyone to read, what was checked or what is wrong.
    """
    job.verified_at, job.verdict, job.verification = timezone.now(), verdict, verification
    key = f"{job.KIND}-{job.pk}-does-not-verify"
    with transaction.atomic():
        job.save(update_fields=["verified_at", "verdict", "verification"])
        if verdict == RecheckVerdict.MISMATCH:
            message = f"The record of {job.KIND} {job.pk}, {job}, does not verify. {verification}"
            alarm_raise(key=key, message=message, address=_address(job))
        elif verdict == RecheckVerdict.VERIFIED:
            alarm_settle(key=key)


def _address(job: Duel | Evaluation) -> str:
    """Return the page for a job; evaluations of tournaments and assignments have none of their own."""
    if isinstance(job, Evaluation) and job.tournament is not None:
        return tournament_address(job.tournament)
    if isinstance(job, Evaluation) and job.assignment is not None:
        return page("assignment", job.assignment.course.slug, job.assignment.pk)
    return page(job.KIND, job.pk)
