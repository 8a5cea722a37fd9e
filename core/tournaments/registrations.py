"""Registers agents for planned tournaments, and withdraws them before these begin."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from core.errors import Refused
from core.models import Agent, Eligibility, Environment, Registration, Tournament, TournamentState, User
from core.tournaments.notices import place_found, registration_opened
from core.tournaments.registration_selectors import (
    HOLDS_PLACE,
    agent_obstacle,
    closed_because,
    owner_full,
    owner_obstacle,
    unregistered_owners,
    waiting_list,
)


def registration_notify(*, environment: Environment, now: datetime) -> int:
    """Tell owners of agents that could take part, once, that registration is open; return how many were told.

    Those who have registered know, and so do invited people.
    """
    rows = environment.tournaments.filter(
        state=TournamentState.PLANNED, registration_opens_at__lte=now, registration_told_at=None
    )
    told = 0
    for tournament in rows.exclude(eligibility=Eligibility.INVITED):
        with transaction.atomic():
            untold = Tournament.objects.filter(pk=tournament.pk, registration_told_at=None)
            if untold.update(registration_told_at=now) and not closed_because(tournament, now=now):
                owners = unregistered_owners(tournament)
                registration_opened(tournament, owners)
                told += len(owners)
    return told


def registration_create(*, tournament: Tournament, agent: Agent, by: User, now: datetime) -> Registration:
    """Register an agent for its owner. Raises Refused, saying why it cannot take part.

    Beyond the places of the tournament it waits for one that becomes free, in the order of registration.
    """
    with transaction.atomic():
        # The row is locked, so that no owner registers more agents than one may.
        locked = Tournament.objects.select_for_update(no_key=True).get(pk=tournament.pk)
        if agent.owner_id != by.pk:
            raise Refused("Only the owner of an agent may register it.", field="agent", code="not_yours")
        if closed := closed_because(locked, now=now):
            raise Refused(closed, code="closed")
        if obstacle := owner_obstacle(locked, by):
            raise Refused(obstacle, code="not_eligible")
        if locked.registrations.filter(agent=agent).exists():
            raise Refused(f"{agent} is registered already.", field="agent", code="registered")
        if obstacle := agent_obstacle(locked, agent):
            raise Refused(obstacle, field="agent", code="cannot_play")
        if obstacle := owner_full(locked, by):
            raise Refused(obstacle, field="agent", code="too_many")
        return Registration.objects.create(tournament=locked, agent=agent)


def registration_withdraw(*, tournament: Tournament, agent: Agent, by: User) -> None:
    """Withdraw a registration before the tournament begins; the first that waits has its place. Raises Refused."""
    with transaction.atomic():
        locked = Tournament.objects.select_for_update(no_key=True).get(pk=tournament.pk)
        if agent.owner_id != by.pk:
            raise Refused("Only the owner of an agent may withdraw it.", field="agent", code="not_yours")
        if locked.state != TournamentState.PLANNED:
            raise Refused("The tournament has begun, so the registration can no longer be withdrawn.", code="closed")
        waited = waiting_list(locked)
        deleted, _ = locked.registrations.filter(agent=agent).delete()
        if not deleted:
            raise Refused(f"{agent} is not registered.", field="agent", code="not_registered")
        has_place = waited - waiting_list(locked) - {agent.pk}
        place_found(locked, Agent.objects.filter(pk__in=has_place).select_related("owner"))


def registration_exchange(*, tournament: Tournament, agent: Agent, other: Agent, by: User) -> None:
    """Let another agent of the same owner take the place of a registered one before it begins. Raises Refused.

    It has the place in the order of registration and the seed of the first. Also possible after registration closed.
    """
    with transaction.atomic():
        locked = Tournament.objects.select_for_update(no_key=True).get(pk=tournament.pk)
        if by.pk not in (agent.owner_id, other.owner_id) or agent.owner_id != other.owner_id:
            raise Refused("Only the owner of both agents may exchange them.", field="agent", code="not_yours")
        if locked.state != TournamentState.PLANNED:
            raise Refused("The tournament has begun, so its participants stay as they are.", code="closed")
        if locked.registrations.filter(agent=other).exists():
            raise Refused(f"{other} is registered already.", field="agent", code="registered")
        if obstacle := agent_obstacle(locked, other):
            raise Refused(obstacle, field="agent", code="cannot_play")
        rows = locked.registrations.filter(agent=agent)
        if rows.exists() and not rows.filter(HOLDS_PLACE).exists():
            # Others may have its place by now.
            raise Refused(f"{agent} is disabled and holds no place.", field="agent", code="cannot_play")
        if not rows.update(agent=other):
            raise Refused(f"{agent} is not registered.", field="agent", code="not_registered")
