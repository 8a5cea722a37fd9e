"""Head-to-head results over all tournaments of an environment: sums of the ledger."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from core import models
from core.models import Audience, Duel, Environment, JobState, Rating

COUNTED = Q(duel__tournament__is_rated=True, duel__tournament__results=Audience.PUBLIC, duel__void__isnull=True)
"""The condition for entries that count if they are by today's rules, as in `Tournament.counts_for_ratings`."""
SIZES = (10, 20, 40)
"""How many agents a matrix may show."""
LENS_SIZE = 60
"""How many submissions are compared for who beats whom: the cost grows with the cube, and more would be unreadable."""


@dataclass(frozen=True, slots=True)
class OpponentTotal:
    """All matches of two submissions that count, seen from one of them; a forfeit is a win for the opponent."""

    submission: int
    opponent: int
    wins: int
    draws: int
    losses: int
    duel_count: int
    latest_duel: int

    @property
    def matches(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def share(self) -> float:
        """The share of the matches, 0 to 1; a draw is half. Every entry of the ledger has matches."""
        return (self.wins + self.draws / 2) / self.matches


@dataclass(frozen=True, slots=True)
class Matrix:
    """The best submissions against each other. ratings: of the rows and of the columns, the best first.

    cells: row by row; None where the two have not met, and on the diagonal.
    """

    ratings: tuple[Rating, ...]
    cells: tuple[tuple[OpponentTotal | None, ...], ...]
    ranked_count: int


def rated_duels(environment: Environment) -> QuerySet[Duel]:
    """Return the finished duels of an environment that count for ratings, as COUNTED says of the ledger's entries."""
    return Duel.objects.filter(
        tournament__environment=environment,
        tournament__is_rated=True,
        tournament__results=Audience.PUBLIC,
        state=JobState.SUCCEEDED,
        void__isnull=True,
        environment_version__in=environment.rules_ids,
    )


def best_ratings(environment: Environment, limit: int) -> list[Rating]:
    """The ratings of ranked submissions, the best first."""
    ranked = Rating.objects.filter(submission__agent__environment=environment, rank__isnull=False)
    return list(ranked.select_related("submission__agent__owner").order_by("rank", "submission_id")[:limit])


def pair_totals(environment: Environment, submissions: Collection[int]) -> list[OpponentTotal]:
    """The totals of these submissions against each other, every pair from both sides. One query, of stored sums."""
    rows = models.PairTotal.objects.filter(environment=environment, first__in=submissions, second__in=submissions)
    columns = ("first", "second", "wins", "draws", "losses", "duel_count", "latest_duel")
    found: dict[tuple[int, int], list[int]] = {}
    for first, second, wins, draws, losses, duels, latest in rows.values_list(*columns):
        for pair, figures in (((first, second), (wins, draws, losses)), ((second, first), (losses, draws, wins))):
            sums = found.setdefault(pair, [0, 0, 0, 0, 0])
            for place, figure in enumerate((*figures, duels)):
                sums[place] += figure
            sums[-1] = max(sums[-1], latest)
    return [OpponentTotal(*pair, *sums) for pair, sums in found.items()]


def matrix_get(environment: Environment, size: int) -> Matrix:
    """The best of an environment against each other. size: at most so many."""
    ratings = best_ratings(environment, size)
    keys = [rating.submission_id for rating in ratings]
    ranked = Rating.objects.filter(submission__agent__environment=environment, rank__isnull=False).count()
    return Matrix(tuple(ratings), _cells(keys, pair_totals(environment, keys)), ranked)


def _cells(keys: Sequence[int], totals: Sequence[OpponentTotal]) -> tuple[tuple[OpponentTotal | None, ...], ...]:
    found = {(total.submission, total.opponent): total for total in totals}
    return tuple(tuple(found.get((row, column)) for column in keys) for row in keys)
