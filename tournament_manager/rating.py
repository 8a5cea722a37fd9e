"""Skill estimates over all editions of an environment, behind one function. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tournament_manager.standings import DuelResult

START = 1500.0
FLOOR = 0.0


@dataclass(frozen=True, slots=True)
class RatingEstimate:
    """value: on the Elo scale. duel_count: rated duels behind it."""

    value: float
    duel_count: int


def rate(results: Iterable[DuelResult]) -> dict[int, RatingEstimate]:
    """Elo rating of every submission in `results`, applied in the order the duels were scheduled (their ids).

    Expected score 1 / (1 + 10^((R_b - R_a) / 400)); actual score 1, 0.5 or 0 of the duel; K is 40 below 10 rated
    duels, 32 below 20, else 24; start 1500, floor 0. Source: A. E. Elo, The Rating of Chessplayers, 1978, with the
    K schedule of the arenas this one takes over.
    """
    values: dict[int, float] = {}
    counts: dict[int, int] = {}
    for result in sorted(results, key=lambda item: item.duel):
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
    """Largest step of a rating after `duel_count` rated duels."""
    if duel_count < 10:
        return 40
    return 32 if duel_count < 20 else 24
