"""Takes jobs back from workers that stopped answering: their leases have expired."""

from __future__ import annotations

import logging
from datetime import timedelta
from functools import partial
from typing import TypeVar

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from core.jobs.apart import apart
from core.jobs.kinds import JOB_MODELS, LOST_CODE
from core.jobs.lifecycle import from_now, job_give_back
from core.links import page
from core.models import Job, JobState
from core.notices.alarms import alarm_raise, alarm_settle

logger = logging.getLogger(__name__)
AnyJob = TypeVar("AnyJob", bound=Job)

POISON_PAUSE = timedelta(minutes=5)
"""How long an expired lease is left alone after an error in its row prevented taking it back."""


def jobs_requeue_expired() -> int:
    """Give back the jobs whose lease expired, because their workers are taken for dead; return how many.

    They are not delayed: they have already waited for the length of a lease. A row that cannot be given back does not
    stop the others: the error is logged, and the row is tried again after a pause.
    """
    return sum(
        _requeue_expired(model, number)
        for model in JOB_MODELS.values()
        for number in list(_expired(model).values_list("pk", flat=True))
    )


def _expired(model: type[AnyJob]) -> QuerySet[AnyJob]:
    return model._base_manager.filter(state=JobState.RUNNING, lease_expires_at__lt=Now())


def _requeue_expired(model: type[Job], number: int) -> bool:
    with apart(f"The lease of {model.KIND} {number}", otherwise=partial(_delay, model, number)), transaction.atomic():
        # The row is read again under a lock: a heartbeat may have renewed the lease since.
        job = _expired(model).select_for_update(of=("self",), no_key=True).filter(pk=number).first()
        if job is None:
            return False
        job_give_back(job=job, code=LOST_CODE, error="The worker stopped answering.", log=job.log, is_delayed=False)
        logger.warning("Lease of %s %s expired under worker %s.", job.KIND, job.pk, job.worker)
        alarm_settle(key=_poison_key(model, number))
        return True
    return False


def _delay(model: type[Job], number: int) -> None:
    """Delay the next look at a row in which something is wrong, and raise an alarm."""
    _expired(model).filter(pk=number).update(lease_expires_at=from_now(POISON_PAUSE))
    alarm_raise(
        key=_poison_key(model, number),
        message=f"The {model.KIND} {number} cannot be taken back from a worker that stopped answering, because "
        "something is wrong with its row; the log of the reaper says what. It is tried again every few minutes.",
        address=page("job", model.KIND, number),
    )


def _poison_key(model: type[Job], number: int) -> str:
    return f"{model.KIND}-{number}-cannot-be-taken-back"
