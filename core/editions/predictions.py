"""Predictions of duels from ratings; they are stored with every duel, and calibration judges them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from arena_kit.ranking.matchmaking import expected_score
from core.models import Rating

WIDTH = 3.92
"""The width of a 95% interval in standard deviations."""


@dataclass(frozen=True, slots=True)
class Strength:
    """A rating with its standard deviation, in points."""

    value: float
    deviation: float


@dataclass(frozen=True, slots=True)
class Strengths:
    """Ratings by submission, for those that have one."""

    known: Mapping[int, Strength]

    def expected(self, one: int, other: int) -> float | None:
        """The predicted share of the matches of `one`, 0 to 1, given the errors of both ratings; None without both."""
        if one not in self.known or other not in self.known:
            return None
        first, second = self.known[one], self.known[other]
        return expected_score(first.value - second.value, first.deviation**2 + second.deviation**2)

    def of_pairs(self, pairs: Iterable[tuple[int, int]]) -> dict[tuple[int, int], float]:
        """The predictions of many pairs, without those that have none."""
        found = {pair: self.expected(*pair) for pair in pairs}
        return {pair: share for pair, share in found.items() if share is not None}


def strengths(submissions: Collection[int]) -> Strengths:
    """The current official ratings of submissions, by their ids; errors of two are taken to be independent."""
    rows = Rating.objects.filter(submission__in=submissions)
    return Strengths(
        {
            key: Strength(value, (high - low) / WIDTH)
            for key, value, low, high in rows.values_list("submission_id", "value", "low", "high")
        }
    )
