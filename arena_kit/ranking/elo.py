"""The live rating, which moves with every duel: Elo. Pure.

It is for instant feedback only: it never settles and has no interval. The official rating is in rating.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from arena_kit.ranking.standings import DuelResult

START = 1500.0
FLOOR = 0.0


@dataclass(frozen=True, slots=True)
class RatingEstimate:
    """value: on the Elo scale. duel_count: rated duels behind it."""

    value: float
    duel_count: int


def rate(
    results: Iterable[DuelResult], earlier: Mapping[int, RatingEstimate] | None = None
) -> dict[int, RatingEstimate]:
    """Elo rating of every submission in `results`, applied in the order in which they are given.

    earlier: the ratings after earlier results, which are then returned as well. Applying results in several calls gives
    exactly the same ratings as applying all of them in one.

    Expected score 1 / (1 + 10^((R_b - R_a) / 400)); actual score 1, 0.5 or 0 of the duel; K is 40 below 10 rated
    duels, 32 below 20, else 24; start 1500, floor 0. Source: A. E. Elo, The Rating of Chessplayers, 1978, with the
    K schedule of the arenas this one takes over.
    """
    values = {submission: estimate.value for submission, estimate in (earlier or {}).items()}
    counts = {submission: estimate.duel_count for submission, estimate in (earlier or {}).items()}
    for result in results:
        first, second = result.submissions
        before = (values.get(first, START), values.get(second, START))
        expected = 1 / (1 + 10 ** ((before[1] - before[0]) / 400))
        winner = result.winner
        actual = 0.5 if winner is None else 1.0 if winner == first else 0.0
        for submission, value, change in (
            (first, before[0], actual - expected),
            (second, before[1], expected - actual),
        ):
            count = counts.get(submission, 0)
            values[submission] = max(FLOOR, value + k_factor(count) * change)
            counts[submission] = count + 1
    return {submission: RatingEstimate(values[submission], counts[submission]) for submission in values}


def k_factor(duel_count: int) -> int:
    """The largest step of a rating after `duel_count` rated duels."""
    if duel_count < 10:
        return 40
    return 32 if duel_count < 20 else 24
