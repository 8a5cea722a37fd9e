"""The next pairs of a ladder: those whose results say most, without forgetting any submission. Pure.

Pairs are chosen in this order; each submission is in at most one pair of a choice:

1. submissions that have waited longer than the rules allow, the longest wait first;
2. pairs that join groups not linked by any chain of results, because ratings compare only within a group;
3. submissions with few matches, the fewest first;
4. all others by the information that a match is expected to give.

A match between i and j gives p (1 - p) Var(ti - tj) of information about their difference: the Fisher information of a
Bernoulli trial times the remaining variance. (The acquisition rule of Chiang et al., Chatbot Arena, arXiv:2403.04132,
section 5, has the same two factors.) In about every second choice it is weighted by exp(-z^2 / 2) with
z = (ti - tj) / sd, the relative density of "the two are equal", because a result changes no rank where the order is
settled. If that weight were always used, ranks would be precise but the scale of ratings would not;
A simulation (docs/reference/matchmaking.md) shows that the mixture is as good for ranks and better for ratings. The
(n + 1)-th duel of the same two counts 1 / (n + 1): players without randomness repeat their matches, and the official
ratings take all matches of two submissions as one observation. Gumbel noise on the logarithm turns the greedy choice
into a draw with probabilities proportional to the weight to the power 1 / noise (Gumbel, 1954; Maddison et al., A*
Sampling, 2014).

Seats: the matches of a duel come as seat-swapped pairs on one seed, so a duel with an even number of matches is
balanced. Otherwise player_1 is the submission that has been player_1 less often, first against this opponent, then
overall.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from arena_kit.older import StrEnum

ELO = math.log(10) / 400
"""One point of Elo in logits."""
Floats = np.ndarray[Any, np.dtype[np.float64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A submission that could play now.

    rating, deviation: mean and standard deviation of its strength, Elo. matches: rated matches so far. waited: choices
    since it was last in a pair, or since it joined. name: for the reasons. As long as there are enough others, leave
    out submissions whose last duel is not over, because its result is still missing.
    """

    submission: int
    owner: int
    rating: float
    deviation: float
    matches: int
    waited: int
    name: str = ""

    def __str__(self) -> str:
        return self.name or f"Submission {self.submission}"


@dataclass(frozen=True, slots=True)
class MatchmakingRules:
    """The rules that an environment may set. Raises ValueError for values that cannot be.

    pair_cap: the most duels of the same two submissions, in total or recently. new_below: a submission with fewer
    matches is new. longest_wait: how many choices in a row may leave a submission out. noise: 0 takes the best pairs, 1
    draws by weight. order_share: share of choices made to learn ranks, 0 to 1; the others are made to learn ratings.
    """

    pair_cap: int = 100
    new_below: int = 20
    longest_wait: int = 10
    noise: float = 0.2
    order_share: float = 0.5

    def __post_init__(self) -> None:
        if self.pair_cap < 1:
            raise ValueError(f"Two submissions must be allowed to meet once: pair_cap {self.pair_cap} is below 1.")
        if min(self.new_below, self.longest_wait, self.noise) < 0:
            raise ValueError(f"None of these can be negative: {self}.")
        if not 0 <= self.order_share <= 1:
            raise ValueError(f"A share lies between 0 and 1: order_share is {self.order_share}.")


class Reason(StrEnum):
    """Why two submissions meet."""

    WAITED = "waited"
    JOINS = "joins"
    NEW = "new"
    TELLS = "tells"


@dataclass(frozen=True, slots=True)
class Pairing:
    """Two submissions that are to meet.

    expected: predicted score of player_1 per match, 0 to 1, by the present ratings and their uncertainty; store it,
    because calibration is judged by it. because: the reason in a sentence.
    """

    player_1: int
    player_2: int
    reason: Reason
    because: str
    expected: float


@dataclass(frozen=True, slots=True)
class ChosenPairs:
    """The chosen pairs, the most urgent first. shortfall: why there are fewer than requested, if there are."""

    pairings: tuple[Pairing, ...]
    shortfall: str = ""


def choose_pairs(
    candidates: Sequence[Candidate],
    met: Mapping[tuple[int, int], int],
    *,
    count: int,
    seed: int,
    rules: MatchmakingRules | None = None,
    recent: Mapping[tuple[int, int], int] | None = None,
) -> ChosenPairs:
    """The next `count` pairs, or as many as possible.

    met: number of rated duels by (player_1, player_2), without void ones; include submissions that are not candidates,
    because results join groups through them. recent: the duels of `met` that count towards the cap, all by default.
    seed: the same seed gives the same pairs, whatever the order of the candidates. Ratings count as independent.
    O(n^2 log n). Raises ValueError when a submission is named twice or a figure is not finite.

    The submission that has waited longest is in the first pair once its wait exceeds longest_wait, unless it has no
    permitted opponent. So the wait of a submission with an opponent is at most longest_wait + the number of candidates,
    and usually at most longest_wait + candidates / count. With more than 2 * count * longest_wait candidates, all pairs
    are chosen by waiting time.
    """
    rules = rules or MatchmakingRules()
    ranked = sorted(candidates, key=lambda candidate: candidate.submission)
    _check(ranked)
    if len(ranked) < 2:
        return ChosenPairs((), f"A duel needs two agents; {len(ranked)} can play." if count else "")
    meetings = _Meetings(ranked, met)
    capped = meetings if recent is None else _Meetings(ranked, recent)
    draw = _Draw(ranked, meetings, capped.total, rules, seed)
    pairings = tuple(islice(draw.pairs(), count))
    return ChosenPairs(pairings, draw.shortfall() if len(pairings) < count else "")


def log_information(difference: Floats, variance: Floats, met: Integers, *, is_order: bool) -> Floats:
    """Return the logarithm of the information that a match of two is expected to give, up to a constant.

    difference, variance: of the two ratings (Elo, Elo squared). met: how often the two have met. is_order: whether to
    learn ranks rather than ratings.
    """
    # p (1 - p) = 1 / (4 cosh^2(x / 2)) in a form that does not overflow for distant ratings.
    half = np.abs(difference) * ELO / 2
    told = -2 * (half + np.log1p(np.exp(-2 * half))) + np.log(variance)
    if is_order:
        told = told - difference**2 / (2 * variance)
    # Repeated duels give less information, and none about players without randomness.
    return np.asarray(told - np.log1p(met))


def likely_to_tell(apart: float, variance: float, met: int) -> str:
    """Return why a match of two is worth playing, as a sentence."""
    times = "have not met yet" if not met else f"have met {met} time{'s' * (met > 1)}"
    return (
        "This pair is likely to be the most informative one: the ratings are "
        f"{apart:.0f} apart, give or take {math.sqrt(variance):.0f}, and the two {times}."
    )


def expected_score(difference: float, variance: float) -> float:
    """The expected score of a match, 0 to 1, from a difference of ratings (Elo) and its variance (Elo squared).

    The logistic curve averaged over a normal distribution: sigma(x / sqrt(1 + pi v / 8)), within 0.02 of the integral.
    Source: MacKay, The evidence framework applied to classification networks, 1992.
    """
    x = difference * ELO / math.sqrt(1 + math.pi * variance * ELO**2 / 8)
    return 0.5 * (1 + math.tanh(x / 2))


def _check(ranked: Sequence[Candidate]) -> None:
    for before, after in pairwise(ranked):
        if before.submission == after.submission:
            raise ValueError(f"Submission {after.submission} is named twice.")
    for candidate in ranked:
        if not math.isfinite(candidate.rating) or not math.isfinite(candidate.deviation):
            raise ValueError(f"Rating and deviation must be numbers: {candidate!r}.")


class _Meetings:
    """How often candidates have met, by their places."""

    def __init__(self, ranked: Sequence[Candidate], met: Mapping[tuple[int, int], int]) -> None:
        ids = np.array([candidate.submission for candidate in ranked], dtype=np.int64)
        pairs: Integers = np.array(list(met), dtype=np.int64).reshape(-1, 2)
        counts = np.fromiter(met.values(), dtype=np.int64, count=len(met))
        pairs, counts = pairs[counts > 0], counts[counts > 0]
        vertices = np.union1d(ids, pairs)
        ends = np.searchsorted(vertices, pairs)
        edges = coo_array((counts, (ends[:, 0], ends[:, 1])), shape=(vertices.size, vertices.size))
        self.groups: Integers = connected_components(edges, directed=False)[1][np.searchsorted(vertices, ids)]
        places = np.minimum(np.searchsorted(ids, pairs), ids.size - 1)
        both = (ids[places] == pairs).all(axis=1)
        first: Integers = np.zeros((ids.size, ids.size), dtype=np.int64)
        np.add.at(first, (places[both, 0], places[both, 1]), counts[both])
        self.first = first
        """How often the row was player_1 against the column."""
        self.total = first + first.T
        lean = np.bincount(ends[:, 0], counts, vertices.size) - np.bincount(ends[:, 1], counts, vertices.size)
        self._lean = lean[np.searchsorted(vertices, ids)]

    def seats(self, one: int, other: int) -> tuple[int, int]:
        """The places of player_1 and player_2."""
        owed = (int(self.first[one, other] - self.first[other, one]), int(self._lean[one] - self._lean[other]))
        return (one, other) if owed <= (0, 0) else (other, one)


class _Draw:
    """A choice in progress. Candidates are identified by their places."""

    def __init__(
        self,
        ranked: Sequence[Candidate],
        meetings: _Meetings,
        capped: Integers,
        rules: MatchmakingRules,
        seed: int,
    ) -> None:
        self._ranked, self._meetings, self._rules = ranked, meetings, rules
        ratings = np.array([candidate.rating for candidate in ranked])
        owners = np.array([candidate.owner for candidate in ranked])
        self._difference = ratings[:, None] - ratings[None, :]
        variance = np.array([candidate.deviation**2 for candidate in ranked])
        self._variance = np.maximum(variance[:, None] + variance[None, :], 1e-9)
        self._strangers = owners[:, None] != owners[None, :]
        allowed = self._strangers & (capped < rules.pair_cap)
        self._weight: Floats = np.where(allowed, self._log_weight(seed), -np.inf)
        self._free = np.ones(len(ranked), dtype=bool)
        self._made: list[tuple[int, int]] = []

    def _log_weight(self, seed: int) -> Floats:
        """The logarithm of the information that a match of two is expected to give, with noise."""
        random = np.random.default_rng(seed)
        is_order = random.random() < self._rules.order_share
        told = log_information(self._difference, self._variance, self._meetings.total, is_order=is_order)
        noise = np.triu(random.gumbel(size=told.shape), 1)
        return np.asarray(told + self._rules.noise * (noise + noise.T))

    def pairs(self) -> Iterator[Pairing]:
        """All possible pairs, the most urgent first."""
        yield from self._overdue()
        best_first = self._best_first()
        yield from self._joining(best_first)
        yield from self._new()
        for one, other in best_first:
            if self._free[one] and self._free[other]:
                yield self._pairing(one, other, Reason.TELLS)

    def _overdue(self) -> Iterator[Pairing]:
        waited = [candidate.waited for candidate in self._ranked]
        for place in sorted(range(len(waited)), key=lambda place: -waited[place]):
            if waited[place] <= self._rules.longest_wait:
                return
            yield from self._with_best_partner(place, Reason.WAITED)

    def _joining(self, best_first: Sequence[tuple[int, int]]) -> Iterator[Pairing]:
        """A spanning forest of the groups by Kruskal's algorithm, as far as each submission plays once."""
        names = self._meetings.groups.tolist()
        parent = {name: name for name in names}

        def group(place: int) -> int:
            name: int = names[place]
            while parent[name] != name:
                parent[name] = name = parent[parent[name]]
            return name

        for one, other in self._made:
            parent[group(one)] = group(other)
        left = sum(name == above for name, above in parent.items()) - 1
        for one, other in best_first if left else ():
            if not (self._free[one] and self._free[other]) or group(one) == group(other):
                continue
            parent[group(one)] = group(other)
            left -= 1
            beginner = 0 in {self._ranked[one].matches, self._ranked[other].matches}
            yield self._pairing(one, other, Reason.NEW if beginner else Reason.JOINS)
            if not left:
                return

    def _new(self) -> Iterator[Pairing]:
        matches = [candidate.matches for candidate in self._ranked]
        for place in sorted(range(len(matches)), key=lambda place: matches[place]):
            if matches[place] >= self._rules.new_below:
                return
            yield from self._with_best_partner(place, Reason.NEW)

    def _with_best_partner(self, place: int, reason: Reason) -> Iterator[Pairing]:
        """Yield at most one pair."""
        if self._free[place]:
            weights = np.where(self._free, self._weight[place], -np.inf)
            partner = int(weights.argmax())
            if weights[partner] > -np.inf:
                yield self._pairing(place, partner, reason)

    def _best_first(self) -> list[tuple[int, int]]:
        """Places of all permitted pairs of free submissions, by falling weight."""
        rows, columns = np.triu_indices(len(self._ranked), 1)
        weights = self._weight[rows, columns]
        open_ = (weights > -np.inf) & self._free[rows] & self._free[columns]
        order = np.flatnonzero(open_)[np.argsort(-weights[open_], kind="stable")]
        return list(zip(rows[order].tolist(), columns[order].tolist(), strict=True))

    def _pairing(self, one: int, other: int, reason: Reason) -> Pairing:
        self._free[[one, other]] = False
        self._made.append((one, other))
        because = self._because(one, other, reason)
        first, second = self._meetings.seats(one, other)
        expected = expected_score(float(self._difference[first, second]), float(self._variance[first, second]))
        return Pairing(self._ranked[first].submission, self._ranked[second].submission, reason, because, expected)

    def _because(self, one: int, other: int, reason: Reason) -> str:
        first, second = self._ranked[one], self._ranked[other]
        if reason is Reason.WAITED:
            longest = max(first, second, key=lambda candidate: candidate.waited)
            return f"{longest} has waited for {longest.waited} rounds."
        if reason is Reason.NEW:
            newest = min(first, second, key=lambda candidate: candidate.matches)
            return f"{newest} is new: {newest.matches} matches so far."
        if reason is Reason.JOINS:
            return "No chain of results connects the two yet, so their ratings cannot be compared."
        apart, variance = abs(float(self._difference[one, other])), float(self._variance[one, other])
        return likely_to_tell(apart, variance, int(self._meetings.total[one, other]))

    def shortfall(self) -> str:
        """Why there is no further pair, as a sentence."""
        if not self._strangers.any():
            return "All agents that can play have the same owner, and agents of one owner do not play each other."
        if not (self._weight > -np.inf).any():
            cap = self._rules.pair_cap
            return f"All pairs that may meet have reached the limit of {cap} duel{'s' * (cap > 1)}."
        return "The remaining agents have no opponent: each agent plays once a round, and no free one may meet them."
