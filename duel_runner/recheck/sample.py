"""The scheduled check of a share of the finished duels and evaluations."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from typing import Any, TypeVar

from django.conf import settings
from django.db.models import F, QuerySet

from arena_kit.errors import PlatformFault
from core.duels.verdicts import verdict_keep
from core.evaluations.selectors import evaluations_checkable
from core.files.removed import REMOVED
from core.jobs.stopping import is_stopping
from core.models import Duel, Evaluation, JobState, RecheckVerdict
from duel_runner.recheck.duels import duel_recheck
from duel_runner.recheck.evaluations import evaluation_recheck

logger = logging.getLogger(__name__)
AnyResult = TypeVar("AnyResult", Duel, Evaluation)
SECONDS = 300.0
"""Seconds after which a run starts no further check of a kind, because duels wait for the worker."""
MOST_PER_RUN = 100
"""Maximum number of results of a kind that an hourly run checks."""


def results_recheck(_: int = 0) -> None:
    """Check a share of each kind: first random ones never checked, then those checked longest ago."""
    finished = Duel.objects.filter(state=JobState.SUCCEEDED).exclude(records__startswith=REMOVED)
    _recheck(finished, duel_recheck)
    played = evaluations_checkable().filter(state=JobState.SUCCEEDED).exclude(records__startswith=REMOVED)
    _recheck(played, evaluation_recheck)


def _recheck(finished: QuerySet[AnyResult], recheck: Callable[[AnyResult], Any]) -> None:
    count = min(MOST_PER_RUN, math.ceil(settings.RECHECK_SAMPLE * finished.count()))
    until = time.monotonic() + SECONDS
    # Only ids are sorted, because rows of evaluations contain all their episodes.
    numbers = finished.order_by(F("verified_at").asc(nulls_first=True), "?").values_list("pk", flat=True)
    for number in list(numbers[:count]):
        if is_stopping() or time.monotonic() > until:
            return
        model = finished.model
        job = finished.select_related(*model.RELATED).filter(pk=number).first()
        if job is None:
            continue
        try:
            recheck(job)
        except PlatformFault as fault:
            logger.warning("%s %s cannot be checked: %s", job.KIND.capitalize(), job.pk, fault)
        except Exception:
            # One broken result must not keep the others from being checked, now or next time.
            logger.exception("The check of %s %s failed.", job.KIND, job.pk)
            trouble = "The check failed because of an error inside the arena."
            verdict_keep(job=job, verdict=RecheckVerdict.UNCHECKABLE, verification=trouble)
