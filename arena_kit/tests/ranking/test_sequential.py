from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena_kit.ranking.sequential import (
    SCORES,
    Scale,
    SequentialState,
    SequentialTest,
    _target,
    _with_t_value,
    decide,
    log_likelihood_ratio,
    walk,
)

R5 = (39, 8843, 26675, 9240, 44)
QUICK = SequentialTest(0, 100, cap=90)


def expected_pairs(test: SequentialTest, elo: float) -> float:
    """The mean number of pairs that a test takes when the difference is `elo`, normalised; without cap and overshoot.

    The log-likelihood ratio is approximated by a Brownian motion between two limits. Source: A. Wald, Sequential
    Analysis, 1947; M. Van den Bergh, The generalized SPRT and its approximation, for drift and variance.
    """
    zero, one, true = (_target(test.scale, value) for value in (test.elo0, test.elo1, elo))
    drift, variance = (true - (zero + one) / 2) * (one - zero), (one - zero) ** 2
    if abs(drift) < 1e-9 * variance:
        return -test.lower * test.upper / variance
    up, down = (math.exp(-2 * drift * limit / variance) for limit in (test.upper, test.lower))
    accepted = (1 - down) / (up - down)
    return (accepted * test.upper + (1 - accepted) * test.lower) / drift


def ratio(counts: tuple[int, ...], elo0: float, elo1: float, scale: Scale = Scale.NORMALISED) -> float:
    return float(log_likelihood_ratio(SequentialTest(elo0, elo1, scale=scale), counts))


@pytest.mark.parametrize(
    ("counts", "elo0", "elo1", "published"),
    [
        # OpenBench, the example of OpenBench/stats.py, its value by OpenBench's own tests.
        (R5, 0.5, 2.5, pytest.approx(2.94168, abs=1e-4)),
        # fastchess, app/tests/sprt_test.cpp; draws of both and one win each are one count here.
        ((365, 16618, 36029 + 200, 16974, 390), 0, 2, pytest.approx(2.25, rel=0.01)),
        ((127, 4883, 10311 + 401, 5150, 104), -1.75, 0.25, pytest.approx(3.01, rel=0.01)),
        ((0, 0, 0, 0, 5550), 0, 5, pytest.approx(111.82, rel=0.01)),
    ],
)
def test_ratios_in_normalised_elo_are_those_of_other_programs(
    counts: tuple[int, ...], elo0: float, elo1: float, published: object
) -> None:
    assert ratio(counts, elo0, elo1) == published


@pytest.mark.parametrize(
    ("counts", "elo0", "elo1", "published"),
    [
        ((223, 9863, 20279 + 1000, 10037, 246), 0.5, 2.5, -3.07),
        ((871, 26175, 55003 + 980, 26678, 821), 0, 2, -4.98),
    ],
)
def test_ratios_in_logistic_elo_are_those_of_fastchess(
    counts: tuple[int, ...], elo0: float, elo1: float, published: float
) -> None:
    assert ratio(counts, elo0, elo1, Scale.LOGISTIC) == pytest.approx(published, rel=0.01)


def likeliest_by_a_general_optimiser(shares: np.ndarray, t_value: float) -> np.ndarray:
    from scipy import optimize  # slow to load, in every process that collects tests

    def t_of(q: np.ndarray) -> float:
        mean = q @ SCORES
        return float((mean - 0.5) / math.sqrt(q @ (SCORES - mean) ** 2))

    constraints = [{"type": "eq", "fun": lambda q: q.sum() - 1}, {"type": "eq", "fun": lambda q: t_of(q) - t_value}]
    found = optimize.minimize(
        lambda q: -(shares @ np.log(q)), np.full(5, 0.2), method="SLSQP", bounds=[(1e-12, 1)] * 5,
        constraints=constraints, options={"ftol": 1e-15, "maxiter": 1000},
    )  # fmt: skip
    return np.asarray(found.x)


@pytest.mark.parametrize(("counts", "bounds"), [((5, 20, 50, 20, 5), (0, 50)), ((30, 120, 200, 150, 40), (-35, 35))])
def test_ratios_are_those_of_a_general_optimiser(counts: tuple[int, ...], bounds: tuple[float, float]) -> None:
    shares = np.array(counts) / sum(counts)
    zero, one = (likeliest_by_a_general_optimiser(shares, elo * math.sqrt(2) * math.log(10) / 800) for elo in bounds)
    assert ratio(counts, *bounds) == pytest.approx(sum(counts) * shares @ (np.log(one) - np.log(zero)), abs=1e-5)


@pytest.mark.parametrize("elo", [-200, -35, 0, 50, 200])
def test_the_likeliest_distribution_has_the_difference_asked_for(elo: float) -> None:
    random = np.random.default_rng(2)
    # Many results never seen, down to a single one that was.
    counts = random.integers(0, 60, (200, 5)) * (random.random((200, 5)) < 0.5)
    seen = np.maximum(np.vstack([counts, 100 * np.eye(5)]), 1e-3)
    found = _with_t_value(seen / seen.sum(axis=1, keepdims=True), elo * math.sqrt(2) * math.log(10) / 800)
    mean = found @ SCORES
    deviation = np.sqrt((found * (SCORES - mean[:, None]) ** 2).sum(axis=1))
    assert (mean - 0.5) / deviation * 800 / math.log(10) / math.sqrt(2) == pytest.approx(np.full(205, elo), abs=1e-2)
    assert found.min() > 0


counted = st.tuples(*[st.integers(0, 60)] * 5)


@settings(max_examples=30)
@given(counted, st.sampled_from(list(Scale)))
def test_seen_from_the_other_side_the_hypotheses_change_places(counts: tuple[int, ...], scale: Scale) -> None:
    here, there = ((0.45, 0.7), (0.3, 0.55)) if scale is Scale.SHARE else ((-10, 50), (-50, 10))
    forward = ratio(counts, here[0], here[1], scale)
    backward = ratio(counts[::-1], there[0], there[1], scale)
    assert math.isfinite(forward)
    assert forward == pytest.approx(-backward, abs=1e-6)


def first_verdicts(test: SequentialTest, shares: list[float], runs: int) -> tuple[np.ndarray, np.ndarray]:
    points = np.random.default_rng(7).choice(5, size=(runs, test.cap), p=shares)
    states, _, _ = walk(test, points)
    decided = (states != 0).any(axis=1)
    first = np.where(decided, (states != 0).argmax(axis=1), test.cap - 1)
    return states[np.arange(runs), first], first + 1


def tilted(elo: float, base: list[float]) -> list[float]:
    """The base distribution bent by an exponential until its t value stands for `elo`."""
    from scipy import optimize

    def bent(bend: float) -> np.ndarray:
        weights = np.array(base) * np.exp(bend * SCORES)
        return np.asarray(weights / weights.sum())

    def missing(bend: float) -> float:
        p = bent(bend)
        mean = p @ SCORES
        return float((mean - 0.5) / math.sqrt(p @ (SCORES - mean) ** 2) - elo * math.sqrt(2) * math.log(10) / 800)

    return list(bent(optimize.brentq(missing, -20, 20)))


@pytest.mark.parametrize(
    "base",
    [
        pytest.param([0.25, 0, 0.5, 0, 0.25], id="decisive"),
        pytest.param([0.02, 0.08, 0.8, 0.08, 0.02], id="drawish", marks=pytest.mark.nightly),
    ],
)
def test_wrong_verdicts_are_as_rare_as_was_asked_for(base: list[float]) -> None:
    runs = 150
    # Three standard errors above the 5% that alpha and beta allow.
    most = 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)
    for elo, wrong in ((QUICK.elo0, 1), (QUICK.elo1, -1)):
        verdicts, pairs = first_verdicts(QUICK, tilted(elo, base), runs)
        assert np.mean(verdicts == wrong) <= most
        assert np.mean(verdicts == -wrong) > 0.85
        assert pairs.mean() == pytest.approx(expected_pairs(QUICK, elo), rel=0.2)


@pytest.mark.parametrize(("elo1", "games"), [(100, 67), (50, 259), (35, 525), (20, 1602), (10, 6401)])
def test_it_takes_as_many_matches_as_was_simulated_elsewhere(elo1: float, games: int) -> None:
    # Simulated for the comparison of peers: even matches without draws. The shortest test overshoots the most.
    test = SequentialTest(0, elo1)
    assert 2 * expected_pairs(test, elo1) == pytest.approx(games, rel=0.05)
    assert expected_pairs(test, 0) == pytest.approx(expected_pairs(test, elo1))
    assert expected_pairs(test, elo1 / 2) > 1.5 * expected_pairs(test, elo1)


arrivals = st.lists(st.sampled_from([0, 2, 2, 3, 4, 4]), min_size=1, max_size=60).flatmap(
    lambda points: st.tuples(st.just(points), st.permutations(range(len(points))))
)


@pytest.mark.slow
@settings(max_examples=20)
@given(arrivals)
def test_the_verdict_does_not_depend_on_the_order_of_arrival(drawn: tuple[list[int], list[int]]) -> None:
    points, order = drawn
    whole = decide(QUICK, dict(enumerate(points)))
    arrived: dict[int, int] = {}
    for count, number in enumerate(order):
        arrived[number] = points[number]
        if count % 7:
            continue
        seen = decide(QUICK, arrived)
        if seen.is_final:
            assert (seen.state, seen.pairs, seen.counts, seen.llr) == (
                whole.state, whole.pairs, whole.counts, whole.llr,
            )  # fmt: skip
        assert seen.pairs + seen.waiting == len(arrived)
    assert decide(QUICK, arrived) == whole


def test_it_waits_for_the_pair_that_is_missing() -> None:
    decision = decide(QUICK, {0: 4, 1: 4, **dict.fromkeys(range(3, 60), 4)})
    assert (decision.state, decision.pairs, decision.waiting) == (SequentialState.GOING_ON, 2, 57)
    assert decide(QUICK, dict.fromkeys(range(60), 4)).state is SequentialState.ACCEPTED_H1


def test_pairs_after_the_decision_change_nothing() -> None:
    won = decide(QUICK, dict.fromkeys(range(40), 4))
    turned = decide(QUICK, {**dict.fromkeys(range(40), 4), **dict.fromkeys(range(40, 90), 0)})
    assert (turned.state, turned.pairs) == (won.state, won.pairs) == (SequentialState.ACCEPTED_H1, won.pairs)
    assert won.pairs < 20


def test_at_the_cap_it_says_that_it_does_not_know() -> None:
    # A score half way between the bounds.
    test = SequentialTest(-50, 50, cap=30)
    decision = decide(test, {number: 4 * (number % 2) for number in range(40)})
    assert (decision.state, decision.pairs, decision.waiting) == (SequentialState.INCONCLUSIVE, 30, 10)
    assert decision.sentence("bee v2", "bee v1") == (
        "Inconclusive: the maximum of 30 pairs did not show which of bee v2 and bee v1 is stronger "
        f"(log-likelihood ratio {decision.llr:.2f}, limits −2.94 and 2.94)."
    )


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ([], "Not decided after 0 of at most 90 pairs whether"),
        ([4] * 30, "pairs that bee v2 is 100 rather than 0 normalised Elo stronger than bee v1"),
        ([0] * 30, "The test rejects after"),
        ([4, 0], "Not decided after 2 of at most 90 pairs whether"),
    ],
)
def test_every_state_has_its_sentence(points: list[int], words: str) -> None:
    assert words in decide(QUICK, dict(enumerate(points))).sentence("bee v2", "bee v1")


def test_a_verdict_before_the_limit_says_what_the_limit_is_less_of() -> None:
    lost = decide(SequentialTest(0, 50), dict.fromkeys(range(30), 0))
    assert lost.test.lower < lost.llr
    assert lost.state is SequentialState.ACCEPTED_H0
    assert "limits −2.94 and 2.94, each less the mean overshoot; it does so" in lost.sentence("bee v2", "bee v1")


@pytest.mark.parametrize(
    ("points", "words"), [(4, "bee v2 is stronger than bee v1"), (0, "bee v1 is stronger than bee v2")]
)
def test_a_symmetric_test_says_who_is_stronger(points: int, words: str) -> None:
    test = SequentialTest(-50, 50, cap=30)
    decision = decide(test, dict.fromkeys(range(30), points))
    assert words in decision.sentence("bee v2", "bee v1")
    assert decision.pairs < 10


def test_a_version_that_is_not_ahead_is_not_called_stronger() -> None:
    test = SequentialTest(-200, 200, cap=56)
    # Of eight pairs one is lost by far, two are won narrowly: level, but the likelihoods see more than the mean.
    decision = decide(test, dict(enumerate([0, 3, 3, 2, 2, 2, 2, 2] * 7)))
    assert decision.llr > test.upper
    assert (decision.state, decision.counts) == (SequentialState.INCONCLUSIVE, (7, 0, 35, 14, 0))
    assert "limits −2.94 and 2.94; but the side that it favours is not ahead)" in decision.sentence("bee v2", "bee v1")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.75, 0.95])
def test_a_share_to_reach_is_found_as_often_as_the_test_says(share: float) -> None:
    test = SequentialTest(cap=2000).reaching(share)
    assert test.share == share
    for mean, state in ((test.elo1, 1), (test.elo0, -1)):
        # Two matches without draws, each won with this chance.
        pair = [(1 - mean) ** 2, 0, 2 * mean * (1 - mean), 0, mean**2]
        verdicts, _ = first_verdicts(test, pair, 400)
        assert (verdicts == state).mean() > 0.92


def test_a_share_to_reach_has_its_sentence() -> None:
    test = SequentialTest().reaching(0.6)
    found = decide(test, dict.fromkeys(range(60), 4))
    assert found.state is SequentialState.ACCEPTED_H1
    claim = "bee v2 wins 64% rather than 56% of the points against bee v1"
    assert f"The test accepts after {found.pairs} pairs that {claim} (" in found.sentence("bee v2", "bee v1")
    assert SequentialTest(0, 50).share is None
    with pytest.raises(ValueError, match="between 10% and 95%"):
        test.reaching(0.99)


def test_a_test_comes_back_from_its_row_as_it_was() -> None:
    test = SequentialTest(-10, 20, 0.1, 0.01, 7, Scale.LOGISTIC)
    assert SequentialTest(**json.loads(json.dumps(test.as_json))) == test


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"elo0": 50.0, "elo1": 0.0}, "Bounds must rise"),
        ({"elo1": 300.0}, "within 200 Elo of zero"),
        ({"elo0": 0.9, "elo1": 1.0, "scale": Scale.SHARE}, "between 0 and 1"),
        ({"alpha": 0.0}, "between 0 and 0.5"),
        ({"beta": 0.7}, "between 0 and 0.5"),
        ({"cap": 0}, "at least one pair"),
    ],
)
def test_a_test_that_makes_no_sense_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        SequentialTest(**wrong)


@pytest.mark.parametrize("arrived", [{0: 5}, {-1: 2}])
def test_half_points_that_no_pair_can_give_are_refused(arrived: dict[int, int]) -> None:
    with pytest.raises(ValueError, match="two matches give 0 to 4"):
        decide(QUICK, arrived)
