"""The Bradley-Terry model of paired matches: its fit and covariance, in logits and indices. Pure; rating.py uses it.

The first of two players wins with probability 1 / (1 + exp(-(s_first - s_second + a))), where s are strengths and a
is the advantage of the first seat (Bradley and Terry 1952; with an order effect Davidson and Beaver 1977). A draw
counts as half a win and half a loss. A Gaussian prior keeps every strength finite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotri
from scipy.special import expit, ndtri, stdtrit

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

SPREAD_WEIGHT = 2.0
"""The weight of the expected spread of the pool, in players."""
SCATTER_PAIRS = 3
"""The weight, in pairs of players, of the assumption that matches of a pair vary like independent ones."""
MIXED_PAIRS = 10
"""For a player with this many opponents, its own scatter and that of the pool have equal weight."""
_PRECISE = 1e-6
"""The step, in logits, below which the fit stops: the remaining error is about the square of the step."""
_SETTLED = 1e-6
"""The search for the pool's variance ends when its logarithm changes by less than this."""
_MOST_STEPS = 100


@dataclass(frozen=True, slots=True)
class Matches:
    """Columns of equal length; a row holds the matches of two players with the same player in the first seat.

    first, second: indices of players. wins, draws, losses: those of the first player.
    """

    first: Integers
    second: Integers
    wins: Integers
    draws: Integers
    losses: Integers


@dataclass(frozen=True, slots=True)
class Prior:
    """The prior distribution of all parameters, in logits.

    roots: players whose strengths scatter around the mean of the pool. Their common standard deviation is fitted
    between `narrowest` and `widest`; `spread` is the expected one. heirs, ancestors, deviations: an heir's strength
    minus its ancestor's has mean 0 and this standard deviation. first_seat: standard deviation of the advantage of the
    first seat; 0 fixes the advantage at 0.
    """

    roots: Integers
    heirs: Integers
    ancestors: Integers
    deviations: Floats
    spread: float
    narrowest: float
    widest: float
    first_seat: float

    def precision(self, count: int, spread: float) -> Floats:
        """Inverse covariance of `count` strengths, then the first seat, around a mean of the pool of 0."""
        matrix = np.zeros((count + 1, count + 1))
        matrix[:count, :count] = _laplacian(count, self.heirs, self.ancestors, self.deviations**-2)
        matrix[self.roots, self.roots] += spread**-2
        # A near-infinite precision fixes the advantage at 0.
        matrix[count, count] = self.first_seat**-2 if self.first_seat else 1e12
        return matrix


@dataclass(frozen=True, slots=True)
class RatingModel:
    """A fit, in logits.

    strengths: relative to the mean of the pool; the last element is the advantage of the first seat. covariance: of
    their errors. spread: of the pool, as fitted.
    """

    strengths: Floats
    covariance: Floats
    spread: float


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Matches summed per ordered pair of players. results: wins of the first player plus half of the draws."""

    first: Integers
    second: Integers
    matches: Floats
    results: Floats


def fit(count: int, matches: Matches, prior: Prior) -> RatingModel:
    """Fit the strengths of `count` players and of the first seat."""
    pairs = _add_up(count, matches)
    strengths, inverse, spread = _fit_with_spread(count, pairs, prior)
    # The prior counts as one more observation in the sandwich, so a player without matches keeps the prior's variance.
    middle = _scatter(count, pairs, strengths, inverse) + prior.precision(count, spread)
    covariance = inverse @ middle @ inverse
    # Matches and prior only determine differences. The scale is fixed at the mean of the pool, which has no error.
    players = slice(0, count)
    if count:
        strengths[players] -= strengths[players].mean()
        covariance[players] -= covariance[players].mean(axis=0)
        covariance[:, players] -= covariance[:, players].mean(axis=1, keepdims=True)
    return RatingModel(strengths, covariance, spread)


def _add_up(count: int, matches: Matches) -> _Pairs:
    keys, place = np.unique(matches.first * count + matches.second, return_inverse=True)
    return _Pairs(
        first=keys // max(1, count),
        second=keys % max(1, count),
        matches=_sums(place, matches.wins + matches.draws + matches.losses, len(keys)),
        results=_sums(place, matches.wins + matches.draws / 2, len(keys)),
    )


def _fit_with_spread(count: int, pairs: _Pairs, prior: Prior) -> tuple[Floats, Floats, float]:
    """Strengths, the inverse of their information, and the spread of the pool that fits them.

    The spread is the fixed point of EM (Dempster, Laird and Rubin 1977), with strengths integrated out by Laplace's
    method: spread^2 = (w expected^2 + E[sum over roots of (s - mean)^2]) / (w + roots - 1), w=SPREAD_WEIGHT.
    The secant method finds it on the logarithm of the variance.
    """
    roots, bounds = prior.roots, (2 * np.log(prior.narrowest), 2 * np.log(prior.widest))
    strengths, at = np.zeros(count + 1), float(np.clip(2 * np.log(prior.spread), *bounds))
    before: tuple[float, float] | None = None
    for _ in range(_MOST_STEPS):
        fitted = float(np.exp(at / 2))
        strengths, inverse = _most_likely(count, pairs, prior.precision(count, fitted), strengths)
        squares = 0.0
        if len(roots) > 1:
            block = inverse[np.ix_(roots, roots)]
            squares = len(roots) * (strengths[roots].var() - block.mean()) + np.trace(block)
        wanted = (SPREAD_WEIGHT * prior.spread**2 + squares) / (SPREAD_WEIGHT + max(0, len(roots) - 1))
        residual = float(np.clip(np.log(wanted), *bounds)) - at
        if abs(residual) < _SETTLED:
            break
        slope = -1.0 if before is None else min(-1e-3, (residual - before[1]) / (at - before[0]))
        before = (at, residual)
        at = float(np.clip(at - residual / slope, *bounds))
    return strengths, inverse, fitted


def _most_likely(count: int, pairs: _Pairs, precision: Floats, strengths: Floats) -> tuple[Floats, Floats]:
    """The strengths with the highest posterior density, and the inverse of the information there.

    Newton steps are shortened to log(1 + d) / d of their length, where d is the largest change of a logit: logistic
    losses are generalised self-concordant, so every such step descends (Sun and Tran-Dinh 2019, Mathematical
    Programming 178).
    """
    for _ in range(_MOST_STEPS):
        chances = expit(strengths[pairs.first] - strengths[pairs.second] + strengths[count])
        surprise = pairs.results - pairs.matches * chances
        gradient = _slopes(count, pairs, surprise) - precision @ strengths
        weights = pairs.matches * chances * (1 - chances)
        information = precision + _squares(count, pairs.first, pairs.second, (weights, weights, weights))
        factor = cho_factor(information, lower=True, overwrite_a=True)
        step = cho_solve(factor, gradient)
        change = float(np.abs(step[pairs.first] - step[pairs.second] + step[count]).max(initial=0.0))
        strengths = strengths + step * (np.log1p(change) / change if change else 1.0)
        if np.abs(step).max() < _PRECISE:
            break
    inverse = np.tril(dpotri(factor[0], lower=1, overwrite_c=1)[0])
    return strengths, inverse + np.tril(inverse, -1).T


def _slopes(count: int, pairs: _Pairs, surprise: Floats) -> Floats:
    """The gradient of the log-likelihood in every strength and in the advantage of the first seat."""
    players = _sums(pairs.first, surprise, count) - _sums(pairs.second, surprise, count)
    return np.append(players, surprise.sum())


def _sums(places: Integers, values: Floats | Integers, count: int) -> Floats:
    """The sum of the values at each of `count` places."""
    return np.bincount(places, values, minlength=count).astype(np.float64, copy=False)


def _laplacian(count: int, one: Integers, other: Integers, weights: Floats) -> Floats:
    """The sum over rows of weight * d d', where d is 1 for one player and -1 for the other; shape (count, count)."""
    matrix: Floats = _sums(one * count + other, weights, count * count).reshape(count, count)
    matrix = -(matrix + matrix.T)
    matrix[np.diag_indices(count)] -= matrix.sum(axis=1)
    return matrix


def _squares(count: int, one: Integers, other: Integers, weights: Sequence[Floats]) -> Floats:
    """The sum over rows of u d d' + v (d a' + a d') + w a a', with weights u, v, w and a = 1 for the first seat."""
    own, mixed, seat = weights
    matrix = np.empty((count + 1, count + 1))
    matrix[:count, :count] = _laplacian(count, one, other, own)
    matrix[count, :count] = _sums(one, mixed, count) - _sums(other, mixed, count)
    matrix[:count, count] = matrix[count, :count]
    matrix[count, count] = seat.sum()
    return matrix


def _scatter(count: int, pairs: _Pairs, strengths: Floats, inverse: Floats) -> Floats:
    """How gradients of the likelihood vary between pairs of players: the middle of the sandwich estimator.

    Matches of two players may repeat each other, within a duel and between duels: players without any randomness play
    the same match again in every edition. So all matches of a pair are one observation (Huber 1967, White 1980;
    clusters: Liang and Zeger 1986). The fit absorbs part of a pair's gradient, so its square is divided by the share
    that is expected to remain, as in HC2 (MacKinnon and White 1985). With few pairs their own scatter is unreliable:
    that of the whole pool, relative to independent matches, is mixed in with weight k / (k + n), where n is the smaller
    number of opponents of the two players and k is MIXED_PAIRS. The pool's own scatter is shrunk towards independence
    (moderated variances, after Smyth 2004). Finally, everything is widened so that 1.96 standard errors equal the
    quantile of Student's t with the degrees of freedom that the fit leaves.
    """
    lesser, greater = np.minimum(pairs.first, pairs.second), np.maximum(pairs.first, pairs.second)
    keys, place = np.unique(lesser * count + greater, return_inverse=True)
    size = len(keys)
    one, other = keys // max(1, count), keys % max(1, count)
    side = np.where(pairs.first < pairs.second, 1.0, -1.0)
    chances = expit(strengths[pairs.first] - strengths[pairs.second] + strengths[count])
    surprise = pairs.results - pairs.matches * chances
    variance = pairs.matches * chances * (1 - chances)
    usual, tilted = _sums(place, variance, size), _sums(place, side * variance, size)

    # Gradients along the difference of the two players and along the seat, and the share of each that the fit absorbs.
    apart = inverse[one, one] + inverse[other, other] - 2 * inverse[one, other]
    mixed = 2 * usual * tilted * (inverse[one, count] - inverse[other, count])
    seat = inverse[count, count]
    own_share = (usual**2 * apart + mixed + tilted**2 * seat) / np.maximum(usual, 1e-300)
    seat_share = (tilted**2 * apart + mixed + usual**2 * seat) / np.maximum(usual, 1e-300)
    own_slope = _sums(place, side * surprise, size) / np.sqrt(1 - np.clip(own_share, 0.0, 1 - 1e-9))
    seat_slope = _sums(place, surprise, size) / np.sqrt(1 - np.clip(seat_share, 0.0, 1 - 1e-9))

    counts = np.bincount(np.concatenate((one, other)), minlength=count)
    shared = MIXED_PAIRS / (MIXED_PAIRS + np.minimum(counts[one], counts[other]))
    total = float(usual.sum())
    pool = (
        (SCATTER_PAIRS * total + size * float((own_slope**2).sum())) / ((SCATTER_PAIRS + size) * total) if total else 1
    )
    freedom = SCATTER_PAIRS + max(0.0, size - float(own_share.sum()))
    widened = float(stdtrit(freedom, 0.975) / ndtri(0.975)) ** 2
    own, common = widened * (1 - shared), widened * shared * pool
    return _squares(
        count,
        one,
        other,
        (
            own * own_slope**2 + common * usual,
            own * own_slope * seat_slope + common * tilted,
            own * seat_slope**2 + common * usual,
        ),
    )
