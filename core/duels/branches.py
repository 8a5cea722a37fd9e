"""Duels that go on from a position of a recorded match: any person may let two agents play it out, unrated."""

from __future__ import annotations

from django.db import transaction
from django.db.models import QuerySet

from core.duels.challenge_selectors import active_version, rival_hindrance
from core.duels.positions import Position, position_check
from core.duels.services import duel_create
from core.errors import Refused
from core.models import Agent, Challenge, ChallengeKind, Duel, Opponents, Submission, User
from core.people.quotas import challenge_quota_check, owner_lock

MATCHES = 2
"""One with each agent in the first seat."""


def branch_create(*, user: User, position: Position, agents: tuple[Agent, Agent]) -> Challenge:
    """Let two agents go on from a position, in one match for each way to seat them.

    Raises Refused with what to do, and QuotaExceeded: it counts as a duel of a challenge.
    """
    environment = position.duel.environment
    with transaction.atomic():
        locked = owner_lock(user)
        for agent in agents:
            position_check(position, agent.environment)
        if agents[0].pk == agents[1].pk:
            raise Refused("Choose two different agents.")
        first, second = (_player(agent, locked) for agent in agents)
        challenge_quota_check(owner=locked, environment=environment, duel_count=1, what="line")
        challenge = Challenge.objects.create(user=locked, submission=first, kind=ChallengeKind.BRANCH)
        duel_create(
            challenge=challenge,
            player_1=first,
            player_2=second,
            seed=position.seed,
            match_count=MATCHES,
            reason=f"{locked.username} lets the two go on from a position.",
            position=position,
        )
    return challenge


def branches_of(duel: Duel, number: int) -> QuerySet[Duel]:
    """Return the duels that go on from a match, newest first."""
    rows = Duel.objects.filter(origin=duel, origin_match=number)
    return rows.select_related("player_1__agent", "player_2__agent").defer("log", "history").order_by("-pk")


def _player(agent: Agent, asker: User) -> Submission:
    """Return the version that plays. Raises Refused: of other people's agents, for what no challenge may ask either."""
    version = active_version(agent)
    if agent.owner_id != asker.pk:
        if agent.opponents == Opponents.NOBODY:
            raise Refused(f"The owner of {agent} does not let other people choose what it plays.")
        if why := rival_hindrance(agent, version):
            raise Refused(why)
    if version is None:
        raise Refused(f"{agent} has no version that may play at the moment.")
    return version
