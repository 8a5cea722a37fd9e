"""Plays matches and duels: what workers, the command line and benchmarks call. No Django here."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from duel_runner.duel import Duel
from duel_runner.faults import PlatformFault
from duel_runner.match import pair_seed
from duel_runner.sandbox.base import Container
from environments.records import DuelRecord, MatchRecord, Outcome
from environments.spec import EnvironmentSpec, Limits

__all__ = ["PlatformFault", "PlayedDuel", "Player", "pair_seed", "run_duel", "run_match"]


class Player(Protocol):
    """The player contract, as archives implement it in `player.py`."""

    def start(self, state: np.ndarray[Any, Any], valid_actions: np.ndarray[Any, Any]) -> int: ...
    def step(self, state: np.ndarray[Any, Any], valid_actions: np.ndarray[Any, Any], prev_reward: float) -> int: ...
    def end(self, state: np.ndarray[Any, Any], prev_reward: float) -> None: ...


@dataclass(frozen=True, slots=True)
class PlayedDuel:
    """What a duel leaves: its record, the referee's log, and what each player printed."""

    record: DuelRecord
    log: str
    player_logs: tuple[str, str]
    playing_seconds: float
    """From the first question to the last result, without starting and ending the players."""


def run_match(spec: EnvironmentSpec, players: Sequence[Player], seed: int, *, number: int = 1) -> MatchRecord:
    """Play one match between players in this process, without isolation; players[seat] sits in that seat.

    Exceptions of players are not caught: this is for trusted code, tests and the baseline of benchmarks.
    """
    environment = spec.make()
    environment.reset(seed)
    pending, scores, started = [0.0] * spec.seats, [0.0] * spec.seats, [False] * spec.seats
    actions: list[int] = []
    moves = [0] * spec.seats
    dtype, shape = spec.observation.dtype, spec.observation.shape
    while seats := environment.to_move:
        chosen = {}
        for seat in seats:
            seen = environment.observe(seat)
            state = np.array(seen.observation, dtype=dtype).reshape(shape)
            valid = np.array(seen.valid_actions, dtype="int64")
            player = players[seat]
            action = player.step(state, valid, pending[seat]) if started[seat] else player.start(state, valid)
            started[seat], pending[seat], chosen[seat] = True, 0.0, int(action)
            moves[seat] += 1
        rewards = environment.step(chosen)
        actions += chosen.values()
        for seat, reward in enumerate(rewards):
            pending[seat] += reward
            scores[seat] += reward
    for seat, player in enumerate(players):
        player.end(np.array(environment.observe(seat).observation, dtype=dtype).reshape(shape), pending[seat])
    winner = Outcome.PLAYER_1 if scores[0] > scores[1] else Outcome.PLAYER_2
    return MatchRecord(
        number=number,
        seed=seed,
        seats=tuple(range(spec.seats)),
        actions=tuple(actions),
        outcome=Outcome.DRAW if scores[0] == scores[1] else winner,
        scores=tuple(scores),
        move_counts=tuple(moves),
    )


def run_duel(
    spec: EnvironmentSpec,
    launch: Callable[[int], Container],
    *,
    names: tuple[str, str],
    seed: int,
    match_count: int,
    parallel_matches: int,
    limits: Limits,
    clock: Callable[[], float],
    one_core: bool = False,
    on_progress: Callable[[int], None] | None = None,
) -> PlayedDuel:
    """Play `match_count` matches between two players, up to `parallel_matches` at once.

    Matches 2k-1 and 2k share a seed with seats swapped; player_1 has seat 0 in odd ones. launch(player) starts a
    container for player 0 or 1 and is called again after a death, at most `limits.max_restarts` times. The record
    does not depend on `parallel_matches` as far as players are deterministic. one_core: whether both containers are
    pinned to the same core, so that each takes from the other what it uses. Raises PlatformFault or SandboxError
    when the platform fails: then nothing counts.
    """
    duel = Duel(
        spec,
        launch,
        seed=seed,
        match_count=match_count,
        parallel_matches=parallel_matches,
        limits=limits,
        one_core=one_core,
        clock=clock,
        on_progress=on_progress or (lambda _: None),
    )
    with contextlib.ExitStack() as stack:
        for link in duel.links:
            stack.callback(link.close)
        stack.enter_context(_without_collector())
        duel.play()
    records = tuple(duel.records[number] for number in range(1, match_count + 1))
    record = DuelRecord(spec.id, seed, names, records)
    return PlayedDuel(record, "\n".join(duel.log), (duel.links[0].log, duel.links[1].log), duel.playing_seconds)


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """Rest the collector of reference cycles: a duel leaves none, and looking for them took a quarter of its time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
