"""Owners stop what they have asked for: builds, validations, evaluations and challenges; never a rated duel."""

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


def open_phase(submission: Submission) -> Build | Validation | Evaluation | None:
    """The phase that a version is in, which its owner may cancel."""
    for kind in PHASES:
        found = kind._default_manager.filter(submission=submission, state__in=OPEN).order_by("-pk").first()
        if isinstance(found, PHASES):
            return found
    return None


def phase_cancel(*, job: Build | Validation | Evaluation, operator: Operator) -> None:
    """Cancel a build, validation or evaluation for the owner of its version, who asks for it. Raises Refused.

    The upload stays charged to the owner's quota once any work on it has begun. A version that still has to play for
    a rating keeps its build: its coming duels would be void.
    """
    with transaction.atomic():
        agent = agent_lock(job.submission.agent_id)
        _check_plays_nothing(job.submission)
        _cancel(job)
        standing_decide(agent=agent)
        audit_record(operator=operator, action=f"cancel {job.KIND}", row=job, note=str(job.submission))


def challenge_cancel(*, challenge: Challenge, operator: Operator) -> int:
    """Cancel the duels of a challenge that wait or are played, for the owner who has asked for it; return how many.

    Those that had begun stay charged to the owner's quota. Raises Refused where all are over.
    """
    with transaction.atomic():
        duels = list(challenge.duels.filter(state__in=OPEN).order_by("pk"))
        for duel in duels:
            _cancel(duel)
        if not duels:
            raise Refused(OVER)
        audit_record(operator=operator, action="cancel challenge", row=challenge)
        challenge_follow(challenge.pk)
    return len(duels)


def _cancel(job: Job) -> None:
    for _ in range(3):
        if job.is_over:
            raise Refused(OVER)
        try:
            job_cancel(job=job, code=CancelCode.BY_OWNER, reason=REASON)
        except StaleJob:
            # A worker has claimed it, given it back or finished it a moment ago.
            job.refresh_from_db()
        else:
            return
    raise Refused("It changes hands just now; try again in a moment.")


def _check_plays_nothing(submission: Submission) -> None:
    duels = Duel.objects.filter(Q(player_1=submission) | Q(player_2=submission), state__in=OPEN, challenge=None)
    running = Participant.objects.filter(
        submission=submission, withdrawn_at=None, tournament__state=TournamentState.RUNNING
    )
    if duels.exists() or running.exists():
        raise Refused(
            "It takes part in a tournament or a test, for which it is built again. Withdraw it from there, or wait."
        )
