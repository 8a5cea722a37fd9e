"""The schedule that checks a share of the finished duels and evaluations."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from typing import Any, TypeVar

from django.conf import settings
from django.db.models import F, QuerySet

from core.duels.verdicts import verdict_keep
from core.jobs.worker import PlatformFault, is_stopping
from core.models import Duel, Evaluation, JobState, Verdict
from core.operations.removed import REMOVED
from duel_runner.recheck.duels import duel_audit
from duel_runner.recheck.evaluations import evaluation_audit

logger = logging.getLogger(__name__)
AnyResult = TypeVar("AnyResult", Duel, Evaluation)
SECONDS = 300.0
"""After so long a run begins no further check of a kind: long episodes take long to play again, and duels wait."""
MOST_PER_RUN = 100
"""An hourly run checks at most this many results of a kind."""


def results_verify(_: int = 0) -> None:
    """Check a share of each kind: by chance among those never checked, then those longest ago."""
    finished = Duel.objects.filter(state=JobState.SUCCEEDED).exclude(records__startswith=REMOVED)
    _verify(finished, duel_audit)
    played = Evaluation.objects.filter(state=JobState.SUCCEEDED, is_verified=True).exclude(records__startswith=REMOVED)
    _verify(played, evaluation_audit)


def _verify(finished: QuerySet[AnyResult], audit: Callable[[AnyResult], Any]) -> None:
    count = min(MOST_PER_RUN, math.ceil(settings.VERIFY_SAMPLE * finished.count()))
    until = time.monotonic() + SECONDS
    # Ids alone are put in order: rows of evaluations hold all their episodes.
    numbers = finished.order_by(F("verified_at").asc(nulls_first=True), "?").values_list("pk", flat=True)
    for number in list(numbers[:count]):
        if is_stopping() or time.monotonic() > until:
            return
        model = finished.model
        job = finished.select_related(*model.RELATED).filter(pk=number).first()
        if job is None:
            continue
        try:
            audit(job)
        except PlatformFault as fault:
            logger.warning("%s %s cannot be checked: %s", job.KIND.capitalize(), job.pk, fault)
        except Exception:
            # One result in trouble must not keep the others from being looked at, now or next time.
            logger.exception("Checking %s %s went wrong.", job.KIND, job.pk)
            trouble = "Something went wrong inside the arena while it was checked."
            verdict_keep(job=job, verdict=Verdict.UNCHECKABLE, verification=trouble)
