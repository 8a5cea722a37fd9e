"""The benchmarks with few matches, to test that they work; their figures are not judged here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from benchmarks import (
    fairness,
    joining,
    kubernetes,
    runner,
    site,
    standings,
)
from tests.postgres import NoPostgres, postgres_programs

ROOT = Path(__file__).resolve().parents[2]
FEW = ["--rounds", "1", "--matches", "8", "--http-matches", "2", "--kaggle-matches", "2"]
WAYS = {"http", "http_keep_alive", "arena_one_at_a_time", "arena", "arena_32", "bare"}
Main = Callable[[Sequence[str]], int]

both_sandboxes = pytest.mark.parametrize("sandbox", ["process", pytest.param("docker", marks=pytest.mark.docker)])


@pytest.fixture
def measure(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Run a benchmark and return its JSON."""

    def run(main: Main, sandbox: str, *arguments: str) -> dict[str, Any]:
        where = ["--sandbox", sandbox, "--base-image", settings.PLAYER_BASE_IMAGE]
        assert main([*arguments, *where, "--json", str(tmp_path / "figures.json")]) == 0
        report: dict[str, Any] = json.loads((tmp_path / "figures.json").read_text())
        return report

    return run


def look_at_other_ways(report: dict[str, Any], table: str) -> None:
    assert set(report["matches_per_second"]) == WAYS
    assert all(value > 0 for value in report["matches_per_second"].values())
    assert report["speedup_http"] > 0
    assert report["fraction_of_bare"] > 0
    assert report["speedup_kaggle"] is None
    assert "one HTTP POST per move" in table
    assert str(report["speedup_http"]) in table


@pytest.mark.nightly
@pytest.mark.docker
def test_the_runner_is_compared_with_other_ways(
    measure: Callable[..., dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    report = measure(runner.main, "docker", *FEW, "--without", "kaggle")
    look_at_other_ways(report, capsys.readouterr().out)


@pytest.mark.nightly
@pytest.mark.network
def test_the_runner_is_compared_with_kaggles_library(measure: Callable[..., dict[str, Any]]) -> None:
    report = measure(runner.main, "process", *FEW)
    assert set(report["matches_per_second"]) == WAYS | {"kaggle"}
    assert report["speedup_kaggle"] > 0


@pytest.mark.nightly
def test_without_kaggles_library_the_others_are_measured(
    measure: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    report = measure(runner.main, "process", *FEW)
    printed = capsys.readouterr()
    look_at_other_ways(report, printed.out)
    assert "Without Kaggle's library. It cannot be installed: " in printed.err


@pytest.mark.nightly
@both_sandboxes
def test_an_honest_player_meets_burners(sandbox: str, measure: Callable[..., dict[str, Any]]) -> None:
    report = measure(fairness.main, sandbox, "--rounds", "1", "--matches", "4", "--parallel", "2")
    assert set(report["honest_player"]) == set(fairness.OPPONENTS) | set(fairness.WAITING)
    # Players that are not in the duel cost nothing.
    assert all(report["honest_player"][title]["stopped"] == 0 for title in fairness.WAITING)
    assert report["slowdown_by_burner"] == max(report["slowdowns"].values()) > 0


@pytest.mark.nightly
def test_a_whole_site_is_visited_beside_a_bare_view(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        postgres_programs()
    except NoPostgres as reason:
        pytest.skip(f"PostgreSQL: {reason}")
    few = ["--agents", "8", "--editions", "2", "--matches", "160", "--rounds", "1", "--seconds", "8"]
    crowd = ["--connections", "4", "--uploaders", "1", "--processes", "2"]
    assert site.main([*few, *crowd, "--json", str(tmp_path / "figures.json")]) == 0

    report = json.loads((tmp_path / "figures.json").read_text())
    assert min(report["requests_per_second"], report["bare_requests_per_second"], report["ratio"]) > 0
    assert all(page["count"] > 0 and page["errors"] == 0 for page in report["pages"].values())
    assert all(page["p50_ms"] <= page["p95_ms"] <= page["p99_ms"] for page in report["pages"].values())
    assert report["pages"]["upload"]["queries"] > 0
    assert report["limits"]["cpu_share"]["site"] > 0
    assert "behind the arena's middleware" in capsys.readouterr().out


@pytest.mark.nightly
@both_sandboxes
def test_a_host_is_measured_layer_by_layer_and_by_workers(sandbox: str, tmp_path: Path) -> None:
    try:
        postgres_programs()
    except NoPostgres as reason:
        pytest.skip(f"PostgreSQL: {reason}")
    # In a separate process, because it uses the models on a database of its own.
    command = [sys.executable, "-Wdefault::ResourceWarning", "-m", "benchmarks.capacity", "--quick"]
    where = ["--sandbox", sandbox, "--base-image", settings.PLAYER_BASE_IMAGE, "--json", str(tmp_path / "figures.json")]
    done = subprocess.run([*command, *where], cwd=ROOT, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr
    assert "ResourceWarning" not in done.stderr
    report = json.loads((tmp_path / "figures.json").read_text())
    assert [row["layer"] for row in report["layers"]] == [
        "uploads per hour", "duels per hour, one worker", "page views per second", "live watchers by asking",
        "live watchers by streams",
    ]  # fmt: skip
    assert all(row["figure"] > 0 and row["limit"] for row in report["layers"])
    known = {(1, 1), (2, 1), (4, 1)} | ({(2, 2), (4, 2)} if sandbox == "docker" else set())
    found = {(row["workers"], row["engines"]) for row in report["growth"]}
    assert {(1, 1), (2, 1), (4, 1)} <= found <= known
    assert all(sum(row["cpu_share"].values()) <= 1.1 for row in report["growth"])
    assert "times one" in done.stdout


def test_ranks_of_chosen_duels_are_simulated(tmp_path: Path) -> None:
    assert joining.main(["--agents", "30", "--runs", "1", "--json", str(tmp_path / "figures.json")]) == 0
    report = json.loads((tmp_path / "figures.json").read_text())
    assert report[joining.CHOSEN]["duels"] == report[joining.ALL]["duels"]
    assert min(report[way]["kendall_tau"] for way in (joining.CHOSEN, joining.ALL)) > 0.8


@pytest.mark.nightly
def test_an_edition_of_chosen_duels_is_timed(tmp_path: Path) -> None:
    try:
        postgres_programs()
    except NoPostgres as reason:
        pytest.skip(f"PostgreSQL: {reason}")
    assert standings.main(["--chosen", "30", "--json", str(tmp_path / "figures.json")]) == 0
    report = json.loads((tmp_path / "figures.json").read_text())
    assert report["duels_of_new"] == 20
    assert report["start_mb"] < 100


@pytest.mark.nightly
def test_a_result_is_timed_over_two_histories_and_by_many_workers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        postgres_programs()
    except NoPostgres as reason:
        pytest.skip(f"PostgreSQL: {reason}")
    few = ["--rows", "40", "400", "--agents", "12", "--results", "2", "--workers", "3", "--seconds", "1"]
    # 0: all tables and ratings match the whole ledger.
    assert standings.main([*few, "--json", str(tmp_path / "figures.json")]) == 0

    report = json.loads((tmp_path / "figures.json").read_text())
    assert set(report["histories"]) == {"40", "400"}
    assert all(set(found["kinds"]) == {"ladder", "swiss", "edition"} for found in report["histories"].values())
    assert report["growth_100x"] == max(report["growth"].values())
    assert 0 < report["messages_per_result"] <= 1
    assert report["insert_share"] > 0
    assert report["histories"]["400"]["at_once"]["results"] > 0
    assert "growth from the shortest to the longest history" in capsys.readouterr().out


@pytest.mark.parametrize(
    "module",
    [
        "runner",
        pytest.param("fairness", marks=pytest.mark.nightly),
    ],
)
def test_it_says_what_to_do_without_an_engine(module: str, tmp_path: Path) -> None:
    # In a separate process, because the engine's library leaves a socket open without an answer.
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{module}", "--rounds", "1"],
        cwd=ROOT,
        env={**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/none.sock"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 1
    assert "--sandbox process" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.nightly
def test_a_tick_follows_all_lots_of_an_api(
    measure: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("kubernetes")
    monkeypatch.setattr("benchmarks.pods.missing", lambda: "A cluster is measured elsewhere.")
    report = measure(kubernetes.main, "docker", "--lots", "600")
    assert report["tick_cpu_seconds"] > 0
    assert report["lot_share_2"] is None
