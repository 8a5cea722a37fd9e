"""How well predictions of results came true. Pure.

Two players without randomness repeat their matches. Predictions are judged in general, not for one pair, so matches of
a pair that repeat each other count as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from arena_kit.ranking.lenses import Floats
from arena_kit.ranking.scores import wilson

SCORES = np.array([1.0, 0.5, 0.0])
"""Scores of a win, a draw and a loss."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """The prediction for a duel and its result, both seen from the same submission.

    pair: the two submissions, in the same order for all their duels. expected: score per match, 0 to 1, as predicted
    before the duel was played. It is stored when the duel is created, never computed from ratings that know its result.
    """

    pair: tuple[int, int]
    expected: float
    wins: int
    draws: int
    losses: int

    @property
    def matches(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> float:
        """A draw is half."""
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

    @property
    def is_calibrated(self) -> bool:
        """Return whether what was expected lies within the interval of what happened."""
        return self.lower <= self.expected <= self.upper


@dataclass(frozen=True, slots=True)
class Calibration:
    """How predictions compare with results.

    brier: mean squared distance between a match's score and its prediction; 0 is perfect. even: the same if every
    prediction were one half; predictions with a larger brier are worse than none. bins: only those with predictions.
    """

    duels: int
    matches: int
    brier: float
    even: float
    bins: tuple[Bin, ...]


def calibration(predictions: Iterable[Prediction], bins: int = 10) -> Calibration | None:
    """How predicted scores compare with results; None without a match.

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
    """The effective number of independent matches: from the number of pairs, or slightly less, to that of matches.

    counts: wins, draws and losses of each pair, shape (pairs, 3). The similarity of a pair's matches is the intraclass
    correlation of their scores, by analysis of variance; where no pair has two different results, or where there is
    only one pair, its matches are taken to repeat each other. Pairs of unequal size are worth less than equal ones,
    because the mean weighs them by their matches. Sources: J. L. Fleiss, Statistical Methods for Rates and
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
