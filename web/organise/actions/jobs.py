"""Actions on jobs of every kind: requeue, set the priority, cancel, and do the work again."""

from __future__ import annotations

from core.jobs.control import job_cancel, job_prioritise, job_requeue
from core.jobs.lifecycle import job_wake
from core.jobs.states import OPEN
from core.jobs.turns import TURNS_PER_PRIORITY
from core.models import Build, CancelCode, Evaluation, Job, JobState, Publication, Validation
from core.models.job import PRIORITIES
from core.submissions.publishing import publication_again
from web.organise.action import OrganiserAction, OrganiserAnswer, OrganiserQuestion
from web.organise.actions.agents import build_again, evaluate_again


def _requeue(job: Job, answer: OrganiserAnswer) -> str:
    if job.state == JobState.QUEUED:
        job_wake(job=job)
        return "was already waiting; its workers were woken."
    job_requeue(job=job, reason=f"Requeued by {answer.user}.")
    return "waits for a worker again."


def _prioritise(job: Job, answer: OrganiserAnswer) -> str:
    job_prioritise(job=job, priority=answer.number)
    return f"has the priority {answer.number}."


def _cancel(job: Job, answer: OrganiserAnswer) -> str:
    job_cancel(job=job, code=CancelCode.BY_ORGANISER, reason=answer.reason)
    return "is cancelled."


def _build(job: Build | Validation, answer: OrganiserAnswer) -> str:
    return build_again(job.submission)


def _evaluate(job: Evaluation, answer: OrganiserAnswer) -> str:
    return evaluate_again(job.submission)


def _publish(job: Publication, answer: OrganiserAnswer) -> str:
    return f"is published again as publication {publication_again(publication=job).pk}."


def _is_open(job: Job) -> bool:
    return job.state in OPEN


def _is_over(job: Job) -> bool:
    return job.is_over


REQUEUE = OrganiserAction(
    name="requeue",
    label="Requeue: take from the worker and start again",
    button="Requeue",
    do=_requeue,
    fits=_is_open,
    is_told=False,
)
PRIORITISE = OrganiserAction(
    name="prioritise",
    label="Set the priority of waiting jobs",
    button="Set the priority",
    do=_prioritise,
    question=OrganiserQuestion(
        title="Set the priority",
        consequence=f"Workers take these waiting jobs earlier or later: each step moves a job by {TURNS_PER_PRIORITY} "
        "turns in its line. Only a limited number of jobs can overtake another one, so no job waits for ever.",
        button="Set it",
        number=f"Priority, from {-PRIORITIES} (after others) to {PRIORITIES} (before them)",
        least=-PRIORITIES,
        most=PRIORITIES,
    ),
    fits=lambda job: job.state == JobState.QUEUED,
    is_told=False,
)
CANCEL = OrganiserAction(
    name="cancel",
    label="Cancel, with a reason",
    button="Cancel",
    do=_cancel,
    question=OrganiserQuestion(
        title="Cancel",
        consequence="A cancelled job stays cancelled: this cannot be undone. Running jobs are stopped.",
        button="Cancel them",
        reason="Reason, shown on the page",
    ),
    fits=_is_open,
)
BUILD_AGAIN: OrganiserAction[Build | Validation] = OrganiserAction(
    name="run_again",
    label="Build and validate again, as a new build",
    button="Build again",
    do=_build,
    fits=_is_over,
)
EVALUATE_AGAIN: OrganiserAction[Evaluation] = OrganiserAction(
    name="run_again",
    label="Evaluate again, as a new evaluation",
    button="Evaluate again",
    do=_evaluate,
    fits=_is_over,
)
PUBLISH_AGAIN: OrganiserAction[Publication] = OrganiserAction(
    name="run_again",
    label="Publish again, as a new publication",
    button="Publish again",
    do=_publish,
    fits=_is_over,
)
JOB_ACTIONS = (REQUEUE, PRIORITISE, CANCEL)
