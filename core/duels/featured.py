"""Duels worth a look: the newest, the closest and the last upset among those that everyone may see."""

from __future__ import annotations

from dataclasses import dataclass

from core.models import Audience, Duel, DuelOutcome, JobState

LOOKED_AT = 200
"""How many of the newest duels are compared."""
UPSET_SHARE = 0.4
"""A duel is an upset if its winner was expected to take less than this share of the points."""


@dataclass(frozen=True, slots=True)
class FeaturedDuel:
    """A duel with the reason why it is shown."""

    why: str
    duel: Duel


def duel_featured_list() -> list[FeaturedDuel]:
    """Return up to three different duels whose matches can be watched. One query."""
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
            "outcome", "expected", "player_1_wins", "player_2_wins", "player_1_errors", "player_2_errors", "draws",
            "player_1__number", "player_2__number", "player_1__agent__name", "player_2__agent__name",
            "player_1__agent__environment__name", "player_1__agent__environment__slug",
        )
        .order_by("-pk")[:LOOKED_AT]
    )  # fmt: skip
    upsets = [row for row in rows if _winner_expected(row) < UPSET_SHARE]
    choices = (
        ("Last upset", upsets[:1]),
        ("Closest duel", sorted(rows, key=_distance)[:1]),
        ("Newest duel", rows[:1]),
    )
    shown: dict[int, FeaturedDuel] = {}
    for why, chosen in choices:
        for row in chosen:
            shown.setdefault(row.pk, FeaturedDuel(why, row))
    return list(shown.values())


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
