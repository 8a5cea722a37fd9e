"""How many steps a second an evaluation takes, compared with other ways to take the same steps.

CartPole-v1 with a small NumPy policy in these ways: the arena's sandbox, one HTTP POST per step, the plain environment
in one process without isolation, and Gymnasium's vector environments (they ask a policy for all episodes at once, which
the arena's contract does not allow). Then pictures of 84 x 84 x 4 bytes per step, and the time from an upload to a
score on a board. One run measures all ways in turn and reports medians. Steps per second exclude start and end.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import requests

from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.referee.run import PlayedEvaluation, Player, run_episode, run_evaluation
from arena_kit.sandbox.base import Container, Launch, Sandbox, SandboxError
from benchmarks import pixels, players
from benchmarks.arena import Arena
from benchmarks.common import (
    BENCH_LABEL,
    COUNTER,
    circumstances,
    new_parser,
    open_sandbox,
    pinned,
    say,
    take_turns,
    text_table,
    work_folder,
    write_json,
)
from benchmarks.http_baseline.servers import ONE_CONNECTION_A_REQUEST, HttpPlayer, container_server, process_server

SPEC = get_spec("CartPole-v1")
ENVIRONMENT = "CartPole-v1"
VECTOR_WIDTH = 32
WEIGHTS = np.array([0.02, 0.1, 1.0, 0.5], dtype="float32")
"""Weights that balance the pole to the end of every episode."""
EPISODE_STEPS = 500
RATIOS = {"speedup_http": "http", "fraction_of_bare": "bare", "fraction_of_vector": "vector"}
"""The way that the arena is compared with, by the key of the ratio."""


@dataclass(frozen=True)
class Way:
    """A way to take steps. play: plays that many episodes and returns the steps and their seconds."""

    key: str
    title: str
    episodes: int
    play: Callable[[int], tuple[int, float]]

    def steps_per_second(self) -> float:
        """One sample."""
        steps, seconds = self.play(max(1, self.episodes))
        return steps / seconds


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table and, if asked, write JSON; return 1 if the sandbox cannot be used."""
    parser = new_parser("evaluations", __doc__, rounds=5)
    parser.add_argument("--episodes", type=int, default=200, help="episodes of a sample of the arena (default 200)")
    parser.add_argument("--parallel", type=int, default=SPEC.parallel_matches,
                        help=f"episodes at once (default {SPEC.parallel_matches}, the environment's)")  # fmt: skip
    parser.add_argument("--without-upload", action="store_true", help="do not measure the time from upload to score")
    options = parser.parse_args(arguments)
    if options.quick:
        options.episodes, options.rounds = 64, 3
    try:
        with work_folder() as folder:
            figures, titles = _steps(options, folder)
            upload = None if options.without_upload else _upload_to_score(options, folder)
    except SandboxError as error:
        print(f"{error}\nTo measure local processes instead: --sandbox process", file=sys.stderr)
        return 1
    report = {**summarise(figures), "upload_to_score_seconds": upload, **circumstances(options), "environment": SPEC.id}
    print(table(titles, figures, report))
    write_json(options.json, report)
    return 0


def _steps(options: argparse.Namespace, folder: Path) -> tuple[dict[str, list[float]], dict[str, str]]:
    with contextlib.ExitStack() as stack:
        sandbox = stack.enter_context(open_sandbox(options.sandbox, options.base_image, folder))
        policy = players.lay_out(folder / "policy", players.BALANCE.format(weights=WEIGHTS.tolist()))
        dummy = players.lay_out(folder / "dummy", players.DUMMY)
        where = "containers" if options.sandbox == "docker" else "local processes"
        address = stack.enter_context(
            container_server(policy, options.base_image, folder, ONE_CONNECTION_A_REQUEST)
            if options.sandbox == "docker"
            else process_server(policy, ONE_CONNECTION_A_REQUEST)
        )

        def arena(spec: EnvironmentSpec, player: Path, parallel: int, episodes: int) -> tuple[int, float]:
            return _timed(play_evaluation(sandbox, spec, player, episodes, parallel))

        ways = [
            Way("http", f"one HTTP POST per step, Flask in {where}", 1,
                partial(_alone, HttpPlayer(address, requests.post))),
            Way("bare", "no isolation: the plain environment in one process", options.episodes // 8,
                partial(_bare, players.load(policy))),
            Way("bare_adapter", "no isolation, with the arena's own adapter", options.episodes // 8,
                partial(_alone, players.load(policy))),
            Way("vector_sync", f"Gymnasium's vector of {VECTOR_WIDTH}, one after the other", options.episodes // 8,
                partial(_vector, "sync")),
            Way("vector", f"Gymnasium's vector of {VECTOR_WIDTH}, in one NumPy program", options.episodes // 8,
                partial(_vector, "vector_entry_point")),
            Way("arena_one_at_a_time", f"arena, {where}, 1 episode at a time", max(2, options.episodes // 40),
                partial(arena, SPEC, policy, 1)),
            Way("arena", f"arena, {where}, {options.parallel} at once", options.episodes,
                partial(arena, SPEC, policy, options.parallel)),
            Way("pixels", f"arena, pictures, {options.parallel} at once", options.episodes,
                partial(arena, pixels.ALONE, dummy, options.parallel)),
        ]  # fmt: skip
        by_title = take_turns({way.title: way.steps_per_second for way in ways}, options.rounds)
    return {way.key: by_title[way.title] for way in ways}, {way.key: way.title for way in ways}


def play_evaluation(
    sandbox: Sandbox, spec: EnvironmentSpec, player: Path, episodes: int, parallel: int
) -> PlayedEvaluation:
    """Evaluate a folder in a sandbox, on one core as a worker does. Raises RuntimeError if the player fails."""

    def launch() -> Container:
        name = f"arena-bench-{os.getpid()}-{next(COUNTER)}"
        return sandbox.launch(Launch(f"folder:{player}", name, spec.limits, {BENCH_LABEL: str(os.getpid())}, core))

    with pinned() as core:
        played = run_evaluation(
            spec, launch, name="bench", seeds=range(episodes), parallel_episodes=parallel,
            limits=spec.limits, clock=time.monotonic,
        )  # fmt: skip
    if played.failure is not None:
        raise RuntimeError(f"The player failed, so the figures are worthless: {played.failure.sentence}")
    return played


def _timed(played: PlayedEvaluation) -> tuple[int, float]:
    return sum(episode.length for episode in played.record.episodes), played.playing_seconds


def _alone(player: Player, episodes: int) -> tuple[int, float]:
    begun = time.perf_counter()
    steps = sum(run_episode(SPEC, player, seed).length for seed in range(episodes))
    return steps, time.perf_counter() - begun


def _bare(player: Player, episodes: int) -> tuple[int, float]:
    """Play in the usual loop, with the default wrappers of `gymnasium.make`."""
    environment: Any = gymnasium.make(ENVIRONMENT)
    valid_actions = np.arange(2)
    begun, steps = time.perf_counter(), 0
    for seed in range(episodes):
        state, _ = environment.reset(seed=seed)
        action, is_over = player.start(state, valid_actions), False
        while not is_over:
            state, reward, terminated, truncated, _ = environment.step(action)
            steps += 1
            is_over = terminated or truncated
            if not is_over:
                action = player.step(state, valid_actions, reward)
        player.end(state, reward)
    return steps, time.perf_counter() - begun


def _vector(mode: str, episodes: int) -> tuple[int, float]:
    environments: Any = gymnasium.make_vec(ENVIRONMENT, num_envs=VECTOR_WIDTH, vectorization_mode=mode)
    states, _ = environments.reset(seed=0)
    rounds = max(1, episodes // VECTOR_WIDTH) * EPISODE_STEPS
    begun = time.perf_counter()
    for _ in range(rounds):
        states, *_ = environments.step((states @ WEIGHTS > 0).astype("int64"))
    seconds = time.perf_counter() - begun
    environments.close()
    return rounds * VECTOR_WIDTH, seconds


def _upload_to_score(options: argparse.Namespace, folder: Path) -> float:
    say("from upload to score")
    arena = Arena(folder, sandbox=options.sandbox, base_image=options.base_image)
    try:
        return round(arena.score(players.BALANCE.format(weights=WEIGHTS.tolist()), slug=SPEC.slug), 2)
    finally:
        arena.remove()
        say("")


def summarise(figures: Mapping[str, Sequence[float]]) -> dict[str, object]:
    """Return medians and the ratios of medians."""
    medians = {key: statistics.median(values) for key, values in figures.items()}
    return {
        "steps_per_second": {key: round(value, 1) for key, value in medians.items()},
        "spread": {key: [round(min(values), 1), round(max(values), 1)] for key, values in figures.items()},
        "slowdown_vs_bare": round(medians["bare"] / medians["arena"], 3),
        **{key: round(medians["arena"] / medians[way], 3) for key, way in RATIOS.items()},
        "pixels_megabytes_per_second": round(medians["pixels"] * pixels.PICTURE_BYTES / 1e6, 1),
    }


def table(titles: Mapping[str, str], figures: Mapping[str, Sequence[float]], report: Mapping[str, object]) -> str:
    """Return the figures as a table."""
    bare = statistics.median(figures["bare"])
    rows = [
        [title, statistics.median(figures[key]), min(figures[key]), max(figures[key]),
         f"{statistics.median(figures[key]) / bare:.3f}"]
        for key, title in titles.items()
    ]  # fmt: skip
    upload = report["upload_to_score_seconds"]
    return (
        f"{text_table(['way', 'steps/s', 'from', 'to', 'of bare'], rows)}\n"
        f"The arena is {report['slowdown_vs_bare']} times as slow as no isolation and {report['speedup_http']} times "
        f"as fast as one HTTP POST per step; pictures travel at {report['pixels_megabytes_per_second']} MB/s."
        f"{'' if upload is None else f' From upload to a score on the board: {upload} s.'}"
    )


if __name__ == "__main__":
    sys.exit(main())
