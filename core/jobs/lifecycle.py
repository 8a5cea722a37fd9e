"""The operations of workers and organisers on jobs of any kind."""

from __future__ import annotations

import functools
import logging
import time
import uuid
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import ParamSpec, TypeVar

from django.conf import settings
from django.db import DatabaseError, Error, InterfaceError, OperationalError, connection, transaction
from django.db.models import DateTimeField, ExpressionWrapper, F, Q, QuerySet
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from core.errors import Refused
from core.jobs.bells import ring
from core.jobs.kinds import JOB_MODELS, LOST_CODE
from core.jobs.registry import failure_tell, last_attempt_tell, queues_of
from core.jobs.states import StaleJob, transition
from core.jobs.turns import FRONT, line_up, priority_write, turn_begun
from core.models import CancelCode, Job, JobFault, JobState
from core.models.job import PRIORITIES

logger = logging.getLogger(__name__)
AnyJob = TypeVar("AnyJob", bound=Job)
Named = ParamSpec("Named")

WRITE_AGAIN_SECONDS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Pauses between attempts to write a result while the database does not answer."""

BY_OWNER = "Its owner has cancelled it."
OVER = "It is over already."
CHANGING = "Its state is changing right now; try again in a moment."
UNCLAIMED: dict[str, None] = {"claim_token": None, "lease_expires_at": None}
"""Fields of a job that leaves its worker."""
AGAIN: dict[str, int | None] = {**UNCLAIMED, "sort_key": FRONT}
"""Fields of a job that waits again: it goes to the front, so that a lost worker does not cost it its place."""
LOG_LIMIT_CHARACTERS = 64 * 1024
HISTORY_LIMIT = 20
"""Maximum number of attempts in a job's history; the latest ones are kept."""
DELAY_LIMIT = timedelta(minutes=10)
"""Maximum delay of a job after a platform fault. It begins with JOB_DELAY_SECONDS and doubles each time."""


def written_once(write: Callable[Named, None]) -> Callable[Named, None]:
    """Retry the write of a job's result while the database does not answer: that costs less than playing again.

    write: takes a running job and everything else by name, and writes in one transaction, by `transition`. So the
    result is never written twice: if only the answer to a COMMIT was lost, the row has the result. `job_succeed` and
    `job_fail` retry by themselves; inside a caller's transaction, only the caller can retry.
    """

    @functools.wraps(write)
    def patient(*arguments: Named.args, **named: Named.kwargs) -> None:
        job = next(value for value in named.values() if isinstance(value, Job))
        # Inside a caller's transaction a retry is useless.
        pauses = iter(() if connection.in_atomic_block else WRITE_AGAIN_SECONDS)
        was_away = False
        while True:
            try:
                return write(*arguments, **named)
            except StaleJob:
                ended = type(job)._default_manager.filter(pk=job.pk, claim_token=job.claim_token)
                # A last attempt whose lease expired meanwhile ended without this result.
                ended = ended.exclude(error_code=LOST_CODE)
                if was_away and ended.exclude(state__in=(JobState.QUEUED, JobState.RUNNING)).exists():
                    return None
                raise
            except Error as error:
                # Drivers raise a bare DatabaseError when a connection breaks in the middle of an answer.
                is_away = isinstance(error, OperationalError | InterfaceError) or type(error) is DatabaseError
                if not is_away or (pause := next(pauses, None)) is None:
                    raise
                logger.warning("The result of %s %s could not be written yet: %s", job.KIND, job.pk, error)
                was_away, job.state = True, JobState.RUNNING
                connection.close()
                time.sleep(pause)

    return patient


def job_enqueue(*, job: Job) -> None:
    """Put a new job in line and ring the bell of its queues."""
    line_up(job=job)
    job_ring(job=job)


def job_wake(*, job: Job) -> None:
    """End the delay of a waiting job, and ring the bell of its queues."""
    type(job)._default_manager.filter(pk=job.pk, state=JobState.QUEUED).update(not_before=None)
    job_ring(job=job)


def job_ring(*, job: Job) -> None:
    """Ring the bell of the queues whose workers take a job."""
    for queue in queues_of(job):
        ring(queue)


def job_claim(*, kind: type[AnyJob], job_id: int, worker: str) -> AnyJob | None:
    """Claim a waiting job for `worker`; None when it is gone, taken, over or delayed."""
    due = Q(not_before=None) | Q(not_before__lte=Now())
    waiting = kind._default_manager.filter(due, pk=job_id, state=JobState.QUEUED)
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
    rows = type(job)._default_manager.filter(pk=job.pk, state=JobState.RUNNING, claim_token=job.claim_token)
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

    public_error: what strangers may read of a player's fault; everyone may read a platform fault in full.
    """
    public = error if fault == JobFault.PLATFORM else public_error
    said = {"error_code": code[:50], "error": error, "public_error": public}
    with transaction.atomic():
        _finish(job, JobState.FAILED, fault=fault, **said, log=log_tail(log), **fields)
        failure_tell(job)


def job_release(*, job: Job, code: str, error: str, log: str = "", is_delayed: bool = True) -> None:
    """Give a running job back after a platform fault; without attempts left it fails, unless a listener holds it.

    is_delayed: whether it is delayed first, so that an outage does not use up all attempts; the reaper ends the delay.
    """
    history = _history(job, code, error)
    if job.attempt >= settings.JOB_MAX_ATTEMPTS:
        if last_attempt_tell(job, code=code, error=error, log=log):
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
        public_error=error,
        history=history,
        log=log_tail(log),
    )


def delay_after(attempt: int) -> timedelta:
    """Return the delay of a job after a platform fault in this attempt."""
    return min(timedelta(seconds=settings.JOB_DELAY_SECONDS * 2.0 ** (attempt - 1)), DELAY_LIMIT)


def job_hand_back(*, job: Job, log: str = "") -> None:
    """Give a running job back because its worker was asked to stop; the attempt does not count.

    The reaper rings its bell later: a bell rung now might be answered by a worker that is stopping too.
    """
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
        history=_history(job, code, error),
        log=log_tail(log),
    )


def job_postpone(*, job: Job, span: timedelta, code: str, error: str, log: str = "") -> None:
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
        public_error=error,
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
        public_error=error,
        history=_history(job, failure, error),
        log=log_tail(log),
    )


def jobs_go_on(rows: QuerySet[AnyJob]) -> None:
    """End the delay of waiting jobs of a kind whose obstacle is gone, and ring the bell of their queues."""
    first = rows.first()
    if first is not None:
        said = {"error_code": "", "error": "", "public_error": ""}
        rows.update(not_before=None, fault=JobFault.NONE, **said)
        job_ring(job=first)


def job_prioritise(*, job: Job, priority: int) -> None:
    """Move a waiting job forward or back in its line. priority: -10 to 10. Raises Refused."""
    if not -PRIORITIES <= priority <= PRIORITIES:
        raise Refused(f"A priority is a whole number from {-PRIORITIES} to {PRIORITIES}.", field="priority")
    if not priority_write(rows=type(job)._default_manager.filter(pk=job.pk), priority=priority):
        raise Refused("Only a job that waits for its first worker has a place in line that can change.")


def job_cancel(*, job: Job, code: CancelCode, reason: str) -> None:
    """Cancel a waiting or running job. The result of a worker that still runs it is refused.

    code: for later decisions in code. reason: for people, in any words.
    """
    transition(
        job,
        JobState.CANCELLED,
        expected_token=job.claim_token,
        **UNCLAIMED,
        ended_at=Now(),
        # It may carry an earlier platform fault, which was counted at the time.
        fault=JobFault.NONE,
        error_code="cancelled",
        error=reason,
        public_error=reason,
        cancel_code=code,
    )


def job_cancel_if_open(*, job: Job, code: CancelCode, reason: str) -> bool:
    """As `job_cancel`, but return False for a job that is over, ends at this moment or changes too quickly."""
    for _ in range(3):
        if job.is_over:
            break
        try:
            job_cancel(job=job, code=code, reason=reason)
        except StaleJob:
            # A worker has just claimed, returned or finished it.
            job.refresh_from_db()
        else:
            return True
    return False


def job_requeue(*, job: Job, reason: str) -> None:
    """Take a running job from its worker and let it start again with a full set of attempts."""
    code = "requeued"
    transition(
        job,
        JobState.QUEUED,
        expected_token=job.claim_token,
        **AGAIN,
        attempt=0,
        error_code=code,
        error=reason,
        public_error=reason,
        history=_history(job, code, reason),
    )
    job_wake(job=job)


def jobs_end_delay() -> int:
    """Put delayed jobs whose time has come back in line; return how many. The database's clock counts."""
    due = {"state": JobState.QUEUED, "not_before__lte": Now()}
    return sum(model._default_manager.filter(**due).update(not_before=None) for model in JOB_MODELS.values())


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


def _history(job: Job, code: str, error: str) -> list[dict[str, object]]:
    """Return the failed attempts of a running job, including the one that ends now. Times are the database's.

    Only the holder of the claim may write the history, so it cannot change between this read and the write.
    """
    rows = type(job)._default_manager.filter(pk=job.pk).annotate(now=Now())
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
