"""The opponents of a version that joins many others, each chosen by the results so far. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from arena_kit.ranking.matchmaking import (
    ELO,
    Candidate,
    MatchmakingRules,
    Pairing,
    Reason,
    expected_score,
    likely_to_tell,
    log_information,
)


@dataclass(frozen=True, slots=True)
class Met:
    """A candidate's duels against another one, also those whose results are missing.

    share: its share of their matches, 0 to 1; None without a result.
    """

    duel_count: int
    share: float | None = None


NEVER = Met(0)
MOST_NEW_DUELS = 40


@dataclass(frozen=True, slots=True)
class EditionSizes:
    """The duels of an edition of chosen pairs: of each version that has not played, and among all others together."""

    new_duels: int
    other_duels: int


def edition_sizes(count: int) -> EditionSizes:
    """Return the duels of an edition among this many agents, at least two: they grow with its logarithm."""
    bits = math.log2(count)
    return EditionSizes(min(MOST_NEW_DUELS, count - 1, math.ceil(4 * bits)), math.ceil(2 * bits))


def strength_after(one: Candidate, met: Mapping[int, Met], others: Mapping[int, Candidate]) -> tuple[float, float]:
    """Return the mean and the standard deviation (Elo) of a candidate's strength, given its own results alone.

    met: by submission; those that `others` does not know are left out. A pair counts as one match, as in the official
    ratings. The mode of the posterior and its curvature there (Laplace), by Newton's method; the prior is the
    candidate's own rating and deviation.
    """
    known = [(others[key].rating, row.share) for key, row in met.items() if key in others and row.share is not None]
    ratings = np.array([rating for rating, _ in known])
    shares = np.array([share for _, share in known])
    prior = 1 / max(one.deviation, 1.0) ** 2
    value, curvature = one.rating, prior
    for _ in range(30):
        chance = 0.5 * (1 + np.tanh((value - ratings) * ELO / 2))
        slope = ELO * float((shares - chance).sum()) - prior * (value - one.rating)
        curvature = ELO**2 * float((chance * (1 - chance)).sum()) + prior
        # Far from the mode the curve is nearly straight, and a whole step would overshoot.
        value += max(-400.0, min(400.0, slope / curvature))
    return value, curvature**-0.5


def opponent_choose(
    one: Candidate,
    others: Sequence[Candidate],
    met: Mapping[int, Met],
    *,
    seed: int,
    rules: MatchmakingRules | None = None,
) -> Pairing | None:
    """Return the opponent of whom a match says most about `one`; None if all have its owner or have met it too often.

    The rule is that of `choose_pairs`. O(len(others)).
    """
    rules = rules or MatchmakingRules()
    allowed = [
        row for row in others if row.owner != one.owner and met.get(row.submission, NEVER).duel_count < rules.pair_cap
    ]
    if not allowed:
        return None
    random = np.random.default_rng(seed)
    difference = one.rating - np.array([row.rating for row in allowed])
    variance = np.maximum(one.deviation**2 + np.array([row.deviation for row in allowed]) ** 2, 1e-9)
    times = np.array([met.get(row.submission, NEVER).duel_count for row in allowed])
    told = log_information(difference, variance, times, is_order=random.random() < rules.order_share)
    place = int((told + rules.noise * random.gumbel(size=told.shape)).argmax())
    apart, spread = float(difference[place]), float(variance[place])
    return Pairing(
        one.submission,
        allowed[place].submission,
        Reason.NEW if not one.matches else Reason.TELLS,
        f"{one} is new." if not one.matches else likely_to_tell(abs(apart), spread, int(times[place])),
        expected_score(apart, spread),
    )
