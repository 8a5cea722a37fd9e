"""Cancellation of builds, validations and evaluations by the owner of a version."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Q

from core.errors import Refused
from core.evaluations.services import standing_decide
from core.jobs.control import BY_OWNER, CHANGING, OVER, job_cancel_if_open
from core.jobs.locks import agent_lock
from core.jobs.states import OPEN
from core.models import (
    Build,
    CancelCode,
    Duel,
    Evaluation,
    Participant,
    Submission,
    TournamentState,
    Validation,
)
from core.people.audit_log import Operator, audit_record

PHASES = (Build, Validation, Evaluation)


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
        if not job_cancel_if_open(job=job, code=CancelCode.BY_OWNER, reason=BY_OWNER):
            raise Refused(OVER if job.is_over else CHANGING)
        standing_decide(agent=agent)
        audit_record(operator=operator, action=f"cancel {job.KIND}", row=job, note=str(job.submission))


def _check_plays_nothing(submission: Submission) -> None:
    duels = Duel.objects.filter(
        Q(player_1=submission) | Q(player_2=submission), state__in=OPEN, challenge=None, run=None
    )
    running = Participant.objects.filter(
        submission=submission, withdrawn_at=None, tournament__state=TournamentState.RUNNING
    )
    if duels.exists() or running.exists():
        raise Refused(
            "It takes part in a tournament or a promotion test that needs this build. Withdraw it from there, or wait."
        )
