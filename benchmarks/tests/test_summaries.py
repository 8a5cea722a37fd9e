"""Computations of the benchmarks: ratios, tables, diagrams, and values from logs and records."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from arena_kit.environment.records import DuelRecord, Fault, MatchRecord, Outcome
from benchmarks import (
    capacity,
    environment_server,
    evaluations,
    fairness,
    pixels,
    players,
    ratings,
    recording,
    runner,
    site,
    sweep,
    tournament,
)
from benchmarks.arena import Edition, playing_seconds
from benchmarks.common import Panel, count_moves, draw, play_bare, take_turns, text_table
from benchmarks.http_baseline import servers
from benchmarks.load.usage import Usage
from benchmarks.load.visitors import Answered, Crowd
from benchmarks.memory import players_bytes
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


def test_the_share_of_an_environment_server_is_that_of_medians() -> None:
    report = environment_server.summarise({"in_process": [90.0, 100.0, 500.0], "server": [60.0, 10.0, 70.0]})
    assert report["server_share"] == 0.6


def visited(site_cpu: float, busy: float) -> site.Measured:
    """Return ten seconds with a hundred visits of 1 to 100 ms, of which every tenth fails."""
    answers = [Answered("home", 0.1 * n, n / 1000, "" if n % 10 else "/: status 500") for n in range(1, 101)]
    earlier = Usage(-10.0, {"site": 1.0, "database": 1.0}, 40.0, 2.0, 10)
    before = Usage(0.0, {"site": 5.0, "database": 1.0}, 50.0, 2.0, 10)
    after = Usage(10.0, {"site": 5.0 + site_cpu, "database": 2.0}, 50.0 + busy, 7.0, 210)
    bare = Crowd([Answered("/bare/", 0.0, 0.001)] * 900, 1.0, 0.2)
    return site.Measured(bare, bare, bare, Crowd(answers, 10.0, 0.5), (earlier, before, after))


def test_visits_of_a_site_are_summed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "_cores", lambda: 2)
    report = site.summarise([visited(site_cpu=16.0, busy=19.0)], {"home": {"queries": 3}})

    # A failed visit does not count as an answer.
    assert (report["requests_per_second"], report["bare_requests_per_second"], report["ratio"]) == (9, 900, 0.01)
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


def test_ratios_of_an_evaluation_are_those_of_medians() -> None:
    figures = {
        "arena": [400.0, 500.0, 900.0], "bare": [1000.0], "http": [4.0, 5.0, 6.0], "vector": [5000.0],
        "pixels": [1000.0],
    }  # fmt: skip
    report = evaluations.summarise(figures)
    assert (report["slowdown_vs_bare"], report["fraction_of_bare"]) == (2, 0.5)
    assert (report["speedup_http"], report["fraction_of_vector"]) == (100, 0.1)
    assert report["pixels_megabytes_per_second"] == pytest.approx(1000 * 84 * 84 * 4 / 1e6, abs=0.05)
    table = evaluations.table(dict.fromkeys(figures, "way"), figures, {**report, "upload_to_score_seconds": None})
    assert "2.0 times as slow as no isolation" in table
    assert "upload" not in table


def test_overhead_is_the_share_of_the_workers_time_without_a_match() -> None:
    assert tournament.overhead_fraction(EDITION) == pytest.approx(0.25)
    assert tournament.overhead_fraction(replace(EDITION, workers=2)) == pytest.approx(0.625)
    assert tournament.overhead_fraction(replace(EDITION, playing_seconds=(1.5, None))) is None


def test_a_tournament_is_summed_up_by_its_largest_edition() -> None:
    larger = replace(EDITION, agents=5, wall_seconds=20.0)
    cold = replace(larger, wall_seconds=40.0, is_cold=True)
    report = tournament.summarise([EDITION, cold, larger, replace(larger, workers=2, wall_seconds=10.0)])
    assert report["two_worker_speedup"] == 2
    assert report["matches_per_second"] == 30
    assert report["overhead_fraction"] == pytest.approx(0.55)
    assert report["cold_overhead_fraction"] == pytest.approx(0.775)
    assert [(row["agents"], row["workers"]) for row in report["editions"]] == [(4, 1), (5, 1), (5, 1), (5, 2)]
    assert tournament.panels(report)[0].lines == {"1 worker": [(4, 12.0), (5, 20.0)], "2 workers": [(5, 10.0)]}
    assert tournament.summarise([EDITION])["two_worker_speedup"] is None


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


def test_the_worse_game_counts_for_recording() -> None:
    sample = recording.Sample(playing=2.0, writing=0.1, opening=0.001, replaying=0.002, file_bytes=4000, read_bytes=400)
    report = recording.summarise({"quarto": [sample], "connect-four": [replace(sample, playing=1.0)]}, 100)
    assert report["record_fraction"] == 0.1
    assert report["bytes_per_match"] == {"quarto": 40, "connect-four": 40}
    assert report["open_match_read_fraction"]["quarto"] == 0.1


def test_ratings_are_judged_by_their_worst_size() -> None:
    better = {"rating": 40.0, "elo_8": 90.0, "elo_24": 50.0, "elo_32": 45.0, "coverage": 0.955}
    worse = {**better, "rating": 46.0, "coverage": 0.93}
    refits = [{"seconds": 2.0, "peak_megabytes": 300}, {"seconds": 9.0, "peak_megabytes": 900}]
    report = ratings.summarise({19: better, 38: worse}, 0.95, refits)
    assert (report["coverage_95"], report["rmse_best_everywhere"]) == (0.93, False)
    assert (report["refit_seconds"], report["refit_peak_megabytes"]) == (2.0, 300)
    assert ratings.summarise({19: better}, 0.95, refits)["rmse_best_everywhere"]


def test_a_diagram_shows_other_ways_as_levels() -> None:
    rows = [
        {"sandbox": sandbox, "game": game, "parallel_matches": parallel, "matches_per_second": 5, "moves_per_second": 9}
        for game in sweep.GAMES
        for sandbox, parallel in (("none", 1), ("docker", 1), ("docker", 32))
    ]
    first, *_ = panels = sweep.panels({"speed": rows})
    assert (first.lines, first.levels) == ({"docker": [(1, 5), (32, 5)]}, {"no isolation": 5})
    assert len(panels) == 6


def test_pixels_are_played_to_the_end(tmp_path: Path) -> None:
    player = players.load(players.lay_out(tmp_path / "dummy", players.DUMMY))
    _, records = play_bare(pixels.SPEC, [player, player], 2)
    assert count_moves(records) == 2 * pixels.STEPS
    first, second = pixels.Pixels(), pixels.Pixels()
    first.reset(1)
    second.reset(1)
    second.step({0: 0})
    assert first.observe(0).observation != second.observe(0).observation


def test_memory_of_local_players_is_that_of_our_own_children() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "x = b'1' * 50_000_000; print(flush=True); input()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as child:  # fmt: skip
        assert child.stdout is not None
        child.stdout.readline()
        during = players_bytes("process")
        child.communicate(b"\n")
    assert during > 50_000_000
    assert players_bytes("process") < during - 45_000_000


@pytest.mark.nightly
def test_what_cannot_be_installed_is_said_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    requirements = tmp_path / "benchmark" / "requirements.txt"
    requirements.parent.mkdir()
    requirements.write_text("numpy\n")  # refused before anything is asked for: it has no hash
    with pytest.raises(CannotInstall, match="It cannot be installed: ERROR: .*[Hh]ash"):
        own_python(requirements)


@pytest.mark.nightly
@pytest.mark.network
def test_panels_become_a_picture(tmp_path: Path) -> None:
    lines = {"docker": [(1.0, 5.0), (32.0, 50.0)], "none": [(1.0, 100.0)]}
    draw(
        tmp_path / "plot.png",
        [
            Panel("speed", "at once", "matches/s", lines, logarithmic=scale, levels={"HTTP": 3.0, "Kaggle": 2.9})
            for scale in (False, True)
        ],
    )
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("folder", ["kaggle_baseline", "plots"])
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
