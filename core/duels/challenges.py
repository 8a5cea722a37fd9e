"""Challenges: unrated duels that an owner asks for. Barring a player cancels them, and those of runs.

Their duels share the line of all duels fairly: owners who ask for many wait behind owners who ask for few, and neither
editions and ladders nor challenges starve each other.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Collection

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from core.duels.challenge_selectors import (
    active_version,
    challenge_rows,
    challenger_obstacle,
    report_of,
    rival_obstacle,
    top_rivals,
)
from core.duels.losses import challenge_losses_analyse
from core.duels.playouts import playouts_keep
from core.duels.services import duel_new, duels_enqueue
from core.errors import Refused
from core.jobs.apart import apart
from core.jobs.control import BY_OWNER, CHANGING, OVER, job_cancel_if_open
from core.jobs.states import OPEN
from core.links import page
from core.models import Agent, CancelCode, Challenge, ChallengeKind, Duel, JobState, NoticeKind, Submission, User
from core.notices.services import notify
from core.people.audit_log import Operator, audit_record
from core.people.quotas import challenge_quota_check, owner_lock

logger = logging.getLogger(__name__)
UNRATED = Q(challenge__isnull=False) | Q(run__isnull=False)
PLAYS_NO_MORE = "One of its players may no longer take part."


def challenge_create(*, user: User, agent: Agent, opponent: Agent | None) -> Challenge:
    """Create unrated duels of an agent's active version against another agent, or the top ten if `opponent` is None.

    Raises Refused with what to do, and QuotaExceeded.
    """
    with transaction.atomic():
        locked = owner_lock(user)
        submission = _challenger(locked, agent)
        environment = agent.environment
        rivals = top_rivals(agent) if opponent is None else [_rival(agent, opponent)]
        if not rivals:
            raise Refused(
                f"There is no top ten in {environment} yet: only your agents have ratings there. Wait for an edition."
            )
        challenge_quota_check(owner=locked, environment=environment, duel_count=len(rivals))
        challenge = Challenge.objects.create(
            user=locked,
            submission=submission,
            kind=ChallengeKind.TOP_TEN if opponent is None else ChallengeKind.AGENT,
        )
        # One seed for all, so that the rivals are met on the same openings.
        seed = secrets.randbelow(2**31)
        duels_enqueue(
            duels=[
                duel_new(
                    challenge=challenge,
                    number=number,
                    player_1=submission,
                    player_2=rival,
                    seed=seed,
                    match_count=environment.matches_per_duel,
                    reason=f"{locked.username} asked for it.",
                )
                for number, rival in enumerate(rivals, start=1)
            ]
        )
    return challenge


def challenge_cancel(*, challenge: Challenge, operator: Operator) -> int:
    """Cancel the open duels of a challenge at the request of its owner; return how many.

    Duels that had begun stay charged to the owner's quota. Raises Refused when no duel could be cancelled.
    """
    if challenge.assignment_id is not None:
        raise Refused("It is part of an assignment, so it is played to its end.")
    with transaction.atomic():
        # Some may end meanwhile: their results stay.
        count = sum(
            job_cancel_if_open(job=duel, code=CancelCode.BY_OWNER, reason=BY_OWNER)
            for duel in challenge.duels.filter(state__in=OPEN).order_by("pk")
        )
        if not count:
            raise Refused(CHANGING if challenge.duels.filter(state__in=OPEN).exists() else OVER)
        audit_record(operator=operator, action="cancel challenge", row=challenge)
        challenge_follow(challenge.pk)
    return count


def challenge_follow(challenge_id: int) -> bool:
    """End a challenge whose duels are all over, and tell its owner; return whether this call did it."""
    over = _unended().filter(~Exists(_open_duels()), pk=challenge_id)
    with transaction.atomic():
        # When two processes get here at once, only one updates the row.
        if not over.update(ended_at=timezone.now()):
            return False
        challenge = challenge_rows().get(pk=challenge_id)
        _tell(challenge)
    with apart(f"The losses of challenge {challenge_id}"):
        _look_back(challenge)
    return True


def challenges_follow() -> int:
    """Cancel unrated duels of barred agents and owners, and end the challenges that are over; return how many ended.

    This catches what messages miss: a message may be lost, and a cancelled or void duel sends none.
    """
    barred = Q(is_disabled=True) | Q(owner__is_active=False)
    for duel in _unrated_duels(Agent.objects.filter(barred)):
        with apart(f"Duel {duel.pk}"):
            job_cancel_if_open(job=duel, code=CancelCode.PLAYER_BARRED, reason=PLAYS_NO_MORE)
    over = _unended().filter(~Exists(_open_duels()))
    ended = 0
    for number in list(over.values_list("pk", flat=True)):
        with apart(f"Challenge {number}"):
            ended += challenge_follow(number)
    return ended


def unrated_duels_cancel(agents: Collection[Agent], *, code: CancelCode, reason: str) -> None:
    """Cancel all open duels of challenges and runs of these agents, no matter who asked for them."""
    for duel in _unrated_duels(agents):
        job_cancel_if_open(job=duel, code=code, reason=reason)


def unrated_agents(agents: QuerySet[Agent]) -> list[int]:
    """Return the keys of those agents that have open duels of challenges or runs."""
    duels = Duel.objects.filter(UNRATED, state__in=OPEN).order_by()
    plays = Q(pk__in=duels.values("player_1__agent")) | Q(pk__in=duels.values("player_2__agent"))
    return list(agents.filter(plays).order_by().values_list("pk", flat=True))


def _challenger(user: User, agent: Agent) -> Submission:
    if agent.owner_id != user.pk:
        raise Refused(f"{agent} is not yours: only its owner may challenge others with it.", field="agent")
    version = active_version(agent)
    why = challenger_obstacle(agent, version)
    if version is None or why:
        raise Refused(why, field="agent")
    return version


def _rival(agent: Agent, opponent: Agent) -> Submission:
    if opponent.environment_id != agent.environment_id:
        raise Refused(f"{opponent} lives in another environment than {agent}.", field="opponent")
    if opponent.owner_id == agent.owner_id:
        raise Refused(f"{opponent} is also yours: challenge another person's agent.", field="opponent")
    version = active_version(opponent)
    why = rival_obstacle(opponent, version)
    if version is None or why:
        raise Refused(why, field="opponent")
    return version


def _unended() -> QuerySet[Challenge]:
    return Challenge.objects.filter(ended_at=None)


def _open_duels() -> QuerySet[Duel]:
    return Duel.objects.filter(challenge=OuterRef("pk"), state__in=OPEN)


def _unrated_duels(agents: Collection[Agent] | QuerySet[Agent]) -> QuerySet[Duel]:
    plays = Q(player_1__agent__in=agents) | Q(player_2__agent__in=agents)
    return Duel.objects.filter(plays, UNRATED, state__in=OPEN).order_by("pk")


def _look_back(challenge: Challenge) -> None:
    """Have the losses of a challenge analysed, or keep what the arena's own playouts have found. Raises NotStored."""
    if challenge.kind in (ChallengeKind.AGENT, ChallengeKind.TOP_TEN, ChallengeKind.COURSE):
        challenge_losses_analyse(challenge)
    elif challenge.kind == ChallengeKind.PLAYOUT and challenge.user.is_system:
        playouts_keep(challenge)


def _tell(challenge: Challenge) -> None:
    report = report_of(challenge)
    agent, assignment = challenge.submission.agent, challenge.assignment
    if assignment is not None and not assignment.course.members.filter(user=challenge.user_id).exists():
        # The person has left the course, so its pages are closed to them.
        return
    what = "The challenge" if assignment is None else f"{assignment}: the test"
    lines, against = [f"{line.name}: {line.sentence}" for line in report.lines], ""
    if len(report.lines) == 1 and report.lines[0].duel.state == JobState.SUCCEEDED:
        # The figures of the only duel are those of the challenge.
        lines, against = [report.lines[0].finding], f" against {report.lines[0].name}"
    notify(
        user=challenge.user,
        kind=NoticeKind.CHALLENGE_ENDED,
        title=f"{what} of {challenge.submission}{against} is over",
        text=(f"{challenge.submission} in {agent.environment} {report.sentence}\n\n" + "\n".join(lines)).rstrip(),
        address=page("challenge", challenge.pk),
    )
