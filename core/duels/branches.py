"""Duels that go on from a position of a recorded match: any person may let two agents play it out, unrated."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from django.db import transaction

from arena_kit.environment.records import Outcome
from arena_kit.ranking.scores import Interval, share_interval
from core.duels.challenge_selectors import active_version, rival_obstacle
from core.duels.positions import Position, position_check
from core.duels.selectors import NotStored, records_open
from core.duels.services import duel_new, duels_enqueue
from core.errors import Refused
from core.models import Agent, Challenge, ChallengeKind, Duel, JobState, Opponents, Submission, User
from core.people.quotas import challenge_quota_check, owner_lock

MATCHES = (2, 20, 100)
"""How many matches may go on: one with each agent in the first seat, or enough to value a position."""


@dataclass(frozen=True, slots=True)
class Continuation:
    """A duel that goes on from a position. worth: the first seat's share of the matches there, by play of these two.

    distinct: the different matches, by which the interval is found; None before the end, or without the records.
    """

    duel: Duel
    worth: Interval | None = None
    distinct: int = 0


def branch_create(
    *, user: User, position: Position, agents: tuple[Agent, Agent], match_count: int = MATCHES[0]
) -> Challenge:
    """Let two agents go on from a position, in as many matches with each of them in the first seat.

    match_count: one of MATCHES. Raises Refused with what to do, and QuotaExceeded: it counts as a duel of a challenge.
    """
    environment = position.played.environment
    if match_count not in MATCHES:
        raise Refused(f"Choose one of these numbers of matches: {', '.join(map(str, MATCHES))}.")
    with transaction.atomic():
        locked = owner_lock(user)
        players = players_on(position, agents, locked)
        challenge_quota_check(owner=locked, environment=environment, duel_count=1, what="line")
        reason = f"{locked.username} lets the two go on from a position."
        return duels_from([position], players, locked, ChallengeKind.BRANCH, match_count=match_count, reason=reason)


def players_on(position: Position, agents: tuple[Agent, Agent], asker: User) -> tuple[Submission, Submission]:
    """Return the versions with which two agents go on from a position. Raises Refused with what to do."""
    if agents[0].pk == agents[1].pk:
        raise Refused("Choose two different agents.")
    for agent in agents:
        position_check(position, agent.environment)
    return _player(agents[0], asker), _player(agents[1], asker)


def duels_from(
    positions: Sequence[Position],
    players: tuple[Submission, Submission],
    asker: User,
    kind: ChallengeKind,
    *,
    match_count: int,
    reason: str,
) -> Challenge:
    """Create the challenge in which two players go on from positions, with a duel for each of them."""
    challenge = Challenge.objects.create(user=asker, submission=players[0], kind=kind)
    duels_enqueue(
        duels=[
            duel_new(
                challenge=challenge,
                number=number,
                player_1=players[0],
                player_2=players[1],
                seed=position.seed,
                match_count=match_count,
                reason=reason,
                position=position,
            )
            for number, position in enumerate(positions, start=1)
        ]
    )
    return challenge


def continuations_of(position: Position, *, limit: int) -> list[Continuation]:
    """Return the duels that go on from a position, newest first; none from one of a sitting."""
    if not isinstance(position.played, Duel):
        return []
    rows = Duel.objects.filter(origin=position.played, origin_match=position.match, origin_ply=position.ply)
    rows = rows.select_related("player_1__agent", "player_2__agent").defer("log", "history").order_by("-pk")
    return [_continuation(duel) for duel in rows[:limit]]


def _continuation(duel: Duel) -> Continuation:
    """Return a duel with the result of its matches; those that repeat others count once in the interval."""
    if duel.state != JobState.SUCCEEDED:
        return Continuation(duel)
    worth = worth_of(duel)
    return Continuation(duel) if worth is None else Continuation(duel, *worth)


def worth_of(duel: Duel) -> tuple[Interval, int] | None:
    """Return the first seat's share of the matches of a duel that is over, and the number of its different matches.

    None without its records.
    """
    with suppress(NotStored), records_open(duel) as archive:
        points = 0.0
        for match in archive.index:
            winner = {Outcome.PLAYER_1: 0, Outcome.PLAYER_2: 1}.get(match.outcome)
            points += 0.5 if winner is None else float(winner == match.first_player)
        distinct = len({match.same_as or match.number for match in archive.index})
        share = share_interval(points / archive.match_count * distinct, distinct)
        return None if share is None else (share, distinct)
    return None


def _player(agent: Agent, asker: User) -> Submission:
    """Return the version that plays. Raises Refused: of other people's agents, for what no challenge may ask either."""
    version = active_version(agent)
    if agent.owner_id != asker.pk:
        if agent.opponents == Opponents.NOBODY:
            raise Refused(f"The owner of {agent} does not let other people choose what it plays.")
        if why := rival_obstacle(agent, version):
            raise Refused(why)
    if version is None:
        raise Refused(f"{agent} has no version that may play at the moment.")
    return version
