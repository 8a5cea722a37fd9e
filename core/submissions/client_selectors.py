"""Answers for clients that know environments and submissions by public ids."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from core.courses.sight import seen
from core.evaluations.episodes import submission_by_id
from core.jobs.phase_selectors import decisive_job, evaluations_of
from core.models import Agent, Environment, Evaluation, JobState, Submission
from core.submissions.selectors import agent_source_visible
from core.submissions.visibility import error_shown
from core.tournaments.results import Viewer


class ClientState(StrEnum):
    """The progress of a submission, in the words of the arena's predecessors."""

    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ClientResult:
    """A submission as its client sees it. score: None until it is completed. error: None unless it failed."""

    id: UUID
    status: ClientState
    score: float | None
    error: str | None
    env_id: str
    algorithm: str
    created_at: datetime


_STATES = {
    JobState.QUEUED: ClientState.PENDING,
    JobState.RUNNING: ClientState.PROCESSING,
    JobState.FAILED: ClientState.FAILED,
    JobState.CANCELLED: ClientState.FAILED,
    # A finished build or validation: the next phase has not begun.
    JobState.SUCCEEDED: ClientState.PENDING,
}


def scored_environment(env_id: str, viewer: Viewer) -> Environment | None:
    """Return the environment of an id if it is ranked by score and the viewer may see it; otherwise None."""
    return seen(Environment.objects.filter(env_id=env_id, seats=1), viewer).first()


def client_submission(public_id: UUID) -> Submission | None:
    """Return a submission to a scored environment with its phases; None if it does not exist or was deleted."""
    submission = submission_by_id(public_id)
    if submission is None or submission.deleted_at is not None or not submission.agent.environment.is_scored:
        return None
    return submission


def failure_visible(agent: Agent, viewer: Viewer) -> bool:
    """Return whether a person who knows a submission's id may read why it failed.

    Everyone may for an anonymous submission, because its sender has to know and cannot log in as its owner.
    """
    return agent.owner.is_system or agent_source_visible(agent, viewer)


def client_result(submission: Submission, viewer: Viewer) -> ClientResult:
    """Return a submission's progress for a viewer; a completed one stays completed during another evaluation."""
    agent = submission.agent
    done = _finished(submission)
    job = done or decisive_job(submission)
    status = ClientState.COMPLETED if done else _STATES[JobState(job.state)] if job else ClientState.PENDING
    error = None
    if status == ClientState.FAILED and job is not None:
        error = error_shown(job, viewer, can_see_source=failure_visible(agent, viewer)) or "It was cancelled."
    return ClientResult(
        id=submission.public_id,
        status=status,
        score=done.score if done else None,
        error=error,
        env_id=agent.environment.env_id,
        algorithm=submission.algorithm,
        created_at=submission.created_at,
    )


def _finished(submission: Submission) -> Evaluation | None:
    """Return the newest evaluation of the latest build that has a score; None without one."""
    found = [one for one in evaluations_of(submission) if one.state == JobState.SUCCEEDED]
    return max(found, key=lambda one: one.pk, default=None)
