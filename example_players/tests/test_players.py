"""The example players in every environment of the arena."""

from __future__ import annotations

import sys
from random import Random
from typing import Any

import numpy
import pytest

from arena_kit.environment.registry import all_specs
from arena_kit.examples import EXAMPLES, names
from example_players.tests.playing import FOLDER, play_match, player_class, points

SLUGS = [spec.slug for spec in all_specs() if spec.seats == 2]
PLAYERS = names("connect-four")
LEARNERS = {name for name in names() if name in EXAMPLES and EXAMPLES[name].weights}
"""These cannot play before they have learned; `test_learners.py` has them."""


class AnyMove:
    """An opponent that plays random valid actions, the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def start(self, state: Any, valid_actions: Any) -> int:
        return int(self._random.choice(valid_actions))

    def step(self, state: Any, valid_actions: Any, prev_reward: float) -> int:
        return self.start(state, valid_actions)

    def end(self, state: Any, prev_reward: float) -> None:
        pass


class AnyFirstMove:
    """Wraps a player and plays a random first move, so that matches of deterministic players differ."""

    def __init__(self, player: Any, seed: int) -> None:
        self._player, self._random = player, Random(seed)

    def start(self, state: Any, valid_actions: Any) -> int:
        return int(self._random.choice(valid_actions))

    def step(self, state: Any, valid_actions: Any, prev_reward: float) -> int:
        return int(self._player.step(state, valid_actions, prev_reward))

    def end(self, state: Any, prev_reward: float) -> None:
        self._player.end(state, prev_reward)


def seeded(name: str, seed: int) -> Any:
    """Make a player whose choices can be repeated."""
    make = player_class(name)
    return make(False, seed=seed) if name in ("random", "minimax") else make(False)


@pytest.mark.parametrize(
    ("slug", "name"), [(slug, name) for slug in SLUGS for name in names(slug) if name not in LEARNERS]
)
def test_every_player_plays_every_environment_legally_from_both_seats(name: str, slug: str) -> None:
    player, opponent = player_class(name)(False), AnyMove(1)

    # A match of Pong is long.
    pairs = ((player, opponent), (opponent, player)) * (1 if slug == "pong" else 3)
    # An illegal action would raise IllegalAction. The same object plays all matches, as in the arena.
    scores = [play_match(slug, pair) for pair in pairs]

    assert all(sum(score) == 0 for score in scores)


@pytest.mark.parametrize("name", sorted({*PLAYERS, *names("pong")} - LEARNERS))
def test_a_player_is_loaded_without_the_arena_around_it(name: str) -> None:
    before = set(sys.modules)

    player_class(name)

    rooms = ("core", "environments", "duel_runner", "builder", "web", "example_players")
    assert not [module for module in set(sys.modules) - before if module.split(".")[0] in rooms]
    assert (FOLDER / name / "README.md").is_file()


@pytest.mark.parametrize("name", ["minimax", "deep_search"])
def test_searchers_never_lose_tic_tac_toe_to_random_moves(name: str) -> None:
    player, opponent = seeded(name, 3), AnyMove(4)

    scores = [play_match("tic-tac-toe", (player, opponent))[0] for _ in range(50)]
    scores += [play_match("tic-tac-toe", (opponent, player))[1] for _ in range(50)]

    assert min(scores) == 0
    assert sum(scores) > 70


@pytest.mark.parametrize("name", ["minimax", "deep_search"])
@pytest.mark.parametrize("slug", ["connect-four", "quarto"])
def test_searchers_beat_random_moves(name: str, slug: str) -> None:
    assert points(slug, seeded(name, 5), AnyMove(6), matches=20) >= 0.9


@pytest.mark.slow
def test_deep_search_beats_minimax_in_connect_four() -> None:
    deep = AnyFirstMove(player_class("deep_search")(False), seed=7)
    minimax = AnyFirstMove(seeded("minimax", 8), seed=9)

    assert points("connect-four", deep, minimax, matches=20) >= 0.7


@pytest.mark.slow
@pytest.mark.nightly
def test_deep_search_is_stronger_than_minimax_in_quarto() -> None:
    assert points("quarto", player_class("deep_search")(False), seeded("minimax", 10), matches=40) > 0.5


def test_following_the_ball_beats_random_moves_in_pong() -> None:
    assert points("pong", player_class("pong_follow")(False), AnyMove(11), matches=4) == 1


def test_aiming_beats_following_in_pong() -> None:
    scores = [
        play_match("pong", (player_class("pong_aim")(False), player_class("pong_follow")(False)), seed)[0]
        for seed in range(12)
    ]
    # It is never beaten and wins more often than not; where no ball gets past, the match is a draw.
    assert min(scores) >= 0
    assert sum(score > 0 for score in scores) >= 6


@pytest.mark.parametrize("name", ["random", "minimax"])
def test_a_seed_repeats_the_moves(name: str) -> None:
    state, valid = numpy.array([-1] * 16 + [15]), numpy.arange(255)
    first, second = ([seeded(name, 11).start(state, valid) for _ in range(3)] for _ in range(2))

    assert first == second


def test_the_players_need_no_numpy() -> None:
    state, valid = [0] * 42 + [1], list(range(7))

    assert all(player_class(name)(False).start(state, valid) in valid for name in PLAYERS)
