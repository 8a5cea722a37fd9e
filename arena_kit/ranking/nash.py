"""Nash averaging: agents ranked against the mixture of agents that no agent beats. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from arena_kit.ranking.lenses import Floats, HeadToHead

ELO_PER_LOGIT = 400 / math.log(10)


@dataclass(frozen=True, slots=True)
class NashStanding:
    """A submission ranked by Nash averaging.

    weight: its share of the unbeaten mixture, 0 to 1. skill: Elo against that mixture; 0 for its members and for those
    who draw level with it, negative for all others. Ranks follow skill; ties share: 1, 1, 3.
    """

    submission: int
    rank: int
    skill: float
    weight: float


def nash_ranking(table: HeadToHead, expected: Floats | None = None, prior_matches: float = 1.0) -> list[NashStanding]:
    """Submissions by their skill against the mixture of agents that no agent beats (Nash averaging), the best first.

    Agents are judged against the best possible mixture of opponents, not against the opponents that happen to be
    present. So copies of an agent, or many weak agents that one agent exploits, change no skill, although they change a
    mean of points and a rating. All members of the mixture share their rank, as rock, paper and scissors do.

    The game is the antisymmetric matrix of logits of expected scores. Several mixtures may be unbeaten; the one with
    the largest entropy is unique and treats equal agents alike, which is why Balduzzi et al. choose it. (With many
    unbeaten mixtures a copy of one of their agents still moves that choice; measured results hardly ever have many.)

    expected: scores that the ratings expect, row against column, 0 to 1. `prior_matches` of them are added to every
    pair, so that no logit is infinite and pairs that have not met are taken as the ratings say. Without it, one half is
    expected; then leave out agents that have met few others. The figures depend on every result of the best agents, so
    show them beside the number of matches. Meant for tables of a few hundred. Source: Balduzzi, Tuyls, Perolat,
    Graepel, Re-evaluating Evaluation, NeurIPS 2018, arXiv:1806.02643, section 4.
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
    """The equilibrium with the largest entropy of a symmetric zero-sum game: p >= 0, sum p = 1, game p <= 0.

    game: antisymmetric, shape (n, n). A linear program first finds all strategies with weight in some equilibrium: it
    maximises t <= 1 below a multiple q of an equilibrium, because the multiples form a cone. Among those strategies
    payoffs are 0 in every equilibrium (Goldman and Tucker, 1956), so the rest is smooth: by duality p is proportional
    to exp(-constraints' y), where y minimises the logarithm of the sum of these exponentials, free for equalities and
    non-negative for inequalities. Raises ArithmeticError when the linear program finds no solution.
    """
    # Every process of a site imports NashStanding, few compute one, and these modules take half a second to load.
    from scipy.optimize import linprog, minimize
    from scipy.special import logsumexp, softmax

    count = len(game)
    scaled = game / max(float(np.abs(game).max()), 1e-12)
    # Unknowns are q, then t.
    below = np.block([[scaled, np.zeros_like(scaled)], [-np.eye(count), np.eye(count)]])
    largest = linprog(
        np.concatenate([np.zeros(count), -np.ones(count)]),
        A_ub=below,
        b_ub=np.zeros(2 * count),
        bounds=[(0, None)] * count + [(0, 1)] * count,
        method="highs",
    )
    if not largest.success:
        raise ArithmeticError(f"No equilibrium was found: {largest.message}")
    inside = largest.x[count:] > 0.5
    equal, at_most = scaled[np.ix_(inside, inside)], scaled[np.ix_(~inside, inside)]
    constraints = np.vstack([equal, at_most])

    def dual(y: Floats) -> tuple[float, Floats]:
        exponents = -constraints.T @ y
        return float(logsumexp(exponents)), np.asarray(-constraints @ softmax(exponents))

    least = minimize(
        dual,
        np.zeros(count),
        jac=True,
        method="L-BFGS-B",
        bounds=[(None, None)] * len(equal) + [(0, None)] * len(at_most),
        options={"maxiter": 10_000, "maxfun": 20_000, "ftol": 1e-15, "gtol": 1e-10},
    )
    weights = np.zeros(count)
    weights[inside] = softmax(-constraints.T @ least.x)
    return weights
