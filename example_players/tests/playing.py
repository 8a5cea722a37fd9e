"""Loads players as the arena does, from a file alone, and plays matches with them."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy

from arena_kit.environment.registry import get_spec

FOLDER = Path(__file__).parents[1]


def player_class(name: str) -> Any:
    """Return the class `Player` of an example player, loaded without a package around it."""
    spec = importlib.util.spec_from_file_location(f"player_{name}", FOLDER / name / "player.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Player


def play_match(slug: str, players: Sequence[Any], seed: int = 0) -> tuple[float, ...]:
    """Play a match with players[0] in seat 0; return the score of each seat. Raises IllegalAction."""
    spec = get_spec(slug)
    environment = spec.make()
    environment.reset(seed)
    scores = [0.0] * len(players)
    unseen = [0.0] * len(players)
    started = [False] * len(players)
    while environment.to_move:
        chosen = {}
        for seat in environment.to_move:
            seen = environment.observe(seat)
            state = numpy.array(seen.observation, dtype=spec.observation.dtype)
            valid = numpy.array(seen.valid_actions, dtype=numpy.int64)
            player = players[seat]
            action = player.step(state, valid, unseen[seat]) if started[seat] else player.start(state, valid)
            started[seat], unseen[seat], chosen[seat] = True, 0.0, int(action)
        for other, reward in enumerate(environment.step(chosen)):
            scores[other] += reward
            unseen[other] += reward
    for seat, player in enumerate(players):
        player.end(numpy.array(environment.observe(seat).observation, dtype=spec.observation.dtype), unseen[seat])
    return tuple(scores)


def points(slug: str, player: Any, opponent: Any, matches: int) -> float:
    """Return a player's share of the matches (1 for a win, 1/2 for a draw) in matches with alternating seats."""
    total = 0.0
    for number in range(matches):
        seat = number % 2
        pair = (player, opponent) if seat == 0 else (opponent, player)
        score = play_match(slug, pair, seed=number)[seat]
        total += 1.0 if score > 0 else 0.5 if score == 0 else 0.0
    return total / matches
