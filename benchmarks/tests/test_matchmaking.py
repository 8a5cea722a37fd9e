"""The comparison of ways to pair agents."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from arena_kit.environment.registry import get_spec
from benchmarks import matchmaking
from benchmarks.matchmaking import (
    LADDER,
    NEAREST,
    ROUND_ROBIN,
    WAYS,
    Look,
    Recorded,
    Run,
    Simulated,
    cast,
    fit,
    reached,
)


@pytest.mark.slow
def test_it_compares_every_way_in_every_world(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert matchmaking.main(["--quick", "--runs", "2", "--json", str(tmp_path / "figures.json")]) == 0
    report = json.loads((tmp_path / "figures.json").read_text())
    assert set(report["worlds"]) == {"simulated, 200 Elo, duels of 4", "real, tic-tac-toe, duels of 4"}
    for figures in report["worlds"].values():
        assert set(figures["matches"]) == set(figures["tau_at_the_end"]) == set(WAYS)
        assert all(-1 <= tau <= 1 for tau in figures["tau_at_the_end"].values())
    assert 0.5 < report["worlds"]["simulated, 200 Elo, duels of 4"]["round_robin_tells"] < 1
    assert "full round robins" in capsys.readouterr().out


def test_what_took_no_match_at_all_is_no_measure() -> None:
    assert matchmaking.ratio(0, 0) is None
    assert matchmaking.ratio(None, 10) is None
    assert matchmaking.ratio(5, 10) == 0.5


def test_the_matches_needed_are_read_off_a_line() -> None:
    # 1 - tau = 3 / sqrt(matches): 0.1 at 900.
    looks = [Look(matches, 1 - 3 / matches**0.5, 0.0) for matches in range(60, 1501, 60)]
    assert reached(looks, 0.9) == 900
    assert reached(looks, 0.95) is None
    lucky = [*looks[:9], Look(600, 0.91, 0.0), *looks[10:]]
    assert reached(lucky, 0.9) == pytest.approx(900, rel=0.1)


@pytest.mark.parametrize("way", WAYS)
def test_every_way_finds_the_order_of_clearly_different_agents(way: str) -> None:
    run = Run(Simulated(np.array([0.0, 400.0, 800.0, 1200.0])), way, seed=3, duel=4)
    run.go_on(158)
    assert run.matches == 160
    assert run.tau() == 1
    assert run.error() < 250


def test_the_fit_finds_what_results_stand_for() -> None:
    # 30 of 40 points are 191 Elo, less the effect of the prior of 300.
    ratings, covariance = fit(np.array([[0, 300.0], [100, 0]]), np.array([[0, 400.0], [400, 0]]), np.full(2, 1500.0))
    assert ratings[0] - ratings[1] == pytest.approx(190.8, abs=2)
    assert ratings.mean() == pytest.approx(1500)
    apart = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    # 1 / (n p (1 - p)) in units of Elo.
    assert apart**0.5 == pytest.approx(400 / np.log(10) / (400 * 0.75 * 0.25) ** 0.5, rel=0.02)


def test_recorded_results_are_drawn_from_either_side() -> None:
    world = Recorded(np.array([3.0, 1.0]), {(0, 1): [1.5]})
    random = np.random.default_rng(0)
    assert (world.play(0, 1, random), world.play(1, 0, random)) == (1.5, 0.5)


def test_thirty_real_agents_are_thirty_different_ones() -> None:
    assert len(set(cast(30))) == 30
    recorded = matchmaking.record(get_spec("tic-tac-toe"), 4, 2)
    assert set(recorded.table) == {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}
    assert all(len(points) == 2 and set(points) <= {0, 0.5, 1, 1.5, 2} for points in recorded.table.values())
    # Two players that search, a random one, and one that takes the first free cell.
    assert min(recorded.truth[:2]) > max(recorded.truth[2:])


def test_ratios_are_left_out_where_a_way_did_not_arrive() -> None:
    assert matchmaking.ratio(30, 60) == 0.5
    assert matchmaking.ratio(None, 60) is None
    figures = {
        "matches": {ROUND_ROBIN: 1200, NEAREST: None, "ladder_for_ratings": 900, LADDER: 700},
        "full_round_robins": 1740, "share_of_round_robin": 0.58, "share_of_full_round_robins": 0.4,
        "share_of_nearest": None, "round_robin_tells": None, "error_elo_then": None,
    }  # fmt: skip
    line = matchmaking.table({"tau": 0.9, "worlds": {"real": figures}}).splitlines()[1]
    assert line.split() == ["real", "1,200", "-", "900", "700", "1,740", "0.58", "0.4", "-", "-"]
