"""What ratings expect of duels before these are played; kept with every duel, and calibration is judged by it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from arena_kit.ranking.matchmaking import expected_score
from core.models import Rating

WIDTH = 3.92
"""Of a 95% interval in standard deviations."""


@dataclass(frozen=True, slots=True)
class Strength:
    """A rating with its standard deviation, in points."""

    value: float
    deviation: float


@dataclass(frozen=True, slots=True)
class Strengths:
    """Ratings by submission, as far as there are any."""

    known: Mapping[int, Strength]

    def expected(self, one: int, other: int) -> float | None:
        """Predicted share of the points of `one`, 0 to 1, what is not known of both included; None without ratings."""
        if one not in self.known or other not in self.known:
            return None
        first, second = self.known[one], self.known[other]
        return expected_score(first.value - second.value, first.deviation**2 + second.deviation**2)

    def of_pairs(self, pairs: Iterable[tuple[int, int]]) -> dict[tuple[int, int], float]:
        """The same of many pairs, those left out of which nothing is known."""
        found = {pair: self.expected(*pair) for pair in pairs}
        return {pair: share for pair, share in found.items() if share is not None}


def strengths(submissions: Collection[int]) -> Strengths:
    """The official ratings of submissions, by their keys, as they are now; errors of two are taken for independent."""
    rows = Rating.objects.filter(submission__in=submissions)
    return Strengths(
        {
            key: Strength(value, (high - low) / WIDTH)
            for key, value, low, high in rows.values_list("submission_id", "value", "low", "high")
        }
    )
