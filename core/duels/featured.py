"""Duels worth a look: the newest, the closest and the last upset among those that everyone may see."""

from __future__ import annotations

from dataclasses import dataclass

from arena_kit.environment.protocol import UnknownEnvironment
from arena_kit.environment.registry import get_spec
from core.models import Audience, Duel, DuelOutcome, JobState

LOOKED_AT = 200
"""How many of the newest duels are compared."""
LONGEST_SHOWN = 100
"""The home page plays matches of games with at most so many steps."""
UPSET_SHARE = 0.4
"""A duel is an upset if its winner was expected to take less than this share of the points."""


@dataclass(frozen=True, slots=True)
class FeaturedDuel:
    """A duel with the reason why it is shown."""

    why: str
    duel: Duel


@dataclass(frozen=True, slots=True)
class Featured:
    """Duels worth a look. hero: the one whose first match the home page plays, of a game that is short to draw."""

    duels: list[FeaturedDuel]
    hero: Duel | None


def featured_get() -> Featured:
    """Return up to three different duels whose matches can be watched, and the one to play. One query."""
    related = ("player_1__agent__environment", "player_2__agent")
    found = Duel.objects.filter(
        state=JobState.SUCCEEDED,
        void=None,
        tournament__results=Audience.PUBLIC,
        tournament__environment__is_active=True,
    ).exclude(records="")
    rows = list(
        found.select_related(*related)
        .only(
            "outcome", "expected", "environment_version", "draws",
            "player_1_wins", "player_2_wins", "player_1_errors", "player_2_errors",
            "player_1__number", "player_2__number", "player_1__agent__name", "player_2__agent__name",
            "player_1__agent__environment__name", "player_1__agent__environment__slug",
        )
        .order_by("-pk")[:LOOKED_AT]
    )  # fmt: skip
    upsets = [row for row in rows if _winner_expected(row) < UPSET_SHARE]
    closest = sorted(rows, key=_distance)
    shown: dict[int, FeaturedDuel] = {}
    for why, chosen in (("Last upset", upsets[:1]), ("Closest duel", closest[:1]), ("Newest duel", rows[:1])):
        for row in chosen:
            shown.setdefault(row.pk, FeaturedDuel(why, row))
    return Featured(list(shown.values()), next(filter(_is_shown_well, [*upsets[:1], *closest]), None))


def _is_shown_well(duel: Duel) -> bool:
    """Return whether the first match of a duel is short and was played to its end."""
    return not duel.player_1_errors and not duel.player_2_errors and _is_short(duel)


def _is_short(duel: Duel) -> bool:
    try:
        return get_spec(duel.environment_version).max_steps <= LONGEST_SHOWN
    except UnknownEnvironment:
        return False


def _winner_expected(duel: Duel) -> float:
    """Return the share of the points that the winner was expected to take; 1 if it is unknown or no player won."""
    if duel.expected is None or duel.outcome not in (DuelOutcome.PLAYER_1, DuelOutcome.PLAYER_2):
        return 1.0
    return duel.expected if duel.outcome == DuelOutcome.PLAYER_1 else 1 - duel.expected


def _distance(duel: Duel) -> float:
    """Return how far apart the two are, 0 to 1. A duel of draws alone counts as far apart, as it shows little."""
    first, second = duel.player_1_wins + duel.player_2_errors, duel.player_2_wins + duel.player_1_errors
    played = first + second + duel.draws
    return 1.0 if not first + second else abs(first - second) / played
