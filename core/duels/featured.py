"""Duels worth a look: the newest, the closest and the last upset among those that everyone may see."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import OuterRef, QuerySet, Subquery

from arena_kit.environment.protocol import UnknownEnvironment
from arena_kit.environment.registry import get_spec
from core.courses.sight import released_to_all
from core.duels.latest import NOT_STRUCK
from core.lookup import Lookup, Objects
from core.models import Analysis, Duel, DuelOutcome, JobState, Rating

LOOKED_AT = 200
"""How many of the newest duels are compared."""
LONGEST_SHOWN = 100
"""The longest match, in steps, that pages play."""
FILMS = 6
"""The number of matches that pages play one after another."""
UPSET_SHARE = 0.4
"""A duel is an upset if its winner was expected to take less than this share of the matches."""
CLOSE_DISTANCE = 0.3
"""A duel is close if its two shares of the matches differ by at most this: 65 to 35."""
SKILLED = 0.5
"""From this strength of the weaker player on, a close duel is worth a look."""
STRENGTH_WEIGHT = 2.0
"""How much the strength of the weaker player counts in the interest of a duel, beside closeness and surprise, which
count 1 each: two players of no skill often come close and often surprise."""


@dataclass(frozen=True, slots=True)
class FeaturedDuel:
    """A duel with the reason why it is shown."""

    why: str
    duel: Duel


@dataclass(frozen=True, slots=True)
class Film:
    """A match that pages play: of a duel, the first one that is analysed, or else the first.

    ratings: of player 1 and player 2, None for one without.
    """

    duel: Duel
    ratings: tuple[float | None, float | None]
    number: int = 1

    @property
    def names(self) -> str:
        """Both players with their ratings."""
        players = (self.duel.player_1.agent.name, self.duel.player_2.agent.name)
        told = [
            name if rating is None else f"{name} ({rating:.0f})"
            for name, rating in zip(players, self.ratings, strict=True)
        ]
        return " against ".join(told)


@dataclass(frozen=True, slots=True)
class Featured:
    """Duels worth a look. films: a match of each of the most interesting ones that a page can play, the best first.

    The closest duel is one of two players in the upper half by skill: two of no skill often come close.
    Interest is the strength of the weaker player, how close the two are, and how little the winner was expected.
    """

    duels: list[FeaturedDuel]
    films: list[Film]


class _Compared(NamedTuple):
    """The columns of a duel by which it is compared with others. The names are those of the model."""

    pk: int
    outcome: str
    expected: float | None
    environment_version: str
    draws: int
    player_1_wins: int
    player_2_wins: int
    player_1_errors: int
    player_2_errors: int
    environment: int
    rating_1: float | None
    rating_2: float | None

    @property
    def ratings(self) -> list[float]:
        """The known ones."""
        return [value for value in (self.rating_1, self.rating_2) if value is not None]


_ASKED = (*_Compared._fields[:-3], "tournament__environment", "rating_1", "rating_2")
_SHOWN = (
    "outcome",
    "draws",
    "player_1_wins",
    "player_2_wins",
    "player_1_errors",
    "player_2_errors",
    "environment_version",
    "player_1__number",
    "player_2__number",
    "player_1__agent__name",
    "player_2__agent__name",
    "player_1__agent__environment__name",
    "player_1__agent__environment__slug",
    "player_1__agent__environment__image",
)


def _compared() -> QuerySet[Duel, Any]:
    """Return the newest duels whose matches can be watched, by a few figures: only chosen ones become objects."""
    found = Duel.objects.filter(
        NOT_STRUCK,
        released_to_all(),
        state=JobState.SUCCEEDED,
        tournament__environment__is_active=True,
    ).exclude(records="")
    # Subqueries, because planning four more joins takes PostgreSQL longer than all the rest.
    ratings = {
        f"rating_{player}": Rating.objects.filter(submission=OuterRef(f"player_{player}")).values("value")
        for player in (1, 2)
    }
    return found.annotate(**ratings).order_by("-pk").values_list(*_ASKED)[:LOOKED_AT]


def _named(keys: tuple[int, ...]) -> QuerySet[Duel]:
    """Return duels with their players, and the first match that is analysed."""
    analysed = Analysis.objects.filter(duel=OuterRef("pk"), state=JobState.SUCCEEDED).order_by("match_number")
    players = ("player_1__agent__environment", "player_2__agent")
    rows = Duel.objects.filter(pk__in=keys).select_related(*players).only(*_SHOWN)
    return rows.annotate(analysed=Subquery(analysed.values("match_number")[:1]))


COMPARED, NAMED = Lookup(_compared), Objects(_named)


def featured_get() -> Featured:
    """Return up to three different duels whose matches can be watched, and the one to play. Two queries."""
    rows = [_Compared(*row) for row in COMPARED()]
    upsets = [row for row in rows if _winner_expected(row) < UPSET_SHARE]
    strengths = _strengths(rows)
    skilled = (row for row in rows if strengths[row.pk] >= SKILLED and _distance(row) <= CLOSE_DISTANCE)
    closest = sorted(skilled, key=_distance)
    reasons: dict[int, str] = {}
    for why, chosen in (("Last upset", upsets[:1]), ("Closest duel", closest[:1]), ("Newest duel", rows[:1])):
        for row in chosen:
            reasons.setdefault(row.pk, why)
    whole = [row for row in rows if not row.player_1_errors and not row.player_2_errors]
    short = {version for version in {row.environment_version for row in whole} if _is_short(version)}
    shown_well = (row for row in whole if row.environment_version in short)
    # The first of equals is the newest.
    films = sorted(shown_well, key=lambda row: -_interest(row, strengths[row.pk]))[:FILMS]
    keys = (*reasons, *(row.pk for row in films))
    duels: dict[int, Any] = {duel.pk: duel for duel in NAMED(keys)} if keys else {}
    # A duel can be deleted between the two queries.
    shown = [FeaturedDuel(why, duels[key]) for key, why in reasons.items() if key in duels]
    ratings_of = {row.pk: (row.rating_1, row.rating_2) for row in films if row.pk in duels}
    return Featured(shown, [Film(duels[pk], both, duels[pk].analysed or 1) for pk, both in ratings_of.items()])


def _interest(duel: _Compared, strength: float) -> float:
    """Return how much a duel is worth a look. strength: of its weaker player, 0 to 1."""
    return STRENGTH_WEIGHT * strength + (1 - _distance(duel)) + (1 - _winner_expected(duel))


def _strengths(rows: Sequence[_Compared]) -> dict[int, float]:
    """Return the strength of the weaker player of each duel: from 0 for the weakest of its environment's players in
    these duels, and for one without a rating, to 1 for the strongest."""
    values: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        values[row.environment] += row.ratings
    found = {}
    for row in rows:
        known = values[row.environment]
        span = max(known, default=0.0) - min(known, default=0.0)
        found[row.pk] = (min(row.ratings) - min(known)) / span if len(row.ratings) == 2 and span else 0.0
    return found


def _is_short(version: str) -> bool:
    """Return whether the matches of a version of an environment are short."""
    try:
        return get_spec(version).max_steps <= LONGEST_SHOWN
    except UnknownEnvironment:
        return False


def _winner_expected(duel: _Compared) -> float:
    """Return the share of the matches that the winner was expected to take; 1 if it is unknown or no player won."""
    if duel.expected is None or duel.outcome not in (DuelOutcome.PLAYER_1, DuelOutcome.PLAYER_2):
        return 1.0
    return duel.expected if duel.outcome == DuelOutcome.PLAYER_1 else 1 - duel.expected


def _distance(duel: _Compared) -> float:
    """Return how far apart the two are, 0 to 1. A duel of draws alone counts as far apart, as it shows little."""
    first, second = duel.player_1_wins + duel.player_2_errors, duel.player_2_wins + duel.player_1_errors
    played = first + second + duel.draws
    return 1.0 if not first + second else abs(first - second) / played
