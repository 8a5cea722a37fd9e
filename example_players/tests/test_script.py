"""The output of the script submission."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from typing import Any

import pytest

from example_players.tests.playing import FOLDER


def run(environment: str) -> tuple[int, Any]:
    """Run the script; return its exit status and the last line of its output, parsed as JSON."""
    command = [sys.executable, "-u", str(FOLDER / "script" / "submission.py"), environment]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, json.loads(done.stdout.splitlines()[-1])


# Random play gets 22, 0.05 and -1200. A linear policy cannot solve the pendulum, whose actions are arrays.
@pytest.mark.nightly
@pytest.mark.parametrize(
    ("environment", "least"), [("CartPole-v1", 195.0), ("FrozenLake-v1", 0.3), ("Pendulum-v1", -1700.0)]
)
def test_it_learns_and_the_last_line_is_a_valid_score(environment: str, least: float) -> None:
    assert_valid(*run(environment), least)


@pytest.mark.slow
def test_with_few_steps_it_beats_random_play(capsys: pytest.CaptureFixture[str]) -> None:
    script = runpy.run_path(str(FOLDER / "script" / "submission.py"))
    script["main"].__globals__["LEARNING_STEPS"] = 10_000

    status = script["main"](["CartPole-v1"])

    assert_valid(status, json.loads(capsys.readouterr().out.splitlines()[-1]), 60.0)


def test_on_a_machine_that_is_too_slow_it_reports_what_it_could_play(capsys: pytest.CaptureFixture[str]) -> None:
    script = runpy.run_path(str(FOLDER / "script" / "submission.py"))
    script["main"].__globals__.update(LEARNING_SECONDS=0, TEST_SECONDS=0)

    status = script["main"](["CartPole-v1"])

    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (status, result["episodes"]) == (0, 1)
    assert result["metrics"] == [0.0, result["score"], result["score"]]


def assert_valid(status: int, result: Any, least: float) -> None:
    assert status == 0
    assert set(result) == {"score", "metrics", "episodes"}
    assert type(result["score"]) is float
    assert result["score"] >= least
    assert result["episodes"] == 100
    spread, worst, best = result["metrics"]
    assert worst <= result["score"] <= best
    assert spread >= 0


@pytest.mark.parametrize("environment", ["NoSuchGame-v1", "not an id"])
def test_an_environment_that_is_not_there_is_an_error_and_no_score(environment: str) -> None:
    status, result = run(environment)

    assert status == 1
    assert set(result) == {"error"}
