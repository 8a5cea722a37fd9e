"""Examples that learn do better than random play, in Gymnasium's own environments."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from traceback import format_exception
from typing import Any

import numpy
import pytest

from arena_kit.examples import EXAMPLES, make_archive
from arena_kit.upload.archive import inspect_archive
from example_players.tests.episodes import load_players, make_players, returns
from example_players.tests.playing import FOLDER, player_class, points

BOX2D = pytest.mark.skipif(find_spec("Box2D") is None, reason="needs pip install 'gymnasium[box2d]'")
STILL: Mapping[str, Any] = {"is_slippery": False}

Play = Callable[..., list[float]]


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of weights for all tests of this run, so that each player is trained once."""
    return tmp_path_factory.mktemp("weights")


@pytest.fixture
def play(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Train and pack an example for an environment, then play episodes with it."""

    def returns_of(
        name: str, environment: str, episodes: int, arguments: Mapping[str, Any] | None = None, **options: Any
    ) -> list[float]:
        archive = make_archive(name, environment, arguments, train=True, store=store)
        assert inspect_archive(io.BytesIO(archive)).entry_point == "player.py"
        make = make_players(archive, tmp_path / f"{name}-{environment}", monkeypatch)
        return returns(make, environment, episodes, arguments, **options)

    return returns_of


@pytest.mark.nightly
def test_the_cross_entropy_method_balances_the_pole(play: Play) -> None:
    assert numpy.mean(play("cem", "CartPole-v1", 100)) >= 475


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["reinforce", "dqn"])
def test_networks_balance_the_pole(name: str, play: Play) -> None:
    assert numpy.mean(play(name, "CartPole-v1", 100)) >= 475


@pytest.mark.nightly
def test_q_learning_crosses_the_slippery_lake(play: Play) -> None:
    # The best policies reach 0.74 within 100 steps, and the mean of 1000 episodes has a standard error of 0.014.
    assert numpy.mean(play("q_learning", "FrozenLake-v1", 1000)) >= 0.7


@pytest.mark.nightly
def test_q_learning_always_crosses_a_lake_that_is_not_slippery(play: Play) -> None:
    assert set(play("q_learning", "FrozenLake-v1", 20, STILL)) == {1.0}


@pytest.mark.nightly
def test_q_learning_drives_the_taxi(play: Play) -> None:
    assert numpy.mean(play("q_learning", "Taxi-v4", 100)) >= 7


@pytest.mark.nightly
def test_q_learning_walks_along_the_cliff_and_sarsa_at_a_distance(play: Play) -> None:
    # A step costs 1, and the shortest way, right beside the cliff, has thirteen steps.
    assert set(play("q_learning", "CliffWalking-v1", 2)) == {-13.0}
    assert set(play("sarsa", "CliffWalking-v1", 2)) <= {-15.0, -17.0}


@pytest.mark.nightly
def test_learning_beats_following_in_pong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = shutil.copytree(FOLDER / "pong_q", tmp_path / "pong_q")
    command = [sys.executable, "train.py", "--decisions", "4000"]
    paths = {**os.environ, "PYTHONPATH": str(FOLDER.parent)}
    subprocess.run(command, cwd=folder, env=paths, check=True, capture_output=True)
    player = load_players(folder, monkeypatch)(False)

    # The example that is written by hand, pong_aim, has 0.84: it wins two matches of three and draws the others.
    assert points("pong", player, player_class("pong_follow")(False), matches=20) >= 0.9


@BOX2D
def test_the_hand_written_controller_lands(play: Play) -> None:
    # Gymnasium counts a mean of 200 as solved.
    assert numpy.mean(play("lunar_lander", "LunarLander-v3", 20)) >= 200


@pytest.mark.parametrize(
    ("name", "budget"),
    [
        ("q_learning", ["--steps", "3000"]),
        ("cem", ["--generations", "2"]),
        pytest.param("sarsa", ["--steps", "2000"], marks=pytest.mark.nightly),
        pytest.param("reinforce", ["--batches", "5"], marks=pytest.mark.nightly),
        pytest.param("dqn", ["--steps", "1100"], marks=pytest.mark.nightly),
        pytest.param("pong_q", ["--decisions", "300"], marks=pytest.mark.nightly),
    ],
)
def test_a_seed_repeats_what_is_learned(name: str, budget: list[str], tmp_path: Path) -> None:
    def learned(seed: int, run: str) -> bytes:
        path = tmp_path / f"{seed}-{run}{Path(EXAMPLES[name].weights).suffix}"
        command = [sys.executable, str(FOLDER / name / "train.py"), *budget, "--seed", str(seed), "--output", str(path)]
        paths = {**os.environ, "PYTHONPATH": str(FOLDER.parent)}
        subprocess.run(command, env=paths, check=True, capture_output=True)
        return path.read_bytes()

    first = learned(1, "first")

    assert learned(1, "again") == first
    assert learned(2, "other") != first


def test_chance_reaches_none_of_these(play: Play) -> None:
    assert numpy.mean(play("random", "CartPole-v1", 100)) < 50
    assert numpy.mean(play("random", "FrozenLake-v1", 100)) < 0.2


@BOX2D
def test_chance_does_not_land(play: Play) -> None:
    assert numpy.mean(play("random", "LunarLander-v3", 20)) < 0


@BOX2D
def test_random_answers_with_arrays_where_actions_are_arrays(play: Play) -> None:
    for environment in ("Pendulum-v1", "BipedalWalker-v3"):
        assert len(play("random", environment, 2, most_steps=50)) == 2


@pytest.mark.skipif(find_spec("mujoco") is None, reason="needs pip install 'gymnasium[mujoco]'")
@pytest.mark.parametrize("environment", ["Ant-v5", "HalfCheetah-v5", "Hopper-v5", "Humanoid-v5", "Walker2d-v5"])
def test_random_answers_with_arrays_in_mujoco(environment: str, play: Play) -> None:
    assert len(play("random", environment, 2, most_steps=20)) == 2


def test_random_says_what_to_do_where_it_does_not_know_the_actions() -> None:
    with pytest.raises(ValueError, match="Add one to ARRAYS"):
        player_class("random")(False).start(numpy.zeros(7), numpy.arange(0))


@pytest.mark.parametrize(("name", "example"), [item for item in EXAMPLES.items() if item[1].weights])
def test_a_player_without_weights_says_what_writes_them(
    name: str, example: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = make_archive(name, store=tmp_path / "none")

    with pytest.raises(FileNotFoundError, match=example.weights) as missing:
        make_players(archive, tmp_path / name, monkeypatch)

    # Python's message with the failing line is in the log that the owner reads.
    assert "train.py writes it" in "".join(format_exception(missing.value))
