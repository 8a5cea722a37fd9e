"""A sequential test of whether the first submission is stronger than the second; it stops once that is certain. Pure.

The unit is a seat-swapped pair of matches on one seed, worth 0 to 4 half points to the first submission; pairs rather
than matches, because the two matches of a pair are not independent. The generalised log-likelihood ratio compares two
hypotheses about the difference, elo0 and elo1: the likelihood of the results under the likeliest distribution of pairs
with the difference elo1, over the same for elo0. H1 is accepted when it reaches ln((1 - beta) / alpha), H0 when it
falls to ln(beta / (1 - alpha)); each limit is moved inwards by the mean overshoot seen so far.

Sources: M. Van den Bergh, A note on the MLE of a multinomial distribution, and Comments on normalized Elo (section 4),
https://www.cantate.be/Fishtest/; the test of fishtest (server/fishtest/stats/LLRcalc.py, stat_util.py) and OpenBench
(OpenBench/stats.py), whose published values are in our tests; D. Siegmund, Sequential Analysis, 1985, corollary 8.33,
for the overshoot.

Bounds have three scales. Logistic Elo is that of ratings. Normalised Elo (the default) is the distance of the mean
score from one half in standard deviations of one match: with it, the same bounds take the same number of pairs whatever
the share of draws. The two agree for even matches without draws. A share, above 0 and below 1, is that of the points, a
draw counting half.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from arena_kit.older import StrEnum

ELO_PER_T = 800 / math.log(10)
"""The normalised Elo in one standard deviation of a match."""
SCORES = np.linspace(0, 1, 5)
"""The score of a pair, by its half points."""
MARGIN, LEAST_SHARE, LARGEST_SHARE = 0.04, 0.1, 0.95
"""The distance of the bounds from a share that is to be reached, and between which such shares lie."""
LARGEST_ELO = 200.0
"""The largest bound: larger differences show in a few pairs, and the likeliest distribution is not found reliably."""
UNSEEN = 1e-3
"""The count of a result that has not occurred, as in fishtest, because a likelihood of 0 would be final."""
Floats = np.ndarray[Any, np.dtype[np.float64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]


class Scale(StrEnum):
    """The unit of the bounds."""

    NORMALISED = "normalised Elo"
    LOGISTIC = "Elo"
    SHARE = "of the points"


class SequentialState(StrEnum):
    """The state of a test; the last three are final."""

    GOING_ON = "going on"
    ACCEPTED_H1 = "accepted H1"
    ACCEPTED_H0 = "accepted H0"
    INCONCLUSIVE = "inconclusive (cap)"


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """The question, fixed before the first pair. Raises ValueError for values that cannot be.

    elo0, elo1: the differences, or shares, that the test tells apart. alpha: probability of accepting H1 when the
    difference is elo0. beta: probability of accepting H0 when it is elo1. cap: pairs after which the test ends
    undecided. The defaults suit learning agents, whose versions differ by tens of Elo; a difference equal to either
    bound takes 130 pairs on average.
    """

    elo0: float = 0.0
    elo1: float = 50.0
    alpha: float = 0.05
    beta: float = 0.05
    cap: int = 1000
    scale: Scale = Scale.NORMALISED

    def __post_init__(self) -> None:
        # Rows store the scale as text.
        object.__setattr__(self, "scale", Scale(self.scale))
        if self.scale is Scale.SHARE:
            if not 0 < self.elo0 < self.elo1 < 1:
                raise ValueError(f"Shares must rise between 0 and 1, not {self.elo0:g} and {self.elo1:g}.")
        elif not -LARGEST_ELO <= self.elo0 < self.elo1 <= LARGEST_ELO:
            raise ValueError(
                f"Bounds must rise and lie within {LARGEST_ELO:.0f} Elo of zero, not {self.elo0:g} and {self.elo1:g}."
            )
        if not (0 < self.alpha < 0.5 and 0 < self.beta < 0.5):
            raise ValueError(f"alpha and beta must lie between 0 and 0.5, not at {self.alpha:g} and {self.beta:g}.")
        if self.cap < 1:
            raise ValueError(f"A test takes at least one pair: its cap is {self.cap}.")

    @property
    def as_json(self) -> dict[str, object]:
        """The test as a row stores it; `SequentialTest(**data)` reads it."""
        return {**asdict(self), "scale": self.scale.value}

    def reaching(self, share: float) -> SequentialTest:
        """Return the test, with these errors and this cap, of whether a share of the points is reached.

        share: LEAST_SHARE to LARGEST_SHARE. Raises ValueError for another one.
        """
        if not LEAST_SHARE <= share <= LARGEST_SHARE:
            raise ValueError(f"A share to reach lies between {LEAST_SHARE:.0%} and {LARGEST_SHARE:.0%}.")
        low, high = round(share - MARGIN, 4), round(share + MARGIN, 4)
        return replace(self, elo0=low, elo1=high, scale=Scale.SHARE)

    @property
    def share(self) -> float | None:
        """The share of the points that the first one has to reach; None for a test of strength."""
        return round((self.elo0 + self.elo1) / 2, 4) if self.scale is Scale.SHARE else None

    @property
    def is_symmetric(self) -> bool:
        """Return whether the test asks which of the two is stronger, rather than whether the first one is."""
        return self.elo0 == -self.elo1

    def question(self, first: str, second: str) -> str:
        """The question as part of a sentence; first, second: names of the two."""
        if self.is_symmetric:
            return f"which of {first} and {second} is stronger"
        return f"whether {self.claim(first, second)}"

    def claim(self, first: str, second: str) -> str:
        """Return the claim of H1 about the two, as part of a sentence."""
        if self.scale is Scale.SHARE:
            return f"{first} wins {_percent(self.elo1)} rather than {_percent(self.elo0)} {self.scale} against {second}"
        bounds = f"{_written(self.elo1)} rather than {_written(self.elo0)} {self.scale}"
        return f"{first} is {bounds} stronger than {second}"

    @property
    def lower(self) -> float:
        """The log-likelihood ratio at which H0 is accepted."""
        return math.log(self.beta / (1 - self.alpha))

    @property
    def upper(self) -> float:
        """The log-likelihood ratio at which H1 is accepted."""
        return math.log((1 - self.beta) / self.alpha)


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The state of a test after the first `pairs` pairs of the schedule.

    counts: of these pairs by half points, 0 to 4. llr: their log-likelihood ratio. waiting: pairs that have arrived but
    are not used, because an earlier one is missing or because the test had been decided.
    """

    test: SequentialTest
    state: SequentialState
    pairs: int
    counts: tuple[int, int, int, int, int]
    llr: float
    waiting: int

    @property
    def is_final(self) -> bool:
        """Return whether the test is over."""
        return self.state is not SequentialState.GOING_ON

    def sentence(self, first: str, second: str) -> str:
        """The result as a sentence; first, second: names of the two."""
        test = self.test
        llr, lower, upper = (_written(value, ".2f") for value in (self.llr, test.lower, test.upper))
        seen = f"log-likelihood ratio {llr}, limits {lower} and {upper}"
        if (
            self.state in (SequentialState.GOING_ON, SequentialState.INCONCLUSIVE)
            and not test.lower < self.llr < test.upper
        ):
            seen += "; but the side that it favours is not ahead"
        elif (
            self.state in (SequentialState.ACCEPTED_H0, SequentialState.ACCEPTED_H1)
            and test.lower < self.llr < test.upper
        ):
            # Without this, the test would seem to be decided before its limits.
            seen += ", each less the mean overshoot"
        open_question = test.question(first, second)
        if self.state is SequentialState.INCONCLUSIVE:
            return f"Inconclusive: the maximum of {self.pairs} pairs did not show {open_question} ({seen})."
        if self.state is SequentialState.GOING_ON:
            return f"Not decided after {self.pairs} of at most {test.cap} pairs {open_question} ({seen})."
        is_first, after = self.state is SequentialState.ACCEPTED_H1, f"after {self.pairs} pairs that"
        wrong = f"at most {_percent(test.alpha if is_first else test.beta)} of the time"
        if test.is_symmetric:
            stronger, weaker = (first, second) if is_first else (second, first)
            errs = f"if {weaker} were stronger by {test.elo1:g} {test.scale}, it would decide so {wrong}"
            return f"The test decides {after} {stronger} is stronger than {weaker} ({seen}; {errs})."
        verb = "accepts" if is_first else "rejects"
        return f"The test {verb} {after} {test.claim(first, second)} ({seen}; it does so wrongly {wrong})."


def decide(test: SequentialTest, half_points: Mapping[int, int]) -> Conclusion:
    """The state of the test after the pairs that have arrived so far.

    half_points: the half points of the first submission, 0 to 4, by the pair's number in the schedule, from 0. Pass all
    pairs that have arrived, in any order: the test uses them in the order of the schedule and stops at the first gap.
    So the decision is the same on one worker and on many, although quick matches, which may tend to one outcome, arrive
    first. A void pair is played again under its number. Pairs after a final decision do not change it. Raises
    ValueError for half points outside 0 to 4.
    """
    for number, points in half_points.items():
        if points not in range(5) or number < 0:
            raise ValueError(f"Pair {number} cannot have given {points} half points: two matches give 0 to 4.")
    in_order: list[int] = []
    while len(in_order) < test.cap and len(in_order) in half_points:
        in_order.append(half_points[len(in_order)])
    if not in_order:
        return Conclusion(test, SequentialState.GOING_ON, 0, (0, 0, 0, 0, 0), 0.0, len(half_points))
    states, ratios, counts = walk(test, in_order)
    final = np.flatnonzero(states)
    last = int(final[0]) if final.size else len(in_order) - 1
    state = {1: SequentialState.ACCEPTED_H1, -1: SequentialState.ACCEPTED_H0}.get(
        int(states[last]), SequentialState.GOING_ON
    )
    if state is SequentialState.GOING_ON and last + 1 == test.cap:
        state = SequentialState.INCONCLUSIVE
    a, b, c, d, e = counts[last].tolist()
    return Conclusion(test, state, last + 1, (a, b, c, d, e), float(ratios[last]), len(half_points) - last - 1)


def pairs_to_decide(test: SequentialTest, half_points: Sequence[int]) -> int | None:
    """How many of these pairs, in the order of the schedule, decide the test; None when they do not."""
    decision = decide(test, dict(enumerate(half_points)))
    return decision.pairs if decision.is_final else None


def course(test: SequentialTest, half_points: Sequence[int]) -> list[float]:
    """The log-likelihood ratio after each of these pairs, in the order of the schedule."""
    return [] if not half_points else [float(ratio) for ratio in walk(test, half_points)[1]]


def walk(test: SequentialTest, half_points: ArrayLike) -> tuple[Integers, Floats, Integers]:
    """After every pair: 1 where H1 would be accepted, -1 for H0, else 0; the log-likelihood ratio; the counts.

    half_points: shape (..., pairs), in the order of the schedule. Returns shapes (..., pairs) twice, (..., pairs, 5).
    """
    counts: Integers = np.cumsum(np.eye(5, dtype=np.int64)[np.asarray(half_points)], axis=-2)
    ratios = log_likelihood_ratio(test, counts)
    states = (ratios >= test.upper - _overshoot(ratios)).astype(np.int64)
    states -= ratios <= test.lower + _overshoot(-ratios)
    if test.is_symmetric:
        # With skewed pairs, e.g. few lost by far and many won narrowly, the ratio may favour the submission that is
        # behind. Only a leader is called stronger; waiting for that can only make errors rarer.
        leads = np.sign((counts * (SCORES - 0.5)).sum(axis=-1))
        states = np.where(states == leads, states, 0)
    return states, ratios, counts


def _overshoot(paths: Floats) -> Floats:
    """How far each path is expected to overshoot a limit above it, judged by its steps to new maxima so far."""
    heights = np.maximum.accumulate(np.maximum(paths, 0.0), axis=-1)
    jumps = np.diff(heights, axis=-1, prepend=0.0)
    total = np.cumsum(jumps, axis=-1)
    return np.asarray(np.cumsum(jumps**2, axis=-1) / np.where(total > 0, 2 * total, 1.0))


def log_likelihood_ratio(test: SequentialTest, counts: ArrayLike) -> Floats:
    """The generalised log-likelihood ratio of elo1 over elo0; positive values favour elo1.

    counts: of pairs by half points, shape (..., 5). Returns shape (...).
    """
    counts = np.asarray(counts, dtype=np.float64)
    seen = np.maximum(counts.reshape(-1, 5), UNSEEN)
    pairs = seen.sum(axis=1)
    shares = seen / pairs[:, None]
    likeliest = _with_t_value if test.scale is Scale.NORMALISED else _with_mean
    zero, one = (likeliest(shares, _target(test.scale, elo)) for elo in (test.elo0, test.elo1))
    return np.asarray(pairs * (shares * (np.log(one) - np.log(zero))).sum(axis=1)).reshape(counts.shape[:-1])


def _target(scale: Scale, elo: float) -> float:
    """The mean score, or the t value of a pair's score, that corresponds to a bound."""
    if scale is Scale.SHARE:
        return elo
    if scale is Scale.LOGISTIC:
        return 1 / (1 + 10 ** (-elo / 400))
    # The score of a pair is the mean of two matches, so its deviation is smaller by the square root of two.
    return math.sqrt(2) * elo / ELO_PER_T


def _with_mean(shares: Floats, mean: float) -> Floats:
    """The likeliest distributions with this mean, shape (n, 5)."""
    weights = np.broadcast_to(SCORES - mean, shares.shape)
    return np.asarray(shares / (1 + _root(shares, weights, np.zeros(len(shares)))[:, None] * weights))


def _with_t_value(shares: Floats, t_value: float) -> Floats:
    """The likeliest distributions with (mean - 1/2) / deviation equal to t_value, shape (n, 5).

    The constraint is not linear in the distribution, so each step replaces it by its tangent at the previous solution.
    """
    found, roots = np.full_like(shares, 0.2), np.zeros(len(shares))
    moving = np.arange(len(shares))
    for _ in range(50):
        now = found[moving]
        mean = (now * SCORES).sum(axis=1, keepdims=True)
        deviation = np.sqrt((now * (SCORES - mean) ** 2).sum(axis=1, keepdims=True))
        weights = SCORES - 0.5 - t_value * deviation * (1 + ((SCORES - mean) / deviation) ** 2) / 2
        roots[moving] = _root(shares[moving], weights, roots[moving])
        found[moving] = shares[moving] / (1 + roots[moving, None] * weights)
        moving = moving[np.abs(found[moving] - now).max(axis=1) > 1e-9]
        if not moving.size:
            break
    return found


def _root(shares: Floats, weights: Floats, start: Floats) -> Floats:
    """The x with sum(shares weights / (1 + x weights)) = 0: under shares / (1 + x weights) the weights have mean 0.

    Each row has one root between its outermost poles, where the sum decreases: Newton's method, with bisection where a
    step would leave the interval that holds the root.
    """
    low, high = -1 / weights.max(axis=1), -1 / weights.min(axis=1)
    x = np.where((start > low) & (start < high), start, 0.0)
    moving = np.arange(len(x))
    for _ in range(200):
        terms = weights[moving] / (1 + x[moving, None] * weights[moving])
        value = (shares[moving] * terms).sum(axis=1)
        low[moving], high[moving] = (
            np.where(value > 0, x[moving], low[moving]),
            np.where(value > 0, high[moving], x[moving]),
        )
        following = x[moving] + value / (shares[moving] * terms**2).sum(axis=1)
        inside = (following > low[moving]) & (following < high[moving])
        following = np.where(inside, following, (low[moving] + high[moving]) / 2)
        moved = np.abs(following - x[moving])
        x[moving] = following
        moving = moving[moved > 1e-12]
        if not moving.size:
            break
    return x


def _written(value: float, form: str = "g") -> str:
    """A number for a sentence, with a typographic minus sign."""
    return format(value, form).replace("-", "−")


def _percent(share: float) -> str:
    return f"{100 * share:g}%"
