"""Log records of jobs: their subject, their start and their end."""

from __future__ import annotations

import hashlib
import logging
from contextlib import AbstractContextManager

from django.core.cache import cache

from arena_kit.log_context import bind
from core.jobs.states import seconds_running
from core.models import (
    Analysis,
    Duel,
    Environment,
    EnvironmentTrial,
    Evaluation,
    Job,
    JobFault,
    JobState,
    PackageBuild,
    Recording,
    Rollout,
)
from core.tracing import Current, span, stage

logger = logging.getLogger(__name__)

EVENTS = {
    JobState.SUCCEEDED: "job_succeeded",
    JobState.FAILED: "job_failed",
    JobState.CANCELLED: "job_cancelled",
    JobState.QUEUED: "job_retried",
}
"""The event of a job that a worker leaves, by state. A job that is still RUNNING was not written."""
IMAGE_MISSING_CODE = "image_missing"
SAID_SECONDS = 3600
REFUSED = "job_refused"
"""The event of a worker that had lost the job; the worker that took it logs the outcome."""


def job_about(job: Job, worker: str) -> dict[str, object]:
    """Return the fields of every log record while a job runs. job: read along with its RELATED."""
    fields: dict[str, object] = {
        "job_kind": job.KIND,
        "job_id": job.pk,
        "attempt": job.attempt,
        "worker": worker,
        "stage": "start",
    }
    about = job.played if isinstance(job, Analysis) else job
    if isinstance(about, Duel):
        fields |= {"duel_id": about.pk, "submission_ids": [about.player_1_id, about.player_2_id]}
    elif isinstance(job, Recording):
        fields |= {"evaluation_id": job.evaluation_id, "submission_id": job.evaluation.submission_id}
    elif isinstance(job, PackageBuild):
        fields["package_id"] = job.package_id
    elif isinstance(job, EnvironmentTrial):
        return fields | {"env_id": job.slug}
    else:
        fields["submission_id"] = about.submission_id  # type: ignore[attr-defined]  # all other kinds have one
    if isinstance(job, Evaluation):
        fields["evaluation_id"] = job.pk
    return fields | {"env_id": _environment(job).env_id}


def log_fault(job: Job, *, code: str, sentence: str) -> None:
    """Log a platform fault of a job; a missing image once an hour, because all duels of a version meet it."""
    level = logging.ERROR
    if code == IMAGE_MISSING_CODE:
        said = f"fault:{code}:{hashlib.sha256(sentence.encode()).hexdigest()[:32]}"
        level = logging.ERROR if cache.add(said, True, SAID_SECONDS) else logging.DEBUG
    logger.log(level, "%s %s: %s (%s)", job.KIND, job.pk, sentence, code)


def log_start(job: Job) -> None:
    """Log that a worker starts a job."""
    logger.info("job_started")


def job_span(job: Job) -> AbstractContextManager[Current]:
    """Make a span of the block, in which this process works at a job; it belongs to the trace that made the job."""
    about = {"arena.job.kind": job.KIND, "arena.job.id": job.pk, "arena.job.attempt": job.attempt}
    return span(f"job {job.KIND}", kind="consumer", parent=job.trace_context, about=about)


def log_stage(name: str) -> None:
    """Begin a stage of the current job: in its log records, and as a span of its trace."""
    bind(stage=name)
    stage(name)


def log_end(job: Job, traced: Current, *, is_refused: bool) -> None:
    """Log that a worker has finished with a job. traced: its span. is_refused: the worker had lost the job."""
    event = REFUSED if is_refused else EVENTS.get(JobState(job.state))
    traced.set({"arena.job.event": event or "job_not_written"})
    if job.error_code:
        traced.fail(job.error_code)
    if event is None:
        return
    fields: dict[str, object] = {"duration_ms": round((seconds_running(job) or 0.0) * 1000, 1)}
    if job.error_code:
        fields |= {"fault": job.fault, "error_code": job.error_code}
    # A player's fault concerns its owner, not the operators.
    is_ours = event == "job_failed" and job.fault == JobFault.PLATFORM
    logger.log(logging.ERROR if is_ours else logging.INFO, event, extra=fields)


def _environment(job: Job) -> Environment:
    if isinstance(job, Duel):
        return job.player_1.agent.environment
    if isinstance(job, Analysis):
        return job.played.environment
    if isinstance(job, Recording):
        return job.evaluation.environment
    if isinstance(job, PackageBuild):
        return job.package.environment
    if isinstance(job, Rollout):
        return job.environment
    environment: Environment = job.submission.agent.environment  # type: ignore[attr-defined]  # as above
    return environment
