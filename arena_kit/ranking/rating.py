"""The official rating of an environment: one fit over all its rated matches, with intervals, rank ranges and chances.

A submission is frozen, so its strength is constant: there is no decay and no step size, and the order of results does
not matter. Everything here is a pure function of the ledger. elo.py has the live rating, bradley_terry.py the model.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtr, ndtri

from arena_kit.ranking.bradley_terry import Floats, Integers, Matches, Prior, fit
from arena_kit.ranking.scores import CONFIDENCE, Interval

MEAN = 1500.0
"""The expected rating of a first version, where no anchor holds the scale."""
POINTS = 400 / math.log(10)
"""One logit on the Elo scale, where a lead of 400 means odds of 10 to 1."""
POOL_SPREAD = 200.0
"""The expected standard deviation of strengths in a pool; it is fitted between NARROWEST and WIDEST."""
NARROWEST, WIDEST = 50.0, 400.0
STEP = 150.0
"""The standard deviation of a version's strength around that of its predecessor."""
FIRST_SEAT_SPREAD = 200.0
"""The expected standard deviation of the advantage of the first seat."""
CRITICAL = float(ndtri(1 - (1 - CONFIDENCE) / 2))
"""How many standard errors an interval extends to each side."""
POOL = 1500
"""The most submissions rated together: memory grows with the square of their number, time with its cube."""
DRAWS = 10_000
"""How many times all strengths are drawn for the chance to be the best, which is then exact to about one percent."""
TIE = 1e-3
"""Ratings closer than this many points are equal; fits are more precise than that."""
_SEED = 20_260_101
_DRAWN = 1000
"""How many are drawn at a time, which bounds memory."""
_HOPELESS = 1e-6
"""Submissions that are ahead of the leader with a smaller probability are not drawn."""

Seating = tuple[int, int, int, int, int, int]
"""(duel, submission, opponent, wins, draws, losses): the matches of a duel with the submission in the first seat.

These are the figures of the ledger's entry of seat 0, with forfeits of the opponent as wins and own forfeits as losses.
"""


@dataclass(frozen=True, slots=True)
class Anchor:
    """The submissions that hold the scale in place: their mean rating is `value`, whatever else is played."""

    submissions: frozenset[int]
    value: float


@dataclass(frozen=True, slots=True)
class RatingFit:
    """Strengths of a pool on the Elo scale with their errors.

    submissions: ascending; every array follows this order. values: points. covariance: points squared; use `difference`
    to compare two submissions. first_seat: the advantage of the first seat in points, None where it was not fitted.
    groups: submissions linked by chains of opponents share a number; -1 for those without matches. pool_mean,
    pool_spread: expected rating of a first version and its fitted standard deviation, in points. With an anchor,
    intervals are those of the distance from it.
    """

    submissions: tuple[int, ...]
    values: Floats
    covariance: Floats
    duel_counts: Integers
    match_counts: Integers
    groups: Integers
    first_seat: Interval | None
    pool_mean: float
    pool_spread: float

    @property
    def is_connected(self) -> bool:
        """Return whether matches link all submissions that played; if not, only the prior compares one group with
        another."""
        return bool(self.groups.max(initial=-1) <= 0)

    def interval(self, index: int) -> Interval:
        """The rating of a submission with its 95% interval."""
        return self._around(float(self.values[index]), float(self.covariance[index, index]))

    def difference(self, one: int, other: int) -> Interval:
        """The lead of one submission over the other in points, with its 95% interval; indices as in `submissions`."""
        variance = self.covariance[one, one] + self.covariance[other, other] - 2 * self.covariance[one, other]
        return self._around(float(self.values[one] - self.values[other]), float(variance))

    def _around(self, value: float, variance: float) -> Interval:
        half = CRITICAL * math.sqrt(max(0.0, variance))
        return Interval(value, value - half, value + half)


@dataclass(frozen=True, slots=True)
class Ranked:
    """One row of a leaderboard.

    rating: points with the 95% interval. rank: ties share: 1, 1, 3. best_rank, worst_rank: the true rank lies between
    them in at least 95 of 100 cases. chance: probability of being the strongest in the list.
    """

    submission: int
    rating: Interval
    rank: int
    best_rank: int
    worst_rank: int
    chance: float
    duel_count: int
    match_count: int


def pool_of(seatings: Iterable[Seating], *, always: Collection[int], limit: int = POOL) -> set[int]:
    """The submissions that are rated together: `always`, then those that played last, up to `limit` in all.

    always: submissions that have a rank. In a large environment most versions were replaced long ago: matches against
    them add little about current ones, and fitting all of them would take longer and longer. The ids of duels tell
    which submissions played last, so the pool is a function of the ledger and does not depend on earlier fits.
    """
    last: dict[int, int] = dict.fromkeys(always, 0)
    for duel, first, second, *_ in seatings:
        last[first], last[second] = max(last.get(first, 0), duel), max(last.get(second, 0), duel)
    others = sorted(last.keys() - set(always), key=lambda key: (last[key], key), reverse=True)
    return {*always, *others[: max(0, limit - len(set(always)))]}


def within(seatings: Iterable[Seating], pool: Collection[int]) -> list[Seating]:
    """The matches among a pool."""
    return [row for row in seatings if row[1] in pool and row[2] in pool]


def fit_ratings(
    seatings: Iterable[Seating],
    *,
    submissions: Iterable[int] = (),
    predecessors: Mapping[int, int] | None = None,
    has_first_seat: bool = True,
    anchor: Anchor | None = None,
) -> RatingFit:
    """Rate all submissions in `seatings`, and `submissions` even if they have not played.

    predecessors: the previous version, by submission. A version is expected at its predecessor's rating, give or take
    STEP per version, and one without a predecessor at the mean of the pool. has_first_seat: whether to fit the
    advantage of the first seat. anchor: None where the mean of the pool is MEAN; of its submissions, at least one must
    be rated. Raises ValueError when a submission meets itself or is its own predecessor.

    The spread of the pool is fitted as well, so that submissions with few matches are drawn towards the mean as far as
    is right for this environment.
    """
    rows = np.array(list(seatings), dtype=np.int64).reshape(-1, 6)
    keys, places = np.unique(
        np.concatenate((rows[:, 1], rows[:, 2], np.array(sorted(submissions), dtype=np.int64))), return_inverse=True
    )
    matches = Matches(places[: len(rows)], places[len(rows) : 2 * len(rows)], *rows.T[3:])
    if (matches.first == matches.second).any():
        raise ValueError("A submission meets itself: a match needs two different ones.")
    count = len(keys)
    model = fit(count, matches, _prior(keys.tolist(), predecessors or {}, has_first_seat))
    advantage, error = POINTS * float(model.strengths[-1]), POINTS * math.sqrt(float(model.covariance[-1, -1]))
    one_of_each = np.unique(rows[:, 0], return_index=True)[1]
    played = matches.wins + matches.draws + matches.losses
    if len(rows) and int(matches.wins.sum()) in (0, int(played.sum())):
        # Where one seat has won every match, only the prior limits its advantage, and the agreement of all matches says
        # nothing about precision.
        error = max(error, FIRST_SEAT_SPREAD)
    reach = CRITICAL * error
    values, covariance = POINTS * model.strengths[:count], POINTS**2 * model.covariance[:count, :count]
    mean = MEAN
    if anchor is not None:
        mean, covariance = _anchored(anchor, keys, values, covariance)
    return RatingFit(
        submissions=tuple(keys.tolist()),
        values=mean + values,
        covariance=covariance,
        duel_counts=_count(count, matches.first[one_of_each], matches.second[one_of_each]),
        match_counts=_count(count, matches.first, matches.second, played),
        groups=_groups(count, matches.first, matches.second),
        first_seat=Interval(advantage, advantage - reach, advantage + reach) if has_first_seat else None,
        pool_mean=mean,
        pool_spread=POINTS * model.spread,
    )


def _anchored(anchor: Anchor, keys: Integers, values: Floats, covariance: Floats) -> tuple[float, Floats]:
    """The rating of the pool's mean on the anchor's scale, and the covariance of the distances from the anchor.

    The mean of a pool moves with everybody who joins it, while an anchor's strength is constant.
    """
    weights = np.isin(keys, list(anchor.submissions)).astype(float)
    weights /= weights.sum()
    shared = covariance @ weights
    distances = covariance - shared[:, None] - shared[None, :] + weights @ shared
    # Exactly zero for a single anchor, which would keep an error of rounding.
    fixed = weights == 1
    distances[fixed, :] = distances[:, fixed] = 0.0
    return anchor.value - float(values @ weights), distances


def _prior(keys: list[int], predecessors: Mapping[int, int], has_first_seat: bool) -> Prior:
    """Link every version to its nearest predecessor in the pool; the steps in between add up."""
    place = {key: index for index, key in enumerate(keys)}
    roots, heirs, ancestors, steps = [], [], [], []
    for key, index in place.items():
        ancestor, count = predecessors.get(key), 1
        while ancestor is not None and ancestor not in place and count <= len(predecessors):
            ancestor, count = predecessors.get(ancestor), count + 1
        if ancestor is None:
            roots.append(index)
            continue
        heirs.append(index)
        ancestors.append(place.get(ancestor, index))
        steps.append(count)
    _refuse_circles(heirs, ancestors)
    return Prior(
        roots=np.array(roots, dtype=np.int64),
        heirs=np.array(heirs, dtype=np.int64),
        ancestors=np.array(ancestors, dtype=np.int64),
        deviations=np.sqrt(np.array(steps, dtype=float)) * STEP / POINTS,
        spread=POOL_SPREAD / POINTS,
        narrowest=NARROWEST / POINTS,
        widest=WIDEST / POINTS,
        first_seat=FIRST_SEAT_SPREAD / POINTS if has_first_seat else 0.0,
    )


def _refuse_circles(heirs: list[int], ancestors: list[int]) -> None:
    """Raise ValueError where predecessors form a circle."""
    above = dict(zip(heirs, ancestors, strict=True))
    while above:
        remaining = {heir: ancestor for heir, ancestor in above.items() if ancestor in above}
        if len(remaining) == len(above):
            raise ValueError("A submission is its own predecessor: versions must follow each other.")
        above = remaining


def _count(count: int, first: Integers, second: Integers, each: Integers | None = None) -> Integers:
    """How many rows each player is in, or the sum of `each` over them."""
    both = np.concatenate((first, second))
    weights = None if each is None else np.concatenate((each, each))
    return np.bincount(both, weights, minlength=count).astype(np.int64)


def _groups(count: int, first: Integers, second: Integers) -> Integers:
    """The number of each player's group, i.e. of players linked by matches; -1 without matches."""
    links = coo_array((np.ones(len(first)), (first, second)), shape=(count, count))
    numbers = connected_components(links, directed=False)[1] if count else np.zeros(0, np.int64)
    groups = np.full(count, -1, dtype=np.int64)
    played = np.unique(np.concatenate((first, second)))
    groups[played] = np.unique(numbers[played], return_inverse=True)[1]
    return groups


def ranking(fitted: RatingFit, among: Collection[int] | None = None) -> list[Ranked]:
    """The leaderboard of a fit, best first. among: the submissions to list, all by default; others take no rank.

    Rank range: the best rank is one more than the number of clearly stronger submissions, and the worst rank leaves all
    clearly weaker ones below it. A difference is clear when zero lies outside its interval, at Bonferroni's level for
    all differences of a submission together, so that the range holds the true rank with at least 95% (Mogstad, Romano,
    Shaikh and Wilhelm 2024, Inference for Ranks, Review of Economic Studies 91). Comparing the intervals of two ratings
    would not do: strengths measured against the same opponents share errors, so two intervals may overlap although the
    difference is clear.

    Chance of being the best: the share of DRAWS joint draws of all strengths, with a fixed seed.
    """
    chosen = np.array([n for n, key in enumerate(fitted.submissions) if among is None or key in among], dtype=np.int64)
    values, covariance = fitted.values[chosen], fitted.covariance[np.ix_(chosen, chosen)]
    count = len(chosen)
    if not count:
        return []
    ahead = values[:, None] - values[None, :]
    variances = np.diagonal(covariance)
    errors = np.sqrt(np.maximum(variances[:, None] + variances[None, :] - 2 * covariance, 0.0))
    reach = float(ndtri(1 - (1 - CONFIDENCE) / 2 / max(1, count - 1))) * errors
    # Ratings that differ only by rounding are equal.
    best = 1 + (ahead < -np.maximum(reach, TIE)).sum(axis=1)
    worst = count - (ahead > np.maximum(reach, TIE)).sum(axis=1)
    ranks = 1 + (ahead < -TIE).sum(axis=1)
    chances = _chances(values, covariance, errors)
    order = np.lexsort((chosen, ranks))
    return [
        Ranked(
            submission=fitted.submissions[chosen[n]],
            rating=fitted.interval(int(chosen[n])),
            rank=int(ranks[n]),
            best_rank=int(best[n]),
            worst_rank=int(worst[n]),
            chance=float(chances[n]),
            duel_count=int(fitted.duel_counts[chosen[n]]),
            match_count=int(fitted.match_counts[chosen[n]]),
        )
        for n in order
    ]


def _chances(values: Floats, covariance: Floats, errors: Floats) -> Floats:
    """The probability of each being the strongest when strengths have a joint normal distribution."""
    leader = int(values.argmax())
    behind = np.divide(values - values[leader], errors[leader], out=np.zeros_like(values), where=errors[leader] > 0)
    hopeful = np.flatnonzero(ndtr(behind) > _HOPELESS)
    block = covariance[np.ix_(hopeful, hopeful)]
    # Shifting all strengths alike changes no order and makes the singular covariance regular.
    root = cholesky(block + max(1.0, float(np.diagonal(block).max())), lower=True)
    generator = np.random.default_rng(_SEED)
    first = np.zeros(len(hopeful), dtype=np.int64)
    for begun in range(0, DRAWS, _DRAWN):
        size = min(_DRAWN, DRAWS - begun)
        drawn = values[hopeful, None] + root @ generator.standard_normal((len(hopeful), size))
        first += np.bincount(drawn.argmax(axis=0), minlength=len(hopeful))
    chances = np.zeros(len(values))
    chances[hopeful] = first / DRAWS
    return chances
