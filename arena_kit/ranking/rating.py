"""The official rating of an environment: one fit over all its rated matches, with intervals, rank ranges and chances.

A submission is frozen, so its strength is a constant: no decay, no step size, and the order of results is nothing.
Everything here is a pure function of the ledger. elo.py has the live rating, bradley_terry.py the model.
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
"""Of the pool: all submissions that are rated together."""
POINTS = 400 / math.log(10)
"""Of the Elo scale in one logit: 400 points more are odds of 10 to 1."""
POOL_SPREAD = 200.0
"""Standard deviation expected of the strengths in a pool; fitted between NARROWEST and WIDEST."""
NARROWEST, WIDEST = 50.0, 400.0
STEP = 150.0
"""Standard deviation of the strength of a version around that of its predecessor."""
FIRST_SEAT_SPREAD = 200.0
"""Standard deviation expected of what the first seat is worth."""
CRITICAL = float(ndtri(1 - (1 - CONFIDENCE) / 2))
"""Standard errors that an interval reaches to each side."""
POOL = 1500
"""Submissions rated together: a fit needs memory with the square of their number, and time with its cube."""
DRAWS = 10_000
"""Of all strengths at once, for the chance to be the best: it is right to about one percent."""
TIE = 1e-3
"""Points: ratings closer than this are equal; fits are more precise."""
_SEED = 20_260_101
_DRAWN = 1000
"""Of them at a time, so that they fit into little memory."""
_HOPELESS = 1e-6
"""Who is ahead of the leader with a smaller chance is not drawn."""

Seating = tuple[int, int, int, int, int, int]
"""(duel, submission in the first seat, its opponent, wins, draws, losses), of the first.

The matches of a duel with the same submission in the first seat: what the ledger's entry of seat 0 says, when forfeits
of the opponent are wins, and own ones losses.
"""


@dataclass(frozen=True, slots=True)
class RatingFit:
    """Strengths of a pool on the Elo scale and all that is known of their errors.

    submissions: ascending; every array follows this order. values: points. covariance: points squared; that of a
    difference is what counts, see `difference`. first_seat: points that it is worth, None where it was not asked for.
    groups: submissions that played, in chains of opponents, share a number; -1 for those that did not.
    pool_spread: fitted standard deviation of the pool, in points.
    """

    submissions: tuple[int, ...]
    values: Floats
    covariance: Floats
    duel_counts: Integers
    match_counts: Integers
    groups: Integers
    first_seat: Interval | None
    pool_spread: float

    @property
    def is_connected(self) -> bool:
        """Whether matches link all who played; else only the prior says how one group compares with another."""
        return bool(self.groups.max(initial=-1) <= 0)

    def interval(self, index: int) -> Interval:
        """Rating of one with its 95% interval."""
        return self._around(float(self.values[index]), float(self.covariance[index, index]))

    def difference(self, one: int, other: int) -> Interval:
        """Points that one is ahead of the other, with the 95% interval; indices as in `submissions`."""
        variance = self.covariance[one, one] + self.covariance[other, other] - 2 * self.covariance[one, other]
        return self._around(float(self.values[one] - self.values[other]), float(variance))

    def _around(self, value: float, variance: float) -> Interval:
        half = CRITICAL * math.sqrt(max(0.0, variance))
        return Interval(value, value - half, value + half)


@dataclass(frozen=True, slots=True)
class Ranked:
    """One row of a leaderboard.

    rating: points with the 95% interval. rank: ties share: 1, 1, 3. best_rank, worst_rank: hold the true rank in 95 of
    100 cases at least. chance: probability to be the strongest of all in the list.
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
    """Who is rated together: `always`, and of all others those who played last, up to `limit` in all.

    always: who has a rank. Of a large environment's versions most were replaced long ago: matches against them say
    little of who plays now that matches against others do not, and to fit them all would take longer and longer. Who
    played last follows from the ids of the duels, so the pool is a function of the ledger, whatever was fitted before.
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
    start: Mapping[int, float] | None = None,
    start_spread: float = POOL_SPREAD,
) -> RatingFit:
    """Rate everybody in `seatings`, and `submissions` even if they have not played.

    predecessors: the version before, by submission; a version starts at its predecessor's rating, give or take STEP a
    version, whoever has none at the mean of the pool. has_first_seat: whether to fit what the first seat is worth.
    start, start_spread: values and spread of the pool of the last fit save time; the result is the same.
    Raises ValueError when a submission meets itself or is its own predecessor.

    The spread of the pool is fitted, too: few matches are drawn to the mean as far as this environment deserves.
    """
    rows = np.array(list(seatings), dtype=np.int64).reshape(-1, 6)
    keys, places = np.unique(
        np.concatenate((rows[:, 1], rows[:, 2], np.array(sorted(submissions), dtype=np.int64))), return_inverse=True
    )
    matches = Matches(places[: len(rows)], places[len(rows) : 2 * len(rows)], *rows.T[3:])
    if (matches.first == matches.second).any():
        raise ValueError("A submission meets itself: a match needs two different ones.")
    count = len(keys)
    begin = np.array([((start or {}).get(key, MEAN) - MEAN) / POINTS for key in keys.tolist()] + [0.0])
    prior = _prior(keys.tolist(), predecessors or {}, has_first_seat)
    model = fit(count, matches, prior, begin, start_spread / POINTS)
    advantage, error = POINTS * float(model.strengths[-1]), POINTS * math.sqrt(float(model.covariance[-1, -1]))
    one_of_each = np.unique(rows[:, 0], return_index=True)[1]
    played = matches.wins + matches.draws + matches.losses
    if len(rows) and int(matches.wins.sum()) in (0, int(played.sum())):
        # Where one seat has won every match nothing but the prior says how much more it may be worth, and agreement of
        # all matches is no sign of precision.
        error = max(error, FIRST_SEAT_SPREAD)
    reach = CRITICAL * error
    return RatingFit(
        submissions=tuple(keys.tolist()),
        values=MEAN + POINTS * model.strengths[:count],
        covariance=POINTS**2 * model.covariance[:count, :count],
        duel_counts=_count(count, matches.first[one_of_each], matches.second[one_of_each]),
        match_counts=_count(count, matches.first, matches.second, played),
        groups=_groups(count, matches.first, matches.second),
        first_seat=Interval(advantage, advantage - reach, advantage + reach) if has_first_seat else None,
        pool_spread=POINTS * model.spread,
    )


def _prior(keys: list[int], predecessors: Mapping[int, int], has_first_seat: bool) -> Prior:
    """Every version follows the nearest of its predecessors that is in the pool; steps in between add up."""
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
    """Raise ValueError where following predecessors never ends."""
    above = dict(zip(heirs, ancestors, strict=True))
    while above:
        remaining = {heir: ancestor for heir, ancestor in above.items() if ancestor in above}
        if len(remaining) == len(above):
            raise ValueError("A submission is its own predecessor: versions must follow each other.")
        above = remaining


def _count(count: int, first: Integers, second: Integers, each: Integers | None = None) -> Integers:
    """How often each player is in the rows, or the sum over its rows."""
    both = np.concatenate((first, second))
    weights = None if each is None else np.concatenate((each, each))
    return np.bincount(both, weights, minlength=count).astype(np.int64)


def _groups(count: int, first: Integers, second: Integers) -> Integers:
    """Number of the group of each player that matches link, -1 without matches."""
    links = coo_array((np.ones(len(first)), (first, second)), shape=(count, count))
    numbers = connected_components(links, directed=False)[1] if count else np.zeros(0, np.int64)
    groups = np.full(count, -1, dtype=np.int64)
    played = np.unique(np.concatenate((first, second)))
    groups[played] = np.unique(numbers[played], return_inverse=True)[1]
    return groups


def ranking(fitted: RatingFit, among: Collection[int] | None = None) -> list[Ranked]:
    """Leaderboard of a fit, best first. among: whom it lists, all by default; who is not listed takes no rank.

    Rank range: the best rank is one more than the number of those who are clearly stronger, the worst leaves below it
    those who are clearly weaker. Clearly: zero lies outside the interval of the difference, with Bonferroni's level
    for all differences of a submission together, so that its range holds its true rank with 95% or more (Mogstad,
    Romano, Shaikh and Wilhelm 2024, Inference for Ranks, Review of Economic Studies 91). Overlapping intervals would
    not do: strengths that were measured against the same opponents err together, and two intervals may overlap while
    their difference is clear.

    Chance to be the best: share of DRAWS draws of all strengths together, with a fixed seed.
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
    # Two that have the same rating to the last digits are equal, whatever the rounding.
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
    """How often each is the strongest when strengths scatter as a joint normal distribution."""
    leader = int(values.argmax())
    behind = np.divide(values - values[leader], errors[leader], out=np.zeros_like(values), where=errors[leader] > 0)
    hopeful = np.flatnonzero(ndtr(behind) > _HOPELESS)
    block = covariance[np.ix_(hopeful, hopeful)]
    # A shift of all alike changes no order, and makes the covariance of strengths around their mean regular.
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
