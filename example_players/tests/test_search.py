"""The searches of the example players find the same values as a plain search of all lines of play."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from itertools import islice
from random import Random
from typing import Any

import pytest

from arena_kit.environment.protocol import Environment
from arena_kit.environment.registry import get_spec
from example_players.tests.playing import player_class


def inside(name: str) -> dict[str, Any]:
    """Return the names defined in a player's file."""
    return player_class(name).start.__globals__  # type: ignore[no-any-return]  # a class loaded from a file


def shuffled(actions: Sequence[int], random: Random) -> list[int]:
    return random.sample(actions, len(actions))


def position_after(slug: str, moves: int, seed: int) -> Environment | None:
    """Return the position after random moves that do not end the match, or None if every move ends it."""
    random, environment = Random(seed), get_spec(slug).make()
    environment.reset(0)
    for _ in range(moves):
        (seat,) = environment.to_move
        for action in shuffled(environment.observe(seat).valid_actions, random):
            after = deepcopy(environment)
            after.step({seat: action})
            if after.to_move:
                break
        else:
            return None
        environment = after
    return environment


def positions_after(slug: str, moves: int, count: int) -> list[Environment]:
    """Return `count` different positions."""
    found = (position_after(slug, moves, seed) for seed in range(100 * count))
    positions = list(islice((position for position in found if position is not None), count))
    assert len(positions) == count
    return positions


def plain_value(game: Any, depth: int) -> int:
    """Return the minimax value without pruning."""
    values: list[int] = []
    for action in game.actions():
        result = game.play(action)
        if result is not None:
            values.append(result + depth * (result > 0) - depth * (result < 0))
        else:
            values.append(-game.evaluate() if depth <= 1 else -plain_value(game, depth - 1))
        game.undo(action)
    return max(values)


@pytest.mark.parametrize(
    ("slug", "moves", "depth"), [("tic-tac-toe", 3, 6), ("connect-four", 14, 3), ("quarto", 11, 3)]
)
def test_pruning_changes_no_value_and_leaves_the_position_as_it_was(slug: str, moves: int, depth: int) -> None:
    minimax = inside("minimax")
    for position in positions_after(slug, moves, count=8):
        state = [int(number) for number in position.observe(position.to_move[0]).observation]
        game = minimax["GAMES"][len(state)](state)
        before = sorted(game.actions())

        value = minimax["search"](game, depth, -2 * minimax["WIN"], 2 * minimax["WIN"])

        assert sorted(game.actions()) == before
        assert value == plain_value(minimax["GAMES"][len(state)](state), depth)


def exact_value(environment: Environment) -> float:
    """Return the score of the side to move with perfect play, by searching all lines with the arena's rules."""
    (seat,) = environment.to_move
    return max(value_of(environment, action) for action in environment.observe(seat).valid_actions)


def value_of(environment: Environment, action: int) -> float:
    """Return the score of the side to move for an action, with perfect play afterwards."""
    (seat,) = environment.to_move
    after = deepcopy(environment)
    reward = after.step({seat: action})[seat]
    return reward if not after.to_move else -exact_value(after)


@pytest.mark.parametrize(("slug", "moves"), [("tic-tac-toe", 4), ("connect-four", 34), ("quarto", 12)])
def test_deep_search_plays_the_end_of_a_match_perfectly(slug: str, moves: int) -> None:
    player = player_class("deep_search")(False)
    for position in positions_after(slug, moves, count=10):
        seen = position.observe(position.to_move[0])

        action = player.step(seen.observation, seen.valid_actions, 0.0)

        assert value_of(position, action) == exact_value(position)


def test_deep_search_counts_the_cells_that_complete_a_four() -> None:
    deep = inside("deep_search")
    rules_lines = inside("minimax")["FOURS"]
    bit = {cell: 1 << 7 * (cell % 7) + 5 - cell // 7 for cell in range(42)}
    random = Random(12)
    for _ in range(200):
        heights = [random.randrange(7) for _ in range(7)]
        taken = {cell for cell in range(42) if 6 - cell // 7 <= heights[cell % 7]}
        mine = {cell for cell in taken if random.random() < 0.6}
        stones = sum(bit[cell] for cell in mine)

        cells = deep["winning_cells"](stones, sum(bit[cell] for cell in taken))

        expected = {cell for line in rules_lines for cell in line if set(line) - mine == {cell} and cell not in taken}
        assert cells == sum(bit[cell] for cell in expected)
