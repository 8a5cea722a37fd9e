"""Plays episodes of Gymnasium with packed examples, loaded and called as the player server does it."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy
import pytest

from arena_kit.contract import action_of
from arena_kit.sandbox.inside.player_server import playing, serving
from arena_kit.upload.archive import unpack_archive


@dataclass
class Episode:
    """A running episode with its own player."""

    environment: Any
    player: Any
    state: Any
    reward: float = 0.0
    total: float = 0.0
    length: int = 0


def make_players(archive: bytes, folder: Path, patch: pytest.MonkeyPatch) -> Any:
    """Unpack an archive and load it with the player server's code; return a function that makes its players."""
    unpack_archive(io.BytesIO(archive), folder)
    return load_players(folder, patch)


def load_players(folder: Path, patch: pytest.MonkeyPatch) -> Any:
    """Load a folder with the player server's code; return a function that makes its players."""
    patch.chdir(folder)
    patch.setattr(sys, "path", [*sys.path])
    patch.delitem(sys.modules, "player", raising=False)
    serving.import_numpy()
    _, make = playing.load_player(str(folder))
    # Loading added this entry, and the next test must not find it.
    patch.setitem(sys.modules, "player", sys.modules.pop("player"))
    return make


def returns(
    make: Any,
    environment: str,
    episodes: int,
    arguments: Mapping[str, Any] | None = None,
    *,
    parallel: int = 16,
    most_steps: int = 1000,
) -> list[float]:
    """Return the returns of episodes with the seeds 0, 1, 2, ..., played in turns, each with its own player.

    Players are used again for later episodes. Raises when an answer does not follow the contract.
    """
    players = [make(False) for _ in range(parallel)]
    done: dict[int, float] = {}
    running: dict[int, Episode] = {}
    waiting = list(range(episodes))
    while waiting or running:
        while waiting and players:
            seed = waiting.pop(0)
            made = gymnasium.make(environment, **(arguments or {}))
            running[seed] = Episode(made, players.pop(), made.reset(seed=seed)[0])
        for seed, episode in list(running.items()):
            if advance(episode) or episode.length == most_steps:
                episode.player.end(observed(episode.environment, episode.state), episode.reward)
                episode.environment.close()
                players.append(episode.player)
                done[seed] = running.pop(seed).total
    return [done[seed] for seed in range(episodes)]


def advance(episode: Episode) -> bool:
    """Ask for an action and play it; return whether the episode is over."""
    space = episode.environment.action_space
    numbered = isinstance(space, gymnasium.spaces.Discrete)
    state, valid = observed(episode.environment, episode.state), numpy.arange(space.n if numbered else 0)
    player = episode.player
    answer = player.step(state, valid, episode.reward) if episode.length else player.start(state, valid)
    action: Any = action_of(answer) if numbered else answer
    assert numbered or isinstance(action, numpy.ndarray)
    assert space.contains(action), action
    episode.state, reward, terminated, truncated, _ = episode.environment.step(action)
    episode.reward = float(reward)
    episode.total += episode.reward
    episode.length += 1
    return bool(terminated or truncated)


def observed(environment: Any, state: Any) -> Any:
    """Return an observation as players get it, a new array, which has the shape (1,) for a number."""
    return numpy.array(state, dtype=environment.observation_space.dtype).reshape(
        environment.observation_space.shape or (1,)
    )
