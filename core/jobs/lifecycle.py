"""What workers and organisers do with jobs of any kind."""

from __future__ import annotations

import functools
import logging
import time
import uuid
from collections.abc import Callable, Collection, Mapping
from datetime import timedelta
from typing import ParamSpec, TypeVar

from django.conf import settings
from django.db import DatabaseError, Error, InterfaceError, OperationalError, connection, transaction
from django.db.models import DateTimeField, ExpressionWrapper, F, Q
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from core.jobs.bells import QUICK_TASK, wake
from core.jobs.states import StaleJob, transition
from core.jobs.turns import FRONT, turn_next
from core.jobs.worker_selectors import workers_alive
from core.models import (
    Build,
    CancelCode,
    Duel,
    Evaluation,
    Job,
    JobFault,
    JobState,
    Publication,
    Recording,
    Validation,
)
from core.notices.news import version_failed

logger = logging.getLogger(__name__)
AnyJob = TypeVar("AnyJob", bound=Job)
Named = ParamSpec("Named")

WRITE_AGAIN_SECONDS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Pauses between attempts to write a result while the database is away."""

UNCLAIMED: dict[str, None] = {"claim_token": None, "lease_expires_at": None}
"""What a job that leaves its worker no longer has."""
AGAIN: dict[str, int | None] = {**UNCLAIMED, "turn": FRONT}
"""What a job is that waits again: whoever lost its worker need not wait for a whole edition."""
LOST_CODE = "worker_lost"
"""Of an attempt whose lease has ended."""
LOG_LIMIT_CHARACTERS = 64 * 1024
HISTORY_LIMIT = 20
"""Attempts that a job's history keeps, the latest of them."""
REST_LIMIT = timedelta(minutes=10)
"""How long a job rests at most after a failure by the platform: the first time JOB_REST_SECONDS, then twice as long
after every other."""

JOB_MODELS: dict[str, type[Job]] = {
    model.KIND: model for model in (Build, Validation, Duel, Evaluation, Recording, Publication)
}
QUEUES_AND_TASKS = {
    "build": ("build", "builder.tasks.build_run"),
    "validation": ("duel", "duel_runner.tasks.validation_run"),
    "duel": ("duel", "duel_runner.tasks.duel_run"),
    "evaluation": ("duel", "duel_runner.tasks.evaluation_run"),
    "recording": ("duel", "duel_runner.tasks.recording_run"),
    "publication": ("publish", "publisher.tasks.publication_run"),
}
QUICK_QUEUE, QUICK_KINDS = "quick", ("validation", "evaluation", "recording")
"""The queue of workers that are reserved for what is short and somebody waits for, and what that is: see `is_quick`."""


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
    """Put a new job in line and wake the workers of its queue."""
    job.turn = turn_next(job=job)
    type(job)._default_manager.filter(pk=job.pk).update(turn=job.turn)
    job_wake(job=job)


def job_wake(*, job: Job) -> None:
    """Tell the workers of its queue that this job waits and need rest no longer."""
    queue, task = QUEUES_AND_TASKS[job.KIND]
    type(job)._default_manager.filter(pk=job.pk).update(woken_at=Now(), not_before=None)
    wake(queue, task, job.pk)
    # Both may have it: who comes second finds nothing to do.
    if is_quick(job) and workers_alive(QUICK_QUEUE).exists():
        wake(QUICK_QUEUE, QUICK_TASK, job.pk)


def is_quick(job: Job) -> bool:
    """Whether reserved workers take it, too: a script may run for minutes, in which a validation would wait for it."""
    return job.KIND in QUICK_KINDS and getattr(job, "is_verified", True)


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
    """Finish a running job as failed, with a typed code and a sentence for a person, and tell its owner.

    public_error: what a stranger may read of a player's fault; a fault of the platform is told to everybody in full.
    """
    public = error if fault == JobFault.PLATFORM else public_error
    said = {"error_code": code[:50], "error": error, "public_error": public}
    with transaction.atomic():
        _finish(job, JobState.FAILED, fault=fault, **said, log=log_tail(log), **fields)
        version_failed(job)


def job_release(*, job: Job, code: str, error: str, log: str = "", rests: bool = True) -> None:
    """Give a running job back after a platform fault; without attempts left it fails.

    It rests first, so that an outage does not use up all attempts at once; the lookout wakes it then.
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

    The lookout wakes it: a message sent at once might be taken by the very workers that stop.
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


def job_put_off(*, kind: type[Job], job_id: int) -> None:
    """The message of a waiting job was taken by a worker that stops: the watchdog sends another."""
    kind._default_manager.filter(pk=job_id, state=JobState.QUEUED, not_before=None).update(not_before=Now())


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

    Such a job has rested for the length of its lease.
    """
    count = 0
    for model in JOB_MODELS.values():
        expired = model._default_manager.filter(state=JobState.RUNNING, lease_expires_at__lt=Now())
        for number in expired.values_list("pk", flat=True):
            with transaction.atomic():
                # Again, with its row held: a heartbeat may have come meanwhile, and none may come now.
                job = expired.select_for_update(of=("self",), no_key=True).filter(pk=number).first()
                if job is None:
                    continue
                job_release(job=job, code=LOST_CODE, error="The worker stopped answering.", log=job.log, rests=False)
            logger.warning("Lease of %s %s expired under worker %s.", job.KIND, job.pk, job.worker)
            count += 1
    return count


def jobs_wake_waiting(*, older_than: timedelta = timedelta(), queues: Collection[str] | None = None) -> int:
    """Wake every job that has rested enough or has waited long: its message may be lost. Return how many.

    queues: those in which messages may be lost; None: all, empty: none, then only what has rested is woken.
    """
    count = 0
    rested = Q(not_before__lte=Now())
    lost = Q(not_before=None) & (Q(woken_at=None) | Q(woken_at__lt=_in(-older_than)))
    for kind, model in JOB_MODELS.items():
        is_looked_after = queues is None or QUEUES_AND_TASKS[kind][0] in queues
        waiting = model._default_manager.filter(rested | lost if is_looked_after else rested, state=JobState.QUEUED)
        # All that it takes to wake one: logs and episodes of a whole edition are long.
        for job in waiting.only("pk", *model.LINES):
            job_wake(job=job)
            count += 1
    return count


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
