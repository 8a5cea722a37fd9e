"""Duels that wait because organisers have closed their environment or paused their tournament."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import QuerySet

from core.jobs.lifecycle import from_now, job_delay, jobs_go_on
from core.jobs.states import wait_until
from core.jobs.waits import PAUSED_CODE
from core.models import Duel, JobState

LOOK_AFTER = timedelta(minutes=5)
"""How long a paused duel is delayed before a worker looks again. Going on wakes it at once."""


def paused_because(duel: Duel) -> str:
    """Return why a duel must not begin now, as a sentence; empty when it may."""
    if duel.tournament is not None and duel.tournament.paused_because:
        return duel.tournament.paused_because
    return "" if duel.environment.is_active else f"{duel.environment} is closed at the moment."


def duel_pause(*, duel: Duel, because: str, log: str) -> None:
    """Give back a duel that a worker was about to begin. No attempt is counted."""
    duel_give_back(duel=duel, span=LOOK_AFTER, code=PAUSED_CODE, error=because, log=log)


def duel_give_back(*, duel: Duel, span: timedelta, code: str, error: str, log: str) -> None:
    """Give back a duel that cannot begin now. It has not begun, so it is not played if a player leaves meanwhile."""
    job_delay(job=duel, span=span, code=code, error=error, log=log)
    Duel.objects.filter(pk=duel.pk, state=JobState.QUEUED, attempt=0).update(started_at=None)


def duels_pause(duels: QuerySet[Duel], *, because: str) -> None:
    """Delay the waiting ones of some duels; those that are being played are played to their end."""
    wait_until(duels, moment=from_now(LOOK_AFTER), code=PAUSED_CODE, error=because)


def duels_go_on(duels: QuerySet[Duel]) -> None:
    """Put the paused ones of some duels back in line."""
    jobs_go_on(duels.filter(state=JobState.QUEUED, error_code=PAUSED_CODE))
