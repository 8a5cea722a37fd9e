"""The operations of workers on jobs of any kind: claim, renew, finish, give back."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import ParamSpec, TypeVar

from django.conf import settings
from django.db import transaction
from django.db.models import DateTimeField, ExpressionWrapper, F, Q, QuerySet
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from core.jobs.kinds import JOB_MODELS, PERSONS_TURN_CODE
from core.jobs.registry import failure_pass, last_attempt_pass, queues_of
from core.jobs.states import StaleJob, error_public, transition
from core.jobs.turns import FRONT, line_up, turn_begun
from core.jobs.wakeups import workers_wake
from core.jobs.written import written_once
from core.models import Job, JobFault, JobState

logger = logging.getLogger(__name__)
AnyJob = TypeVar("AnyJob", bound=Job)
Named = ParamSpec("Named")

UNCLAIMED: dict[str, None] = {"claim_token": None, "lease_expires_at": None}
"""Fields of a job that leaves its worker."""
AGAIN: dict[str, int | None] = {**UNCLAIMED, "sort_key": FRONT}
"""Fields of a job that waits again: it goes to the front, so that a lost worker does not cost it its place."""
LOG_LIMIT_CHARACTERS = 64 * 1024
HISTORY_LIMIT = 20
"""Maximum number of attempts in a job's history; the latest ones are kept."""
DELAY_LIMIT = timedelta(minutes=10)
"""Maximum delay of a job after a platform fault. It begins with JOB_DELAY_SECONDS and doubles each time."""


def job_enqueue(*, job: Job) -> None:
    """Put a new job in line and wake the workers of its queues."""
    line_up(job=job)
    job_announce(job=job)


def job_wake(*, job: Job) -> None:
    """End the delay of a waiting job, and wake the workers of its queues."""
    type(job)._base_manager.filter(pk=job.pk, state=JobState.QUEUED).update(not_before=None)
    job_announce(job=job)


def job_announce(*, job: Job) -> None:
    """Wake the idle workers of the queues that serve a job."""
    for queue in queues_of(job):
        workers_wake(queue)


def job_claim(*, kind: type[AnyJob], job_id: int, worker: str) -> AnyJob | None:
    """Claim a waiting job for `worker`; None when it is gone, taken, over or delayed."""
    due = Q(not_before=None) | Q(not_before__lte=Now())
    waiting = kind._base_manager.filter(due, pk=job_id, state=JobState.QUEUED)
    # One query reads everything that the worker needs.
    job = waiting.select_related(*kind.RELATED).first()
    return job if job is not None and job_take(job=job, worker=worker) else None


def job_take(*, job: Job, worker: str) -> bool:
    """Claim a waiting job that was just read along with its RELATED; False when another worker was quicker.

    Times by the database's clock (`started_at`, `lease_expires_at`) are in the row only, not in `job`.
    """
    try:
        transition(
            job,
            JobState.RUNNING,
            expected_token=job.claim_token,
            claim_token=uuid.uuid4(),
            lease_expires_at=from_now(timedelta(seconds=settings.JOB_LEASE_SECONDS)),
            not_before=None,
            attempt=F("attempt") + 1,
            begun_turn=turn_begun(),
            worker=worker[:100],
            started_at=Now(),
            ended_at=None,
            fault=JobFault.NONE,
            error_code="",
            error="",
            public_error="",
        )
    except StaleJob:
        return False
    job.attempt += 1
    return True


def job_heartbeat(*, job: Job, log: str | None = None, progress: Mapping[str, object] | None = None) -> None:
    """Renew the lease of a running job and write its progress. Raises StaleJob when the claim was lost."""
    fields: dict[str, object] = {"lease_expires_at": from_now(timedelta(seconds=settings.JOB_LEASE_SECONDS))}
    if log is not None:
        fields["log"] = log_tail(log)
    fields |= progress or {}
    rows = type(job)._base_manager.filter(pk=job.pk, state=JobState.RUNNING, claim_token=job.claim_token)
    if rows.update(**fields) != 1:
        raise StaleJob(f"{job.KIND} {job.pk} is no longer running under this claim.")


@written_once
def job_succeed(*, job: Job, log: str = "", **fields: object) -> None:
    """Finish a running job; call it inside the transaction that writes the job's result."""
    said = {"error_code": "", "error": "", "public_error": ""}
    _finish(job, JobState.SUCCEEDED, fault=JobFault.NONE, **said, log=log_tail(log), **fields)


@written_once
def job_fail(
    *, job: Job, fault: JobFault, code: str, error: str, public_error: str = "", log: str = "", **fields: object
) -> None:
    """Finish a running job as failed, with a typed code and a sentence for a person, and call the failure listeners.

    public_error: what strangers may read of a player's fault; everyone may read a platform fault.
    """
    public = error_public(code, error) if fault == JobFault.PLATFORM else public_error
    said = {"error_code": code[:50], "error": error, "public_error": public}
    with transaction.atomic():
        _finish(job, JobState.FAILED, fault=fault, **said, log=log_tail(log), **fields)
        failure_pass(job)


def job_give_back(*, job: Job, code: str, error: str, log: str = "", is_delayed: bool = True) -> None:
    """Give a running job back after a platform fault; without attempts left it fails, unless a listener holds it.

    is_delayed: whether it is delayed first, so that an outage does not use up all attempts; the reaper ends the delay.
    """
    history = history_with(job, code, error_public(code, error))
    if job.attempt >= settings.JOB_MAX_ATTEMPTS:
        if last_attempt_pass(job, code=code, error=error, log=log):
            return
        job_fail(job=job, fault=JobFault.PLATFORM, code=code, error=error, log=log, history=history)
        return
    transition(
        job,
        JobState.QUEUED,
        expected_token=job.claim_token,
        **AGAIN,
        not_before=from_now(delay_after(job.attempt) if is_delayed else timedelta()),
        fault=JobFault.PLATFORM,
        error_code=code[:50],
        error=error,
        public_error=error_public(code, error),
        history=history,
        log=log_tail(log),
    )


def delay_after(attempt: int) -> timedelta:
    """Return the delay of a job after a platform fault in this attempt."""
    return min(timedelta(seconds=settings.JOB_DELAY_SECONDS * 2.0 ** (attempt - 1)), DELAY_LIMIT)


def job_give_back_stopped(*, job: Job, log: str = "") -> None:
    """Give a running job back because its worker was asked to stop; the attempt does not count."""
    code, error = "worker_stopped", "Its worker was stopped."
    transition(
        job,
        JobState.QUEUED,
        expected_token=job.claim_token,
        **AGAIN,
        attempt=job.attempt - 1,
        not_before=Now(),
        error_code=code,
        error=error,
        public_error=error,
        history=history_with(job, code, error),
        log=log_tail(log),
    )


def job_delay(*, job: Job, span: timedelta, code: str, error: str, log: str = "") -> None:
    """Give a running job back for a span because of a platform fault that was no attempt, so it does not count."""
    transition(
        job,
        JobState.QUEUED,
        expected_token=job.claim_token,
        **AGAIN,
        attempt=job.attempt - 1,
        not_before=from_now(span),
        fault=JobFault.PLATFORM,
        error_code=code[:50],
        error=error,
        public_error=error_public(code, error),
        log=log_tail(log),
    )


def job_await_person(*, job: Job, until: datetime, log: str = "") -> None:
    """Give a running job back until a person acts, which wakes it, or a moment comes. That was no attempt."""
    said = {"error_code": PERSONS_TURN_CODE, "error": "", "public_error": ""}
    transition(
        job,
        JobState.QUEUED,
        expected_token=job.claim_token,
        **AGAIN,
        **said,
        attempt=job.attempt - 1,
        not_before=until,
        fault=JobFault.NONE,
        log=log_tail(log),
    )


def job_hold(*, job: Job, span: timedelta, code: str, error: str, failure: str, log: str = "") -> None:
    """Give a running job back for a span after its last attempt, and give it a full set of attempts for then.

    failure: the code of the platform fault that ended its attempts.
    """
    transition(
        job,
        JobState.QUEUED,
        expected_token=job.claim_token,
        **AGAIN,
        attempt=0,
        not_before=from_now(span),
        fault=JobFault.PLATFORM,
        error_code=code[:50],
        error=error,
        public_error=error_public(code, error),
        history=history_with(job, failure, error_public(failure, error)),
        log=log_tail(log),
    )


def jobs_go_on(rows: QuerySet[AnyJob]) -> None:
    """End the delay of waiting jobs of a kind whose obstacle is gone, and wake the workers of their queues."""
    first = rows.first()
    if first is not None:
        said = {"error_code": "", "error": "", "public_error": ""}
        rows.update(not_before=None, fault=JobFault.NONE, **said)
        job_announce(job=first)


def jobs_end_delay() -> int:
    """Put delayed jobs whose time has come back in line; return how many. The database's clock counts."""
    due = {"state": JobState.QUEUED, "not_before__lte": Now()}
    return sum(model._base_manager.filter(**due).update(not_before=None) for model in JOB_MODELS.values())


def log_tail(log: str) -> str:
    """Return the part of a log that is kept: its end, without characters that a database cannot store."""
    clean = log.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")
    if len(clean) <= LOG_LIMIT_CHARACTERS:
        return clean
    return "[start of the log cut]\n" + clean[-LOG_LIMIT_CHARACTERS:]


def from_now(span: timedelta) -> ExpressionWrapper[CombinedExpression]:
    """Return a moment after now, for a column of times."""
    # The database's clock, so that a wrong clock of a worker neither loses nor keeps a claim.
    return ExpressionWrapper(Now() + span, output_field=DateTimeField())


def history_with(job: Job, code: str, error: str) -> list[dict[str, object]]:
    """Return the failed attempts of a running job, including the one that ends now. Times are the database's.

    Only the holder of the claim may write the history, so it cannot change between this read and the write.
    """
    rows = type(job)._base_manager.filter(pk=job.pk).annotate(now=Now())
    found = rows.values_list("history", "worker", "started_at", "now").first()
    if found is None:
        raise StaleJob(f"{job.KIND} {job.pk} is gone.")
    history, worker, started_at, now = found
    attempt = {
        "number": job.attempt,
        "worker": worker,
        "started_at": started_at and started_at.isoformat(),
        "ended_at": now.isoformat(),
        "code": code[:50],
        "error": error,
    }
    return [*history, attempt][-HISTORY_LIMIT:]


def _finish(job: Job, state: JobState, **fields: object) -> None:
    transition(job, state, expected_token=job.claim_token, lease_expires_at=None, ended_at=Now(), **fields)
