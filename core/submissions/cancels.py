"""Cancellation by owners: of their builds, validations, evaluations and challenges, but never of a rated duel."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Q

from core.duels.challenges import challenge_follow
from core.errors import Refused
from core.evaluations.services import agent_lock, standing_decide
from core.jobs.lifecycle import job_cancel
from core.jobs.states import StaleJob
from core.models import (
    Build,
    CancelCode,
    Challenge,
    Duel,
    Evaluation,
    Job,
    JobState,
    Participant,
    Submission,
    TournamentState,
    Validation,
)
from core.people.audit_log import Operator, audit_record

PHASES = (Build, Validation, Evaluation)
OPEN = (JobState.QUEUED, JobState.RUNNING)
REASON = "Its owner has cancelled it."
OVER = "It is over already."
CHANGING = "Its state is changing right now; try again in a moment."


def open_phase(submission: Submission) -> Build | Validation | Evaluation | None:
    """Return the open phase of a version, which its owner may cancel; None without one."""
    for kind in PHASES:
        found = kind._default_manager.filter(submission=submission, state__in=OPEN).order_by("-pk").first()
        if isinstance(found, PHASES):
            return found
    return None


def phase_cancel(*, job: Build | Validation | Evaluation, operator: Operator) -> None:
    """Cancel a build, validation or evaluation at the request of the version's owner. Raises Refused.

    The upload stays charged to the owner's quota once any work on it has begun. A version that still has to play for
    a rating keeps its build, because its coming duels would be void without it.
    """
    with transaction.atomic():
        agent = agent_lock(job.submission.agent_id)
        _check_plays_nothing(job.submission)
        if not _cancel(job):
            raise Refused(OVER if job.is_over else CHANGING)
        standing_decide(agent=agent)
        audit_record(operator=operator, action=f"cancel {job.KIND}", row=job, note=str(job.submission))


def challenge_cancel(*, challenge: Challenge, operator: Operator) -> int:
    """Cancel the open duels of a challenge at the request of its owner; return how many.

    Duels that had begun stay charged to the owner's quota. Raises Refused when no duel could be cancelled.
    """
    with transaction.atomic():
        # Some may end meanwhile: their results stay.
        count = sum(_cancel(duel) for duel in challenge.duels.filter(state__in=OPEN).order_by("pk"))
        if not count:
            raise Refused(OVER)
        audit_record(operator=operator, action="cancel challenge", row=challenge)
        challenge_follow(challenge.pk)
    return count


def _cancel(job: Job) -> bool:
    """Cancel a job; return False when it is over or changes too quickly."""
    for _ in range(3):
        if job.is_over:
            break
        try:
            job_cancel(job=job, code=CancelCode.BY_OWNER, reason=REASON)
        except StaleJob:
            # A worker has just claimed, returned or finished it.
            job.refresh_from_db()
        else:
            return True
    return False


def _check_plays_nothing(submission: Submission) -> None:
    duels = Duel.objects.filter(Q(player_1=submission) | Q(player_2=submission), state__in=OPEN, challenge=None)
    running = Participant.objects.filter(
        submission=submission, withdrawn_at=None, tournament__state=TournamentState.RUNNING
    )
    if duels.exists() or running.exists():
        raise Refused(
            "It takes part in a tournament or a promotion test that needs this build. Withdraw it from there, or wait."
        )
