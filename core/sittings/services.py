"""Sittings: a person sits down, moves and resigns; a worker writes the moves of the submission and the result."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from arena_kit.environment.records import DuelRecord
from arena_kit.environment.solver import Solution
from arena_kit.referee.sitting import SittingMove as Move
from core.duels.challenge_selectors import active_version
from core.duels.positions import Position, position_check
from core.errors import Refused
from core.jobs.artifacts import DuelArtifacts
from core.jobs.lifecycle import job_await_person, job_enqueue, job_succeed, job_wake
from core.jobs.locks import name_lock
from core.jobs.states import StaleJob
from core.jobs.written import written_once
from core.models import Agent, JobState, Opponents, Sitting, SittingMove, User
from core.monitoring.metrics import matches_played
from core.people.quotas import address_digest, owner_lock, owner_share
from core.people.services import anonymous_ensure
from core.sittings.permissions import sitting_obstacle, sitting_quota_check
from core.sittings.selectors import IDLE, hint_of, sitting_so_far

MOST_STEPS = 10
"""The most steps that one choice may be played for where both sides move at once."""
SEEDS = 2**31
OVER = "This match is over."
NOT_YOUR_TURN = "This move was made already, or it is not your turn."


def sitting_begin(
    *,
    user: User | None,
    address: str,
    agent: Agent,
    seat: int | None,
    position: Position | None = None,
    known: Sequence[UUID] = (),
) -> Sitting:
    """Let a person sit down against the active version of an agent, at the start or at a position.

    user: None for a visitor, whose quota is counted by the sittings that their browser has begun (`known`), and by a
    hash of `address`. seat: 0 or 1; None draws it. Raises Refused with what to do, and QuotaExceeded.
    """
    now = timezone.now()
    digest = "" if user else address_digest(address, now=now)
    with transaction.atomic():
        sitter = _person_lock(user, digest)
        version = active_version(agent)
        why = sitting_obstacle(agent, version, user)
        if version is None or why:
            raise Refused(why)
        sitting_quota_check(user=sitter, address_digest=digest, known=known, environment=agent.environment, now=now)
        if position is not None:
            position_check(position, agent.environment)
        begins: dict[str, Any] = {"seed": secrets.randbelow(SEEDS)} if position is None else position.fields
        sitting = Sitting.objects.create(
            user=sitter,
            address_digest=digest,
            submission=version,
            persons_seat=secrets.randbelow(2) if seat is None else seat,
            environment_version=agent.environment.spec_id,
            match_count=1,
            persons_turn_at=now,
            **begins,
        )
        job_enqueue(job=sitting)
    return sitting


def sitting_move(*, sitting: Sitting, step: int, action: int, steps: int = 1) -> None:
    """Store a person's move and wake a worker. Raises Refused with a sentence, and NotStored.

    step: that the person has seen, so that a second click does nothing. steps: for how many steps the action is chosen
    where both sides move at once.
    """
    with transaction.atomic():
        row = _open_lock(sitting)
        state, seat = sitting_so_far(row), row.persons_seat
        if state.is_over:
            raise Refused(OVER)
        if len(state.steps) != step or seat not in state.waiting:
            raise Refused(NOT_YOUR_TURN)
        if action not in state.valid[seat]:
            raise Refused("This action is not possible here. Choose one of those that are listed.")
        count = max(1, min(steps, MOST_STEPS)) if len(state.to_move) > 1 else 1
        for number in range(step, step + count):
            chosen = {"action": action}
            SittingMove.objects.update_or_create(sitting=row, step=number, seat=seat, defaults=chosen)
        _acted(row)


def sitting_take_back(*, sitting: Sitting) -> None:
    """Let a person take back their last move, and what was played after it. Raises Refused, and NotStored."""
    with transaction.atomic():
        row = _open_lock(sitting)
        state, seat = sitting_so_far(row), row.persons_seat
        if state.to_move != (seat,):
            raise Refused("A move can be taken back when it is your turn.")
        own = [step for step, moves in enumerate(state.steps) if moves[0][0] == seat]
        if not own:
            raise Refused("You have not moved yet.")
        SittingMove.objects.filter(sitting=row, step__gte=own[-1]).delete()
        Sitting.objects.filter(pk=row.pk).update(persons_turn_at=Now(), is_helped=True)


def sitting_hint(*, sitting: Sitting) -> Solution | None:
    """Return how a match goes on with perfect play, and note that the person was helped; None without an answer.

    Raises NotStored.
    """
    found = hint_of(sitting)
    if found is not None:
        Sitting.objects.filter(pk=sitting.pk).update(is_helped=True)
    return found


def sitting_resign(*, sitting: Sitting) -> None:
    """Let a person give up; a worker then writes the result. Raises Refused."""
    with transaction.atomic():
        row = _open_lock(sitting)
        Sitting.objects.filter(pk=row.pk).update(resigned_at=Now())
        _acted(row)


def sitting_player_move(*, sitting: Sitting, move: Move) -> None:
    """Store a move of the submission. Raises StaleJob when the caller has lost its claim."""
    with transaction.atomic():
        held = Sitting.objects.filter(pk=sitting.pk, state=JobState.RUNNING, claim_token=sitting.claim_token)
        if held.select_for_update(no_key=True).first() is None:
            raise StaleJob(f"sitting {sitting.pk} is no longer running under this claim.")
        SittingMove.objects.create(
            sitting=sitting, step=move.step, seat=move.seat, action=move.action, seconds=move.seconds
        )
        held.update(persons_turn_at=Now())


def sitting_await_person(*, sitting: Sitting, step: int, valid: Sequence[int], log: str) -> None:
    """Leave the board until the person moves, or has been away for too long. Raises StaleJob.

    step: in which they are to move. valid: what they may play.
    """
    rows = Sitting.objects.filter(pk=sitting.pk)
    job_await_person(job=sitting, until=rows.values_list("persons_turn_at", flat=True).get() + IDLE, log=log)
    # What a person did before this could not wake a running job.
    made = SittingMove.objects.filter(sitting=sitting, step=step, seat=sitting.persons_seat, action__in=valid)
    if made.exists() or rows.exclude(resigned_at=None).exists():
        job_wake(job=sitting)


@written_once
def sitting_succeed(*, sitting: Sitting, record: DuelRecord, artifacts: DuelArtifacts, log: str) -> None:
    """Write the record of a sitting that is over; its moves are in there. Raises StaleJob."""
    (match,) = record.matches
    with transaction.atomic():
        job_succeed(job=sitting, log=log, outcome=match.outcome.value, **asdict(artifacts))
        SittingMove.objects.filter(sitting=sitting).delete()
        env_id = sitting.submission.agent.environment.env_id
        matches_played(kind=sitting.KIND, env_id=env_id, matches=1, moves=sum(match.move_counts))


def opponents_set(*, agent: Agent, opponents: str) -> None:
    """Decide which people may play against an agent. Raises Refused for any other word than those of Opponents."""
    if opponents not in Opponents.values:
        raise Refused("Choose only its owner, people with an account, or everyone.", field="opponents")
    Agent.objects.filter(pk=agent.pk).update(opponents=opponents)
    agent.opponents = opponents


def _person_lock(user: User | None, digest: str) -> User:
    """Lock what a person's quota is counted under. Raises Refused when the account is closed."""
    if user is not None:
        return owner_lock(user)
    found = owner_share(anonymous_ensure())
    name_lock(f"sittings of visitor {digest}")
    return found


def _open_lock(sitting: Sitting) -> Sitting:
    row = Sitting.objects.select_for_update(no_key=True).get(pk=sitting.pk)
    if row.is_over or row.resigned_at is not None:
        raise Refused(OVER)
    return row


def _acted(row: Sitting) -> None:
    Sitting.objects.filter(pk=row.pk).update(persons_turn_at=Now())
    if row.state == JobState.QUEUED:
        job_wake(job=row)
