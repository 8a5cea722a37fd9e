"""Plays matches, duels and evaluations, for workers, the command line and benchmarks."""

from __future__ import annotations

import contextlib
import gc
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from arena_kit.environment.distinct import first_alike
from arena_kit.environment.episodes import EpisodeRecord, EvaluationRecord
from arena_kit.environment.openings import begin, opening_of
from arena_kit.environment.records import DuelRecord, MatchRecord, Outcome
from arena_kit.environment.spec import ArraySpec, EnvironmentSpec, Limits
from arena_kit.referee.deciding import Decided
from arena_kit.referee.duel import Duel
from arena_kit.referee.episode import Failure
from arena_kit.referee.evaluation import Evaluation
from arena_kit.referee.live import LiveView
from arena_kit.referee.match import pair_seed
from arena_kit.referee.trial import Trial
from arena_kit.sandbox.base import Container

__all__ = [
    "Failure",
    "PlayedDuel",
    "PlayedEvaluation",
    "Player",
    "pair_seed",
    "run_duel",
    "run_episode",
    "run_evaluation",
    "run_match",
]

logger = logging.getLogger(__name__)


class Player(Protocol):
    """The player contract, as archives implement it in `player.py`."""

    def start(self, state: np.ndarray[Any, Any], valid_actions: np.ndarray[Any, Any]) -> Any: ...
    def step(self, state: np.ndarray[Any, Any], valid_actions: np.ndarray[Any, Any], prev_reward: float) -> Any: ...
    def end(self, state: np.ndarray[Any, Any], prev_reward: float) -> None: ...


@dataclass(frozen=True, slots=True)
class PlayedDuel:
    """The result of a duel."""

    record: DuelRecord
    log: str
    """The referee's log."""
    player_logs: tuple[str, str]
    """The output of each player."""
    playing_seconds: float
    """Wall time from the first question to the last result, without starting and ending the players."""


def run_match(spec: EnvironmentSpec, players: Sequence[Player], seed: int, *, number: int = 1) -> MatchRecord:
    """Play one match between players in this process, without isolation; players[seat] sits in that seat.

    It begins with the opening of its seed, where the environment has openings. It is for trusted code, tests and the
    baseline of benchmarks: exceptions of players are not caught.
    """
    environment = spec.make()
    opening = opening_of(spec, seed)
    scores = list(begin(environment, seed, opening)) or [0.0] * spec.seats
    pending, started = [0.0] * spec.seats, [False] * spec.seats
    actions = list(opening)
    moves = [0] * spec.seats
    while seats := environment.to_move:
        chosen = {}
        for seat in seats:
            seen = environment.observe(seat)
            state = _state(seen.observation, spec.observation)
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
        player.end(_state(environment.observe(seat).observation, spec.observation), pending[seat])
    winner = Outcome.PLAYER_1 if scores[0] > scores[1] else Outcome.PLAYER_2
    return MatchRecord(
        number=number,
        seed=seed,
        seats=tuple(range(spec.seats)),
        actions=tuple(actions),
        outcome=Outcome.DRAW if scores[0] == scores[1] else winner,
        scores=tuple(scores),
        move_counts=tuple(moves),
        opening_count=len(opening),
    )


@dataclass(frozen=True, slots=True)
class PlayedEvaluation:
    """The result of an evaluation."""

    record: EvaluationRecord
    """The finished episodes."""
    failure: Failure | None
    player_log: str
    """The output of the player."""
    playing_seconds: float
    """Wall time from the first question to the last result, without starting and ending the player."""


def run_evaluation(
    spec: EnvironmentSpec,
    launch: Callable[[], Container],
    *,
    name: str,
    seeds: Sequence[int],
    parallel_episodes: int,
    limits: Limits,
    clock: Callable[[], float],
    order: Sequence[int] | None = None,
    on_episode: Callable[[EpisodeRecord], None] | None = None,
    still_wanted: Callable[[], None] | None = None,
    trial_until: float | None = None,
) -> PlayedEvaluation:
    """Let one player play an episode for every seed, up to `parallel_episodes` at once.

    The player's first fault ends the evaluation, and `failure` says why. With a deterministic player, the record does
    not depend on `parallel_episodes`. Raises PlatformFault or SandboxError when the platform fails.

    launch: starts the player's container. order: the order in which to play the places (from 0) of the list of seeds;
    None for the order of the list. The player is told only the turn of an episode, and the record has only its place.
    on_episode: called with the record of every finished episode, in no particular order. still_wanted: called about
    once a second; may raise to stop the evaluation. trial_until: makes it a trial, which plays its first episode alone,
    and at this time by the clock succeeds with the episodes that are over, if there is one.
    """
    evaluation = Evaluation(
        spec,
        launch,
        seeds=seeds,
        order=range(len(seeds)) if order is None else order,
        parallel=parallel_episodes,
        limits=limits,
        clock=clock,
        on_episode=on_episode or (lambda _: None),
        still_wanted=still_wanted or (lambda: None),
        trial_until=trial_until,
    )
    with contextlib.closing(evaluation.link):
        evaluation.play()
    record = EvaluationRecord(spec.id, spec.runtime, name, tuple(evaluation.records))
    return PlayedEvaluation(record, evaluation.failure, evaluation.link.log, evaluation.playing_seconds)


def run_episode(spec: EnvironmentSpec, player: Player, seed: int, *, number: int = 1) -> EpisodeRecord:
    """Play one episode in this process, without isolation, for trusted code, tests and the baseline of benchmarks."""
    environment = spec.make()
    environment.reset(seed)
    array = spec.observation
    reward = score = 0.0
    actions: list[Any] = []
    while environment.to_move:
        values, valid_actions = environment.observe(0)
        state, valid = _state(values, array), np.array(valid_actions, dtype="int64")
        action = player.step(state, valid, reward) if actions else player.start(state, valid)
        chosen = int(action) if spec.action is None else np.asarray(action, spec.action.wire).tobytes()
        (reward,) = environment.step({0: chosen})
        actions.append(chosen)
        score += reward
    player.end(_state(environment.observe(0).observation, array), reward)
    return EpisodeRecord(number, seed, tuple(actions), score, environment.truncated)


def _state(values: Sequence[float] | bytes, array: ArraySpec) -> np.ndarray[Any, Any]:
    """Return an observation as the player sees it."""
    raw = np.frombuffer(values, array.wire) if isinstance(values, bytes) else np.array(values)
    return raw.astype(array.dtype).reshape(array.shape)


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
    decided: Decided | None = None,
    trial_until: float | None = None,
    opening: tuple[int, ...] | None = None,
    live: LiveView | None = None,
) -> PlayedDuel:
    """Play `match_count` matches between two players, up to `parallel_matches` at once.

    Matches 2k-1 and 2k share a seed, with seats swapped; player_1 has seat 0 in odd matches. With deterministic
    players, the record does not depend on `parallel_matches`. Raises PlatformFault or SandboxError when the platform
    fails; the whole duel is void then.

    launch: starts a container for player 0 or 1; called again when a player dies, at most `limits.max_restarts` times.
    one_core: whether both containers are pinned to the same core, and so take time from each other. on_progress: called
    with the number of finished matches; may raise to stop the duel. decided: ends the duel early, see `Decided`.
    trial_until: makes it a trial, which ends at the first fault, and at this time by the clock at the latest; see
    `arena_kit.referee.trial`. opening: the actions that every match begins with, all of them with the duel's own seed;
    None to draw each pair's opening from its seed. live: lets another thread look on.
    """
    kind = Duel if trial_until is None else partial(Trial, until=trial_until)
    duel = kind(
        spec,
        launch,
        seed=seed,
        match_count=match_count,
        parallel_matches=parallel_matches,
        limits=limits,
        one_core=one_core,
        clock=clock,
        on_progress=on_progress or (lambda _: None),
        decided=decided,
        opening=opening,
    )
    if live is not None:
        live.show(duel.matches)
    with contextlib.ExitStack() as stack:
        for link in duel.links:
            stack.callback(link.close)
        stack.enter_context(_without_collector())
        duel.play()
    records = duel.matches.played
    record = DuelRecord(spec.id, seed, names, records, _alike(spec, records), opening)
    return PlayedDuel(record, "\n".join(duel.notes.lines), (duel.links[0].log, duel.links[1].log), duel.playing_seconds)


def _alike(spec: EnvironmentSpec, records: Sequence[MatchRecord]) -> tuple[int, ...] | None:
    """Return which matches repeat others; None where they cannot be simulated again to compare them.

    The duel has been played to its end, so an environment that fails now does not make it void.
    """
    if not spec.deterministic:
        return None
    try:
        return first_alike(spec, records)
    except Exception:
        logger.warning("The distinct matches of a duel of %s could not be counted.", spec.id, exc_info=True)
        return None


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """Switch the collector of reference cycles off: a duel makes one cycle, and collecting took a quarter of its
    time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
