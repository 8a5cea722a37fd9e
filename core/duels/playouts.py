"""The values of the positions of a whole match: two named agents play on from several of them, unrated.

The duels are rows of a challenge, so they wait, are played, kept and charged as all other duels of challenges are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import msgspec
from django.core.cache import cache
from django.db import transaction
from django.db.models import QuerySet

from arena_kit.analysis.blunders import Blunder
from arena_kit.ranking.scores import Interval
from core.duels.blunders import blunders_keep, has_open_information
from core.duels.branches import duels_from, players_on, worth_of
from core.duels.positions import Position, position_check, positions_of
from core.duels.selectors import match_get, spec_get
from core.errors import Refused
from core.models import Agent, Challenge, ChallengeKind, Duel, Environment, JobState, User
from core.people.quotas import challenge_quota_check, owner_lock
from core.people.services import anonymous_ensure

MOST_POSITIONS = 10
"""From how many positions of a match is played on; each is a duel."""
MATCHES = 20
"""How many matches are played from a position, half of them with each agent in the first seat."""
KEPT_SECONDS = 24 * 3600
"""How long the worth of a duel stays in the cache. It never changes, but is read from a file."""


@dataclass(frozen=True, slots=True)
class Playout:
    """The result at one position. share: of the first seat's matches; None before the end, or without the records.

    distinct: the different matches, by which the interval is found.
    """

    duel: Duel
    ply: int
    share: Interval | None = None
    distinct: int = 0

    def share_of(self, seat: int) -> Interval:
        """Return the share of a seat, where it is known."""
        assert self.share is not None
        one = self.share
        return one if seat == 0 else Interval(1 - one.value, 1 - one.high, 1 - one.low)


@dataclass(frozen=True, slots=True)
class Playouts:
    """The positions of a match that two agents played out, in order."""

    challenge_id: int
    agents: tuple[str, str]
    found: tuple[Playout, ...]

    @property
    def done(self) -> int:
        return sum(one.duel.is_over for one in self.found)

    @property
    def is_over(self) -> bool:
        return self.done == len(self.found)

    @property
    def known(self) -> tuple[Playout, ...]:
        return tuple(one for one in self.found if one.share is not None)


def playouts_request(*, user: User, duel: Duel, number: int, agents: tuple[Agent, Agent]) -> Challenge:
    """Let two agents play on from positions of a whole match; return what the same versions have played already.

    Check first that the person may see the match. Raises Refused with what to do, QuotaExceeded and NotStored.
    """
    positions = chosen(positions_of(duel, number))
    if not positions:
        raise Refused("This match has no position to go on from.")
    with transaction.atomic():
        locked = owner_lock(user)
        players = players_on(positions[0], agents, locked)
        same = _duels(duel, number).filter(player_1=players[0], player_2=players[1])
        if found := same.exclude(state__in=(JobState.FAILED, JobState.CANCELLED)).first():
            assert found.challenge is not None
            return found.challenge
        challenge_quota_check(
            owner=locked, environment=duel.environment, duel_count=len(positions), what="analysis by playouts"
        )
        reason = f"{locked.username} asked what the positions of a match are worth."
        return duels_from(positions, players, locked, ChallengeKind.PLAYOUT, match_count=MATCHES, reason=reason)


def playouts_begin(*, duel: Duel, number: int) -> bool:
    """Let the two versions of a duel play on from positions of a match, at the arena's cost; return whether it does.

    Nothing is begun twice, nor for long games and those with hidden information. Raises NotStored.
    """
    spec = spec_get(duel)
    if spec.seats != 2 or spec.heavy or not has_open_information(spec) or _duels(duel, number).exists():
        return False
    positions = chosen(positions_of(duel, number))
    players = (duel.player_1, duel.player_2)
    if not positions or any(one.deleted_at is not None or one.agent.is_disabled for one in players):
        return False
    try:
        position_check(positions[0], duel.environment)
    except Refused:
        return False
    reason = "The arena looks for the place where this match was lost."
    with transaction.atomic():
        # The account of the arena: it has no quota, and its duels share one turn in line.
        asker = anonymous_ensure()
        duels_from(positions, players, asker, ChallengeKind.PLAYOUT, match_count=MATCHES, reason=reason)
    return True


def playouts_waiting(environment: Environment) -> int:
    """Return how many matches of an environment the arena is having played out."""
    waiting = Challenge.objects.filter(kind=ChallengeKind.PLAYOUT, user=anonymous_ensure(), ended_at=None)
    return waiting.filter(submission__agent__environment=environment).count()


def playouts_keep(challenge: Challenge) -> None:
    """Keep the position before the clearest fall of the side that lost a match, once it is played out.

    Raises NotStored.
    """
    row = challenge.duels.select_related("origin").first()
    if row is None or row.origin is None or row.origin_match is None:
        return
    duel, number = row.origin, row.origin_match
    (record, _), playouts = match_get(duel, number), playouts_of(duel, number)
    winner = {"PLAYER_1": 0, "PLAYER_2": 1}.get(record.outcome)
    if playouts is None or winner is None:
        return
    seat = record.seats.index(1 - winner)
    fallen = falls(playouts.known, seat)
    if not fallen:
        return
    before, after = max(fallen, key=lambda pair: pair[0].share_of(seat).value - pair[1].share_of(seat).value)
    positions = positions_of(duel, number)[before.ply : after.ply]
    at = next((one for one in positions if seat in one.to_move), None)
    if at is None:
        return
    played = record.actions[len(at.opening) + at.to_move.index(seat)]
    shares = before.share_of(seat).value, after.share_of(seat).value
    found = Blunder(at.ply, seat, at.seed, at.opening, played, (), (), *shares)
    blunders_keep(duel=duel, number=number, seats=record.seats, found=[found])


def falls(known: Sequence[Playout], seat: int) -> list[tuple[Playout, Playout]]:
    """Return neighbouring positions between which the share of a seat falls and the intervals do not meet."""
    return [
        (before, after) for before, after in pairwise(known) if after.share_of(seat).high < before.share_of(seat).low
    ]


def playouts_of(duel: Duel, number: int) -> Playouts | None:
    """Return the newest playouts of a match of which anything is or may come; None without any."""
    asked = _duels(duel, number)
    if not asked.exists():
        # Most matches have none, so their pages skip a wide query.
        return None
    rows = list(asked.select_related("player_1__agent", "player_2__agent").defer("log", "history"))
    useful = [row for row in rows if row.state not in (JobState.FAILED, JobState.CANCELLED)]
    if not useful:
        return None
    newest = useful[0].challenge_id
    assert newest is not None
    chosen_rows = sorted((row for row in rows if row.challenge_id == newest), key=lambda row: row.origin_ply or 0)
    return Playouts(
        newest, (str(useful[0].player_1), str(useful[0].player_2)), tuple(_playout(row) for row in chosen_rows)
    )


def chosen(positions: Sequence[Position]) -> list[Position]:
    """Return at most MOST_POSITIONS positions that are not over, evenly spread over a match, the first one included.

    Positions within the opening are left out: no player chose them.
    """
    open_ones = [one for one in positions if not one.is_over and not one.is_opening]
    if len(open_ones) <= MOST_POSITIONS:
        return open_ones
    last = len(open_ones) - 1
    return [open_ones[round(place * last / (MOST_POSITIONS - 1))] for place in range(MOST_POSITIONS)]


def _duels(duel: Duel, number: int) -> QuerySet[Duel]:
    rows = Duel.objects.filter(origin=duel, origin_match=number, challenge__kind=ChallengeKind.PLAYOUT)
    return rows.order_by("-challenge_id", "number")


def _playout(row: Duel) -> Playout:
    ply = row.origin_ply or 0
    if row.state != JobState.SUCCEEDED:
        return Playout(row, ply)
    key = f"worth of duel {row.pk} {row.records.name}".replace(" ", "-")
    kept = cache.get(key)
    worth = msgspec.convert(kept, tuple[Interval, int]) if kept is not None else worth_of(row)
    if kept is None and worth is not None:
        cache.set(key, msgspec.to_builtins(worth), timeout=KEPT_SECONDS)
    return Playout(row, ply) if worth is None else Playout(row, ply, *worth)
