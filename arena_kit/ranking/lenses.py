"""Other ways to look at results than one rating: who beats whom, cycles, Nash averaging, and calibration. Pure.

A rating puts all agents on one line. Games need not have one: scissors beat paper. The first three lenses show where
the line misleads, the last one how well its predictions came true.

Two players without randomness repeat their matches. Who beats whom takes these as they are: what always comes out is
known for sure, and the question is only about these two. Calibration asks about predictions at large, and there all
matches of two submissions that repeat each other are no more than one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog, minimize
from scipy.sparse.csgraph import connected_components
from scipy.special import logsumexp, ndtri, softmax

ELO_PER_LOGIT = 400 / math.log(10)
Floats = np.ndarray[Any, np.dtype[np.float64]]
Booleans = np.ndarray[Any, np.dtype[np.bool_]]
SCORES = np.array([1.0, 0.5, 0.0])
"""Of a win, a draw and a loss."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Rated matches of two submissions, seen from the first; a forfeit is a win of the other."""

    first: int
    second: int
    wins: int
    draws: int
    losses: int


@dataclass(frozen=True, slots=True)
class HeadToHead:
    """Everybody against everybody. points: of the row against the column, a draw is half; matches: behind them."""

    submissions: tuple[int, ...]
    points: Floats
    matches: Floats

    @property
    def shares(self) -> Floats:
        """Share of the points that the row took from the column, 0 to 1; nan where they never met."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.points / self.matches)


def head_to_head(submissions: Sequence[int], tallies: Iterable[Tally]) -> HeadToHead:
    """The matrix of these submissions in this order; tallies of others are passed over, several of two are added up."""
    place = {submission: number for number, submission in enumerate(submissions)}
    points = np.zeros((len(place), len(place)))
    matches = np.zeros_like(points)
    for tally in tallies:
        if tally.first in place and tally.second in place:
            row, column = place[tally.first], place[tally.second]
            points[row, column] += tally.wins + tally.draws / 2
            points[column, row] += tally.losses + tally.draws / 2
            matches[[row, column], [column, row]] += tally.wins + tally.draws + tally.losses
    return HeadToHead(tuple(submissions), points, matches)


def wilson(points: Floats, matches: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """Ends of the interval around a share of points; 0 and 1 without matches.

    Draws vary less than wins and losses, so with them the interval is a little wide. Source: E. B. Wilson, Probable
    inference, the law of succession, and statistical inference, 1927.
    """
    z = float(ndtri((1 + level) / 2))
    counted = np.maximum(matches, 1e-12)
    share = points / counted
    middle = (share + z**2 / (2 * counted)) / (1 + z**2 / counted)
    margin = z * np.sqrt(np.maximum(share * (1 - share), 0) / counted + z**2 / (4 * counted**2)) / (1 + z**2 / counted)
    some = matches > 0
    return np.where(some, np.maximum(middle - margin, 0), 0.0), np.where(some, np.minimum(middle + margin, 1), 1.0)


def who_beats_whom(table: HeadToHead, level: float = 0.95) -> Booleans:
    """Where the row beats the column: the whole interval of its share of points lies above one half."""
    return np.asarray(wilson(table.points, table.matches, level)[0] > 0.5)


@dataclass(frozen=True, slots=True)
class Cycle:
    """Each beats the next one and the last the first. weakest: the least lower end of the three shares, over 1/2."""

    submissions: tuple[int, int, int]
    weakest: float


def cycles(table: HeadToHead, level: float = 0.95, limit: int = 50) -> list[Cycle]:
    """Threes that beat each other in a circle with every interval above one half, the clearest first.

    Each starts with its first submission in the order of the table. At 95% one interval in forty errs upwards, so among
    many nearly equal agents some cycle may be luck: raise the level (1 - 0.05 / pairs is safe for all of them at once).
    """
    lower = wilson(table.points, table.matches, level)[0]
    beats = lower > 0.5
    found = []
    for one in range(len(beats)):
        for other in np.flatnonzero(beats[one, one + 1 :]) + one + 1:
            thirds = np.flatnonzero(beats[other, one + 1 :] & beats[one + 1 :, one]) + one + 1
            weakest = np.minimum(np.minimum(lower[other, thirds], lower[thirds, one]), lower[one, other])
            found += [(float(weak), (one, int(other), int(third))) for third, weak in zip(thirds, weakest, strict=True)]
    found.sort(key=lambda item: (-item[0], item[1]))
    names = table.submissions
    return [Cycle((names[a], names[b], names[c]), weak) for weak, (a, b, c) in found[:limit]]


def knots(table: HeadToHead, level: float = 0.95) -> list[tuple[int, ...]]:
    """Groups within which everybody beats everybody by some chain, the largest first: no order suits them.

    They are the strongly connected components, larger than one, of who beats whom.
    """
    count, labels = connected_components(who_beats_whom(table, level), directed=True, connection="strong")
    groups = [tuple(table.submissions[place] for place in np.flatnonzero(labels == name)) for name in range(count)]
    return sorted((group for group in groups if len(group) > 1), key=lambda group: (-len(group), group))


@dataclass(frozen=True, slots=True)
class NashStanding:
    """weight: its share of the mixture that nobody beats, 0 to 1. skill: Elo against that mixture, 0 for those in it
    and for who holds even with it, negative for all others. Ranks go by skill; ties share: 1, 1, 3."""

    submission: int
    rank: int
    skill: float
    weight: float


def nash_ranking(table: HeadToHead, expected: Floats | None = None, prior_matches: float = 1.0) -> list[NashStanding]:
    """Submissions by their skill against the mixture of agents that no agent beats (Nash averaging), the best first.

    Agents are judged by how they do against the best possible mix of opponents, not against whoever happens to be
    there. So copies of an agent, or a crowd of weak ones that somebody preys on, change nobody's skill, which they do
    with a mean of points and with a rating. Within the mixture all share their rank: rock, paper and scissors.

    The game is the antisymmetric matrix of logits of expected scores. Several mixtures may be unbeaten; the one of the
    largest entropy is unique and treats equals alike, which is why Balduzzi et al. choose it. (Where the unbeaten
    mixtures are many, a copy of an agent in them still moves that choice; with measured results they hardly ever are.)

    expected: scores that the ratings expect, row against column, 0 to 1: `prior_matches` of them are added to every
    pair, so that no logit is infinite, and who has not met is taken as the ratings say. Without it even is expected;
    then leave out who has met few of the others. Figures depend on every result of the best: read them beside counts.
    For tables of a few hundred. Source: Balduzzi, Tuyls, Perolat, Graepel, Re-evaluating Evaluation, NeurIPS 2018,
    arXiv:1806.02643, section 4.
    """
    if not table.submissions:
        return []
    believed = np.full(table.points.shape, 0.5) if expected is None else expected
    counted = table.matches + prior_matches
    measured = (table.points + prior_matches * believed) / np.maximum(counted, 1e-12)
    shares = np.where(counted > 0, measured, believed)
    shares = np.clip(shares, 1e-6, 1 - 1e-6)
    logits = np.log(shares) - np.log(1 - shares)
    game = (logits - logits.T) / 2
    weights = maximum_entropy_nash(game)
    skills = np.round(game @ weights * ELO_PER_LOGIT, 3) + 0.0
    order = sorted(range(len(skills)), key=lambda place: (-skills[place], -round(float(weights[place]), 6), place))
    return [
        NashStanding(
            table.submissions[place],
            1 + int((skills > skills[place]).sum()),
            float(skills[place]),
            float(weights[place]),
        )
        for place in order
    ]


def maximum_entropy_nash(game: Floats) -> Floats:
    """The equilibrium of the largest entropy of a symmetric zero-sum game: p >= 0, sum p = 1, game p <= 0.

    game: antisymmetric, shape (n, n). First one linear program finds everybody who has weight in some equilibrium:
    the largest t <= 1 under a multiple q of one, for these form a cone. Among them payoffs are 0 in every equilibrium
    (Goldman and Tucker, 1956), so that the rest is smooth: by duality p is proportional to exp(-constraints' y), and y
    minimises the logarithm of the sum of these, free for equalities and not negative for the others.
    """
    count = len(game)
    scaled = game / max(float(np.abs(game).max()), 1e-12)
    # Unknowns are q, then t.
    below = np.block([[scaled, np.zeros_like(scaled)], [-np.eye(count), np.eye(count)]])
    largest = linprog(
        np.concatenate([np.zeros(count), -np.ones(count)]), A_ub=below, b_ub=np.zeros(2 * count),
        bounds=[(0, None)] * count + [(0, 1)] * count, method="highs",
    )  # fmt: skip
    if not largest.success:
        raise ArithmeticError(f"No equilibrium was found: {largest.message}")
    inside = largest.x[count:] > 0.5
    equal, at_most = scaled[np.ix_(inside, inside)], scaled[np.ix_(~inside, inside)]
    constraints = np.vstack([equal, at_most])

    def dual(y: Floats) -> tuple[float, Floats]:
        exponents = -constraints.T @ y
        return float(logsumexp(exponents)), np.asarray(-constraints @ softmax(exponents))

    least = minimize(
        dual, np.zeros(count), jac=True, method="L-BFGS-B",
        bounds=[(None, None)] * len(equal) + [(0, None)] * len(at_most),
        options={"maxiter": 10_000, "maxfun": 20_000, "ftol": 1e-15, "gtol": 1e-10},
    )  # fmt: skip
    weights = np.zeros(count)
    weights[inside] = softmax(-constraints.T @ least.x)
    return weights


@dataclass(frozen=True, slots=True)
class Prediction:
    """A duel as it was expected and as it ended, both seen from the same submission.

    pair: the two who met, in one order for all their duels. expected: score per match, 0 to 1, as said before the duel
    was played: it is kept with the duel when that is created, never computed later from ratings that have seen it.
    """

    pair: tuple[int, int]
    expected: float
    wins: int
    draws: int
    losses: int

    @property
    def matches(self) -> int:
        """How many it is about."""
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> float:
        """What was scored, a draw is half."""
        return self.wins + self.draws / 2


@dataclass(frozen=True, slots=True)
class Bin:
    """Predictions between two bounds. expected, happened: mean score per match; lower, upper: 95% around `happened`."""

    low: float
    high: float
    pairs: int
    duels: int
    matches: int
    expected: float
    happened: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """brier: mean squared distance of a match's score from what was expected, 0 is perfect. even: the same had one half
    been said of every match; above it predictions are worse than none. bins: only those with predictions."""

    duels: int
    matches: int
    brier: float
    even: float
    bins: tuple[Bin, ...]


def calibration(predictions: Iterable[Prediction], bins: int = 10) -> Calibration | None:
    """Whether predicted scores came true; None without a match.

    bins: of equal width over 0 to 1. Sources: G. W. Brier, Verification of forecasts expressed in terms of probability,
    1950; reliability diagrams as in Murphy and Winkler, 1977. Raises ValueError for a prediction outside 0 to 1.
    """
    kept = [prediction for prediction in predictions if prediction.matches]
    for prediction in kept:
        if not 0 <= prediction.expected <= 1:
            raise ValueError(f"A score per match lies between 0 and 1; {prediction.expected} was expected.")
    matches = sum(prediction.matches for prediction in kept)
    if not matches:
        return None
    by_bin: dict[int, list[Prediction]] = {}
    for prediction in kept:
        by_bin.setdefault(min(int(prediction.expected * bins), bins - 1), []).append(prediction)
    return Calibration(
        duels=len(kept),
        matches=matches,
        brier=sum(_squares(prediction, prediction.expected) for prediction in kept) / matches,
        even=sum(_squares(prediction, 0.5) for prediction in kept) / matches,
        bins=tuple(_bin(by_bin[number], number / bins, (number + 1) / bins) for number in sorted(by_bin)),
    )


def _squares(prediction: Prediction, said: float) -> float:
    return prediction.wins * (1 - said) ** 2 + prediction.draws * (0.5 - said) ** 2 + prediction.losses * said**2


def _bin(predictions: Sequence[Prediction], low: float, high: float) -> Bin:
    pairs = sorted({prediction.pair for prediction in predictions})
    place = {pair: number for number, pair in enumerate(pairs)}
    # Wins, draws and losses of each pair.
    counts = np.zeros((len(pairs), 3))
    for prediction in predictions:
        counts[place[prediction.pair]] += (prediction.wins, prediction.draws, prediction.losses)
    total = float(counts.sum())
    happened = float((counts @ SCORES).sum() / total)
    counted = worth(counts)
    lower, upper = wilson(np.array(happened * counted), np.array(counted))
    expected = float(sum(prediction.expected * prediction.matches for prediction in predictions) / total)
    return Bin(low, high, len(pairs), len(predictions), int(total), expected, happened, float(lower), float(upper))


def worth(counts: Floats) -> float:
    """How many independent matches these are worth, between the number of pairs and that of matches, or a little less.

    counts: wins, draws and losses of each pair, shape (pairs, 3). How much matches of two submissions resemble each
    other is the intraclass correlation of their scores, by analysis of variance; where no pair has two different
    results, or there is but one pair, they are taken to repeat each other. Pairs of unequal size are worth less than
    equal ones, because the mean weighs them by their matches. Sources: J. L. Fleiss, Statistical Methods for Rates and
    Proportions, 1981, chapter 13; L. Kish, Survey Sampling, 1965, section 5.4.
    """
    matches = counts.sum(axis=1)
    total, pairs = float(matches.sum()), len(counts)
    points = counts @ SCORES
    within = float((counts @ SCORES**2 - points**2 / matches).sum())
    alike = 1.0
    if pairs == total:
        alike = 0.0
    elif within > 1e-9 and pairs > 1:
        between = float((matches * (points / matches - points.sum() / total) ** 2).sum()) / (pairs - 1)
        scatter = within / (total - pairs)
        size = (total - float((matches**2).sum()) / total) / (pairs - 1)
        alike = min(1.0, max(0.0, (between - scatter) / (between + (size - 1) * scatter)))
    return total**2 / float((matches * (1 + (matches - 1) * alike)).sum())
