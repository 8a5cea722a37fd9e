"""The live rating, which moves with every duel: Elo for two seats, Weng and Lin's for more. Pure.

It is for instant feedback only: it never settles and has no interval. The official rating is in rating.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from arena_kit.ranking.standings import DuelResult

START = 1500.0
FLOOR = 0.0
PERFORMANCE = 400 / (math.log(10) * math.sqrt(2))
"""The standard deviation of performances in points: with it, a lead of 400 points means odds of 10 to 1, as in Elo."""
DEVIATION = 2 * PERFORMANCE
"""The uncertainty of a new submission, in points, in Weng and Lin's proportion to PERFORMANCE."""


@dataclass(frozen=True, slots=True)
class RatingEstimate:
    """value: on the Elo scale. duel_count: rated duels behind it."""

    value: float
    duel_count: int


@dataclass(frozen=True, slots=True)
class ManySeatResult:
    """A match with two or more seats. number: order in the schedule. scores: by submission, higher wins."""

    number: int
    submissions: tuple[int, ...]
    scores: tuple[float, ...]


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


def rate_many_seats(results: Iterable[ManySeatResult]) -> dict[int, RatingEstimate]:
    """Rating of every submission in `results`, applied in the order of their numbers, on the Elo scale.

    The Plackett-Luce model (algorithm 4) of Weng and Lin 2011, A Bayesian Approximation Method for Online Ranking,
    Journal of Machine Learning Research 12, as in `openskill`; a deviation only shrinks, since submissions are frozen.
    Start and floor are those of Elo. Raises ValueError for a match with fewer than two submissions, with
    the same submission twice, or without exactly one score per submission.
    """
    # Imported here, so that only sites with such environments load it.
    from openskill.models import PlackettLuce, PlackettLuceRating

    model = PlackettLuce(mu=START, sigma=DEVIATION, beta=PERFORMANCE, tau=0.0)
    ratings: dict[int, PlackettLuceRating] = {}
    counts: dict[int, int] = {}
    for result in sorted(results, key=lambda item: item.number):
        seats = len(result.submissions)
        if seats < 2 or len(result.scores) != seats or len(set(result.submissions)) != seats:
            raise ValueError(f"Match {result.number} needs two or more different submissions with one score each.")
        teams = [[ratings.get(submission) or model.rating()] for submission in result.submissions]
        rated = model.rate(teams, ranks=[-score for score in result.scores])
        for submission, (rating,) in zip(result.submissions, rated, strict=True):
            rating.mu = max(FLOOR, rating.mu)
            ratings[submission] = rating
            counts[submission] = counts.get(submission, 0) + 1
    return {submission: RatingEstimate(rating.mu, counts[submission]) for submission, rating in ratings.items()}


def k_factor(duel_count: int) -> int:
    """The largest step of a rating after `duel_count` rated duels."""
    if duel_count < 10:
        return 40
    return 32 if duel_count < 20 else 24
