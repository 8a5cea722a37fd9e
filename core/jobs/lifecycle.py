"""What workers and organisers do with jobs of any kind."""

from __future__ import annotations

import functools
import logging
import time
import uuid
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import ParamSpec, TypeVar

from django.conf import settings
from django.db import DatabaseError, Error, InterfaceError, OperationalError, connection, transaction
from django.db.models import DateTimeField, ExpressionWrapper, F, Q, QuerySet
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from core.errors import Refused
from core.jobs.apart import apart
from core.jobs.bells import ring
from core.jobs.kinds import JOB_MODELS, LOST_CODE
from core.jobs.registry import failure_tell, queues_of
from core.jobs.states import StaleJob, transition
from core.jobs.turns import FRONT, line_up, priority_write
from core.models import CancelCode, Job, JobFault, JobState
from core.models.job import PRIORITIES

logger = logging.getLogger(__name__)
AnyJob = TypeVar("AnyJob", bound=Job)
Named = ParamSpec("Named")

WRITE_AGAIN_SECONDS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Pauses between attempts to write a result while the database is away."""

UNCLAIMED: dict[str, None] = {"claim_token": None, "lease_expires_at": None}
"""What a job that leaves its worker no longer has."""
AGAIN: dict[str, int | None] = {**UNCLAIMED, "sort_key": FRONT}
"""What a job is that waits again: whatever lost its worker need not wait for a whole edition."""
LOG_LIMIT_CHARACTERS = 64 * 1024
HISTORY_LIMIT = 20
"""Attempts that a job's history keeps, the latest of them."""
POISON_PAUSE = timedelta(minutes=5)
"""How long an expired lease is left alone that could not be taken back because something is wrong with its row."""
REST_LIMIT = timedelta(minutes=10)
"""How long a job rests at most after a failure by the platform: the first time JOB_REST_SECONDS, then twice as long
after every other."""


def written_once(write: Callable[Named, None]) -> Callable[Named, None]:
    """Try to write a job's result again while the database is away: that costs less than playing again.

    write: takes a running job and all else by name, and writes in one transaction, by `transition`. So nothing is
    written twice: where only the answer to a COMMIT was lost, the row says that the result is there. `job_succeed` and
    `job_fail` are written so by themselves; who calls them in a transaction of theirs has that one tried again.
    """

    @functools.wraps(write)
    def patient(*arguments: Named.args, **named: Named.kwargs) -> None:
        job = next(value for value in named.values() if isinstance(value, Job))
        # Within a transaction of the caller's there is nothing to try again.
        pauses = iter(() if connection.in_atomic_block else WRITE_AGAIN_SECONDS)
        was_away = False
        while True:
            try:
                return write(*arguments, **named)
            except StaleJob:
                ended = type(job)._default_manager.filter(pk=job.pk, claim_token=job.claim_token)
                # A last attempt whose lease ended meanwhile ended without this result.
                ended = ended.exclude(error_code=LOST_CODE)
                if was_away and ended.exclude(state__in=(JobState.QUEUED, JobState.RUNNING)).exists():
                    return None
                raise
            except Error as error:
                # The last is what a driver calls a connection that broke in the middle of an answer.
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
    """End the rest of a waiting job, and ring the bell of its queues."""
    type(job)._default_manager.filter(pk=job.pk, state=JobState.QUEUED).update(not_before=None)
    job_ring(job=job)


def job_ring(*, job: Job) -> None:
    """Ring the bell of the queues whose workers take a job."""
    for queue in queues_of(job):
        ring(queue)


def job_claim(*, kind: type[AnyJob], job_id: int, worker: str) -> AnyJob | None:
    """Claim a waiting job for `worker`; None when it is gone, taken or over, or rests."""
    rested = Q(not_before=None) | Q(not_before__lte=Now())
    waiting = kind._default_manager.filter(rested, pk=job_id, state=JobState.QUEUED)
    # With all that its worker needs, in one query.
    job = waiting.select_related(*kind.RELATED).first()
    return job if job is not None and job_take(job=job, worker=worker) else None


def job_take(*, job: Job, worker: str) -> bool:
    """Claim a job that was read a moment ago, along with its RELATED, and may be run; False when somebody was quicker.

    What the database's clock says (`started_at`, `lease_expires_at`) is in the row only.
    """
    try:
        transition(
            job,
            JobState.RUNNING,
            expected_token=job.claim_token,
            claim_token=uuid.uuid4(),
            lease_expires_at=_in(timedelta(seconds=settings.JOB_LEASE_SECONDS)),
            not_before=None,
            attempt=F("attempt") + 1,
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
    """Renew the lease of a running job, and write how far it is. Raises StaleJob when the claim is lost."""
    fields: dict[str, object] = {"lease_expires_at": _in(timedelta(seconds=settings.JOB_LEASE_SECONDS))}
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
    """Finish a running job as failed, with a typed code and a sentence for a person, and tell who listens.

    public_error: what a stranger may read of a player's fault; a fault of the platform is told to everybody in full.
    """
    public = error if fault == JobFault.PLATFORM else public_error
    said = {"error_code": code[:50], "error": error, "public_error": public}
    with transaction.atomic():
        _finish(job, JobState.FAILED, fault=fault, **said, log=log_tail(log), **fields)
        failure_tell(job)


def job_release(*, job: Job, code: str, error: str, log: str = "", rests: bool = True) -> None:
    """Give a running job back after a platform fault; without attempts left it fails.

    It rests first, so that an outage does not use up all attempts at once; the reaper ends its rest.
    """
    history = _history(job, code, error)
    if job.attempt >= settings.JOB_MAX_ATTEMPTS:
        job_fail(job=job, fault=JobFault.PLATFORM, code=code, error=error, log=log, history=history)
        return
    transition(
        job,
        JobState.QUEUED,
        expected_token=job.claim_token,
        **AGAIN,
        not_before=_in(rest_after(job.attempt) if rests else timedelta()),
        fault=JobFault.PLATFORM,
        error_code=code[:50],
        error=error,
        public_error=error,
        history=history,
        log=log_tail(log),
    )


def rest_after(attempt: int) -> timedelta:
    """How long a job rests when this attempt was failed by the platform."""
    return min(timedelta(seconds=settings.JOB_REST_SECONDS * 2.0 ** (attempt - 1)), REST_LIMIT)


def job_hand_back(*, job: Job, log: str = "") -> None:
    """Give a running job back because its worker is asked to stop; this costs it no attempt.

    The reaper rings for it: a bell that is rung at once might be answered by the very workers that stop.
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


def job_prioritise(*, job: Job, priority: int) -> None:
    """Have a waiting job taken earlier or later than its turn. priority: -10 to 10. Raises Refused."""
    if not -PRIORITIES <= priority <= PRIORITIES:
        raise Refused(f"A priority is a whole number from {-PRIORITIES} to {PRIORITIES}.", field="priority")
    if not priority_write(rows=type(job)._default_manager.filter(pk=job.pk), priority=priority):
        raise Refused("It does not wait for its first worker: only such jobs have a place in line that can change.")


def job_cancel(*, job: Job, code: CancelCode, reason: str) -> None:
    """Cancel a waiting or running job. A worker that still runs it is refused when it comes back.

    code: what code decides by later; reason: the same for people, in any words.
    """
    transition(
        job,
        JobState.CANCELLED,
        expected_token=job.claim_token,
        **UNCLAIMED,
        ended_at=Now(),
        # It may have rested after a fault of the platform, which was counted then.
        fault=JobFault.NONE,
        error_code="cancelled",
        error=reason,
        public_error=reason,
        cancel_code=code,
    )


def job_cancel_if_open(*, job: Job, code: CancelCode, reason: str) -> None:
    """As `job_cancel`, but content with a job that is over, also one that has ended a moment ago."""
    for _ in range(3):
        if job.is_over:
            return
        try:
            job_cancel(job=job, code=code, reason=reason)
        except StaleJob:
            job.refresh_from_db()


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


def jobs_requeue_expired() -> int:
    """Give back what has lost its lease; return how many. The worker is taken for dead.

    Such a job has rested for the length of its lease. A row that cannot be given back does not stop the others: it is
    written down, and looked at again after a pause.
    """
    return sum(
        _requeue_expired(model, number)
        for model in JOB_MODELS.values()
        for number in list(_expired(model).values_list("pk", flat=True))
    )


def _expired(model: type[AnyJob]) -> QuerySet[AnyJob]:
    return model._default_manager.filter(state=JobState.RUNNING, lease_expires_at__lt=Now())


def _requeue_expired(model: type[Job], number: int) -> bool:
    with apart(f"The lease of {model.KIND} {number}", otherwise=partial(_put_off, model, number)), transaction.atomic():
        # Again, with its row held: a heartbeat may have come meanwhile, and none may come now.
        job = _expired(model).select_for_update(of=("self",), no_key=True).filter(pk=number).first()
        if job is None:
            return False
        job_release(job=job, code=LOST_CODE, error="The worker stopped answering.", log=job.log, rests=False)
        logger.warning("Lease of %s %s expired under worker %s.", job.KIND, job.pk, job.worker)
        return True
    return False


def _put_off(model: type[Job], number: int) -> None:
    _expired(model).filter(pk=number).update(lease_expires_at=_in(POISON_PAUSE))


def jobs_end_rest() -> int:
    """Put those jobs back in line that have rested enough; return how many. The database's clock counts."""
    rested = {"state": JobState.QUEUED, "not_before__lte": Now()}
    return sum(model._default_manager.filter(**rested).update(not_before=None) for model in JOB_MODELS.values())


def log_tail(log: str) -> str:
    """The part of a log that is kept: its end, without what a database cannot store."""
    clean = log.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")
    if len(clean) <= LOG_LIMIT_CHARACTERS:
        return clean
    return "[start of the log cut]\n" + clean[-LOG_LIMIT_CHARACTERS:]


def _in(span: timedelta) -> ExpressionWrapper[CombinedExpression]:
    # The database's clock, so that a worker with a wrong clock neither loses nor keeps a claim by it.
    return ExpressionWrapper(Now() + span, output_field=DateTimeField())


def _history(job: Job, code: str, error: str) -> list[dict[str, object]]:
    """The attempts of a running job that came to nothing, with the one that ends now. Times are the database's.

    Only who holds the claim may write it, so what is read here is still so when it is written.
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
