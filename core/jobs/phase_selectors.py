"""The phases of a submission, and its overall status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from django.db.models import Prefetch, QuerySet

from core.jobs.waits import Wait, waits_of
from core.lookup import Objects, prefetch
from core.models import (
    Build,
    Evaluation,
    Job,
    JobState,
    Publication,
    Submission,
    SubmissionForm,
    Validation,
)


class SubmissionStatus(Enum):
    """The overall status of a submission. Values: (label, tone), where tones are those of the pages' badges."""

    DELETED = ("Deleted", "calm")
    READY = ("Ready", "good")
    FAILED = ("Failed", "bad")
    CANCELLED = ("Cancelled", "calm")
    EVALUATING = ("Evaluating", "busy")
    VALIDATING = ("Validating", "busy")
    BUILDING = ("Building", "busy")
    WAITING = ("Waiting", "calm")

    @property
    def label(self) -> str:
        return self.value[0]

    @property
    def tone(self) -> str:
        return self.value[1]


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of a submission; `job` is None before it has begun."""

    title: str
    job: Job | None
    absence: str = "not yet"
    """The text to show when there is no job."""
    wait: Wait | None = None
    """Why the job is not running, while it waits."""


@dataclass(frozen=True, slots=True)
class OpenLog:
    """The log of a running or failed phase."""

    title: str
    text: str
    is_live: bool


JOBS: Mapping[str, QuerySet[Any]] = {
    "builds": Build.objects.defer("log"),
    "validations": Validation.objects.defer("log"),
    "publications": Publication.objects.defer("log"),
    "evaluations": Evaluation.objects.select_related("seed_list").defer(
        "log", "verification", "episodes", "metrics", "seed_list__seeds"
    ),
}
"""The jobs of submissions by relation, without what only their own pages show."""
LOOKUPS = {name: Objects(lambda keys, jobs=jobs: jobs.filter(submission__in=keys)) for name, jobs in JOBS.items()}


def submissions_with_phases() -> QuerySet[Submission]:
    """Return submissions with their jobs, without the jobs' logs."""
    rows = Submission.objects.select_related("agent__environment")
    return rows.prefetch_related(*(Prefetch(name, jobs) for name, jobs in JOBS.items()))


def phases_read(rows: Sequence[Submission]) -> None:
    """Give submissions their jobs, as `submissions_with_phases` does. At most four queries, which are written once."""
    is_scored = any(row.agent.environment.is_scored for row in rows)
    # Agents that meet others have no evaluations.
    prefetch(rows, LOOKUPS if is_scored else {**LOOKUPS, "evaluations": lambda _: []})


def phases_of(submissions: Sequence[Submission], *, is_publishing: bool) -> list[tuple[Phase, ...]]:
    """Return each submission's build, validation, evaluation and publication, without those that it never has.

    is_publishing: whether this arena publishes at all. Only public agents are published.
    """
    rows = [_jobs_of(submission, is_publishing) for submission in submissions]
    waits = waits_of(job for row in rows for job in row.values())
    return [
        tuple(Phase(title, job, wait=waits.get((job.KIND, job.pk)) if job else None) for title, job in row.items())
        for row in rows
    ]


def _jobs_of(submission: Submission, is_publishing: bool) -> dict[str, Job | None]:
    jobs: dict[str, Job | None] = {"Build": submission.latest_build}
    if submission.form != SubmissionForm.SCRIPT:
        jobs["Validation"] = validation_of(submission)
    if submission.agent.environment.is_app:
        del jobs["Validation"]
    elif submission.agent.environment.is_scored:
        jobs["Evaluation"] = evaluation_of(submission)
    publication = submission.latest_publication
    if publication is not None or (is_publishing and submission.agent.is_public):
        jobs["Publication"] = publication
    return jobs


def validation_of(submission: Submission) -> Validation | None:
    """Return the validation of the latest build; None when the latest validation is for an older image."""
    build, validation = submission.latest_build, submission.latest_validation
    if build is None or validation is None or validation.created_at < build.created_at:
        return None
    return validation


def evaluations_of(submission: Submission) -> list[Evaluation]:
    """Return the evaluations that count for the latest build: those made since, or earlier ones that it keeps.

    A player that is rebuilt and validated again keeps its score unless rules or seeds have changed; in that case a new
    evaluation exists from the moment of its validation on (core.submissions.phases.validation_succeed).
    """
    build, every = submission.latest_build, list(submission.evaluations.all())
    if build is None:
        return []
    newer = [evaluation for evaluation in every if evaluation.created_at >= build.created_at]
    validation = validation_of(submission)
    is_kept = not newer and validation is not None and validation.state == JobState.SUCCEEDED
    return every if is_kept else newer


def evaluation_of(submission: Submission) -> Evaluation | None:
    """Return the newest evaluation that counts for the latest build; None without one."""
    return max(evaluations_of(submission), key=lambda evaluation: evaluation.pk, default=None)


def decisive_job(submission: Submission) -> Job | None:
    """Return the latest phase that a submission has reached, publication aside; None without one."""
    return evaluation_of(submission) or validation_of(submission) or submission.latest_build


def status_of(submission: Submission) -> SubmissionStatus:
    if submission.deleted_at is not None:
        return SubmissionStatus.DELETED
    job = decisive_job(submission)
    if job is None:
        return SubmissionStatus.WAITING
    match job.state:
        case JobState.FAILED:
            return SubmissionStatus.FAILED
        case JobState.CANCELLED:
            return SubmissionStatus.CANCELLED
        case JobState.SUCCEEDED if submission.agent.environment.is_app:
            return SubmissionStatus.READY
        case JobState.SUCCEEDED:
            last = Evaluation if submission.agent.environment.is_scored else Validation
            return SubmissionStatus.READY if isinstance(job, last) else SubmissionStatus.WAITING
    if isinstance(job, Evaluation):
        return SubmissionStatus.EVALUATING
    if isinstance(job, Validation):
        return SubmissionStatus.VALIDATING
    return SubmissionStatus.BUILDING if job.state == JobState.RUNNING else SubmissionStatus.WAITING


def is_moving(submission: Submission) -> bool:
    """Return whether any phase waits or runs, so that the submission's page will change."""
    jobs = submission.latest_build, submission.latest_validation, submission.latest_evaluation
    return any(job is not None and not job.is_over for job in (*jobs, submission.latest_publication))


def open_log(submission: Submission) -> OpenLog | None:
    """Return the latest phase's log if the phase is running or failed; otherwise None. One query."""
    job = decisive_job(submission)
    if job is None or job.state not in (JobState.RUNNING, JobState.FAILED):
        return None
    title = f"{job.KIND.capitalize()} log"
    return OpenLog(title, job.log, is_live=job.state == JobState.RUNNING)
