"""Computations of the benchmarks: ratios, tables, diagrams, and values from logs and records."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import pytest

from arena_kit.environment.records import DuelRecord, Fault, MatchRecord, Outcome
from benchmarks import (
    capacity,
    fairness,
    needed,
    runner,
    site,
)
from benchmarks.arena import Edition, playing_seconds
from benchmarks.common import take_turns, text_table
from benchmarks.http_baseline import servers
from benchmarks.load.usage import Usage
from benchmarks.load.visitors import Answered, Crowd
from benchmarks.own_python import CannotInstall, own_python

EDITION = Edition(
    agents=4, workers=1, match_count=600, wall_seconds=12.0, playing_seconds=(1.5,) * 6, other_seconds=(0.5,) * 6
)
MATCH = MatchRecord(
    number=1, seed=1, seats=(0, 1), actions=(0, 1, 0), outcome=Outcome.PLAYER_1, scores=(1.0, -1.0),
    move_counts=(2, 1), thinking_seconds=(0.004, 0.1), slowest_move_seconds=(0.003, 0.1), cpu_seconds=(0.002, 0.1),
)  # fmt: skip


def test_everything_takes_its_turn_in_every_round() -> None:
    turns: list[str] = []
    taken = take_turns({"a": lambda: turns.append("a"), "b": lambda: turns.append("b")}, 2)
    assert turns == ["a", "b", "a", "b"]
    assert {title: len(samples) for title, samples in taken.items()} == {"a": 2, "b": 2}


def test_a_table_aligns_figures_to_the_right_and_shows_what_is_missing() -> None:
    lines = text_table(["way", "figure"], [["slow", 0.12345], ["quick", 12345.6], ["none", None]]).splitlines()
    assert lines == ["way    figure", "slow    0.123", "quick  12,346", "none        -"]


def test_ratios_are_those_of_medians_and_none_for_a_way_that_was_left_out() -> None:
    report = runner.summarise({"arena": [90.0, 100.0, 500.0], "http": [2.0], "http_keep_alive": [4.0], "bare": [200.0]})
    assert (report["speedup_http"], report["fraction_of_bare"]) == (50, 0.5)
    assert report["speedup_kaggle"] is None


def visited(site_cpu: float, busy: float) -> site.Measured:
    """Return ten seconds with a hundred visits of 1 to 100 ms, of which every tenth fails."""
    answers = [Answered("home", 0.1 * n, n / 1000, "" if n % 10 else "/: status 500") for n in range(1, 101)]
    earlier = Usage(-10.0, {"site": 1.0, "database": 1.0}, 40.0, 2.0, 10)
    before = Usage(0.0, {"site": 5.0, "database": 1.0}, 50.0, 2.0, 10)
    after = Usage(10.0, {"site": 5.0 + site_cpu, "database": 2.0}, 50.0 + busy, 7.0, 210)
    bare = Crowd([Answered("/bare/", 0.0, 0.001)] * 900, 1.0, 0.2)
    crowd = Crowd(answers, 10.0, 0.5)
    return site.Measured(bare, bare, bare, crowd, crowd, crowd, (earlier, before, after))


def test_visits_of_a_site_are_summed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "_cores", lambda: 2)
    report = site.summarise([visited(site_cpu=16.0, busy=19.0)], {"home": {"queries": 3}})

    # A failed visit does not count as an answer.
    assert (report["requests_per_second"], report["bare_requests_per_second"], report["ratio"]) == (9, 900, 0.01)
    assert (report["strangers_ratio_in_site"], report["fronted_per_second"]) == (0.01, 9)
    home = report["pages"]["home"]
    assert (home["count"], home["errors"], home["queries"]) == (100, 10, 3)
    assert (home["p50_ms"], home["p95_ms"], home["p99_ms"]) == pytest.approx((50.5, 95, 99), abs=0.1)
    assert report["problems"] == {"/: status 500": 10}
    limits = report["limits"]
    assert limits["cpu_share"] == {"site": 0.8, "database": 0.05, "visitors": 0.025, "other": 0.075}
    assert (limits["site_cpu_ms_per_request"], limits["database_ms_per_request"]) == (160, 50)
    assert (limits["transactions_per_request"], limits["database_sessions"]) == (2, 0.5)
    assert "most of it for the site's workers (80% of all" in limits["sentence"]


def test_idle_processors_limit_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "_cores", lambda: 2)
    sentence = site.limits([visited(site_cpu=4.0, busy=6.0).visited])["sentence"]
    assert sentence.startswith("Processors are idle for 70% of the time: what limits is waiting")


def test_a_layer_says_what_limits_it() -> None:
    row = capacity.layer("duels per hour", 12.345, {"workers": 0.3, "database": 0.1, "rest": 0.55})
    assert (row["figure"], row["limit"]) == (
        12.3, "processors: the engine with the players, and the rest take 55% of them",
    )  # fmt: skip
    row = capacity.layer("duels per hour", 12.0, {"workers": 0.3, "database": 0.1, "rest": 0.1})
    assert row["limit"] == "one worker: processors are idle for 50% of the time"


def test_watchers_have_their_own_share_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "_cores", lambda: 2)
    report = site.summarise([visited(site_cpu=16.0, busy=18.5)], {})
    views, watchers = capacity.page_layers(report)
    assert (views["layer"], views["cpu_share"]["site"]) == ("page views per second", 0.8)
    assert (watchers["layer"], watchers["cpu_share"]["site"]) == ("live watchers by asking", 0.2)
    assert watchers["figure"] == 2 * report["refreshes_per_second"]
    assert watchers["limit"].startswith("Processors are idle for 50% of the time")


def test_a_duels_log_says_how_long_playing_took() -> None:
    assert playing_seconds("a against b\nPlaying took 1.234 s.\nmore") == 1.234
    assert playing_seconds("Playing took a while.") is None


def test_time_per_move_is_that_of_the_honest_player() -> None:
    forfeit = replace(MATCH, fault=Fault.PLAYER, faulty_player=1, move_counts=(0, 0))
    sample = fairness.per_move(DuelRecord("connect-four-v1", 1, ("honest", "burner"), (MATCH, forfeit)))
    assert sample == {
        "wall_ms": pytest.approx(2),
        "slowest_ms": pytest.approx(3),
        "cpu_ms": pytest.approx(1),
        "stopped": 1,
    }


def test_the_worse_burner_counts() -> None:
    rows = {
        title: [{"wall_ms": value, "slowest_ms": 9.0, "stopped": 0.0}]
        for title, value in zip(fairness.OPPONENTS, (2.0, 2.1, 3.0), strict=True)
    }
    report = fairness.summarise(rows)
    assert report["slowdown_by_burner"] == 1.5
    assert "1.5 times" in fairness.table(report)


@pytest.mark.nightly
def test_what_cannot_be_installed_is_said_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    requirements = tmp_path / "benchmark" / "requirements.txt"
    requirements.parent.mkdir()
    requirements.write_text("numpy\n")  # refused before anything is asked for: it has no hash
    with pytest.raises(CannotInstall, match="It cannot be installed: ERROR: .*[Hh]ash"):
        own_python(requirements)


@pytest.mark.parametrize("folder", ["kaggle_baseline"])
def test_own_lock_files_carry_hashes_and_no_addresses(folder: str) -> None:
    text = (Path(runner.__file__).parent / folder / "requirements.txt").read_text()
    pinned = [line for line in text.splitlines() if "==" in line and not line.startswith("#")]
    assert pinned
    assert all(line.endswith("\\") for line in pinned)
    assert "://" not in text


def test_no_folder_is_copied_for_a_module_that_has_the_name_of_a_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "arena_click.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(servers, "PACKAGES", ("arena_click",))
    with pytest.raises(AssertionError, match=r"arena_click\.py is not the package arena_click"):
        servers.copy_packages(tmp_path / "copied")
    assert not (tmp_path / "copied").exists()


def test_more_users_need_more_workers_and_large_games_no_more_duels_than_chosen_pairs() -> None:
    parser = argparse.ArgumentParser()
    needed.add_options(parser)

    def workers(*words: str) -> list[int]:
        rows = needed.needed(parser.parse_args(words), upload_seconds=4, match_seconds=0.1, matches=60)
        return [row["workers"] for row in rows]

    few, many = workers("--uploads-a-day=400"), workers("--uploads-a-day=20000")
    assert few[0] == 1
    assert many[0] > 2
    assert many[1] > 20 * few[1]
    small, chosen = workers("--agents-a-game=10"), workers("--agents-a-game=2000")
    assert small[1] < chosen[1] < 6 * small[1]
