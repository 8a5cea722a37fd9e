"""Plays a lot: the duels and evaluations of a few submissions whose containers stand in the referee's pod.

    LOT='{"version": 1, ...}' python -m arena_kit.referee.lot

prints the results in the lines of `sealed`, and writes their seal to SEAL. The pod has no network, so this is the way
of the results. It ends with 0 when every part has a result, and with PLATFORM_FAILED otherwise.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from arena_kit.cluster.pod_player import PodPlayer
from arena_kit.cluster.status import PLATFORM_FAILED
from arena_kit.environment.protocol import UnknownEnvironment
from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import Limits
from arena_kit.errors import PlatformFault
from arena_kit.ranking.sequential import SequentialTest, pairs_to_decide
from arena_kit.referee.part import LOT_FULL, PLAYER_LOST, Failed, PlayedPart
from arena_kit.referee.play import PlayedDuel, PlayedEvaluation, run_duel, run_evaluation
from arena_kit.referee.sealed import Writer
from arena_kit.sandbox.base import SandboxError

VERSION = 1
PROGRESS_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class LotPlayer:
    """A submission of the lot. channel: the folder that its container and the referee's share."""

    name: str
    channel: str
    limits: Limits


@dataclass(frozen=True, slots=True)
class DuelPart:
    """A duel of the lot. players: indexes of its two players. trial_seconds: see `Trial`, None for a whole duel.

    test: the values of the SequentialTest that may end it early; None without one. opening: as in `run_duel`.
    """

    id: str
    environment: str
    players: tuple[int, int]
    names: tuple[str, str]
    seed: int
    match_count: int
    parallel_matches: int
    limits: Limits
    trial_seconds: float | None = None
    test: dict[str, Any] | None = None
    opening: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class EvaluationPart:
    """An evaluation of the lot; the values are those of `run_evaluation`."""

    id: str
    environment: str
    player: int
    name: str
    seeds: tuple[int, ...]
    order: tuple[int, ...]
    parallel_episodes: int
    limits: Limits
    trial_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Lot:
    """The work of one pod. claim: token of the claim of its rows; the seal repeats it."""

    claim: str
    players: tuple[LotPlayer, ...]
    duels: tuple[DuelPart, ...] = ()
    evaluations: tuple[EvaluationPart, ...] = ()

    def to_json(self) -> str:
        """Return the text that `read` understands."""
        return json.dumps({"version": VERSION, **dataclasses.asdict(self)}, separators=(",", ":"))

    @classmethod
    def read(cls, text: str) -> Lot:
        """Return the lot of a text. Raises ValueError for any other text, TypeError and KeyError for other keys."""
        data = json.loads(text)
        if data.pop("version") != VERSION:
            raise ValueError("This lot is of another version of the arena.")
        return cls(
            claim=str(data["claim"]),
            players=tuple(LotPlayer(**_typed(player)) for player in data["players"]),
            duels=tuple(DuelPart(**_typed(duel)) for duel in data["duels"]),
            evaluations=tuple(EvaluationPart(**_typed(evaluation)) for evaluation in data["evaluations"]),
        )


def _typed(values: dict[str, Any]) -> dict[str, Any]:
    """Return a part's values with lists as tuples and limits as Limits."""
    typed = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    return {**typed, "limits": Limits(**values["limits"])}


def play_lot(lot: Lot, writer: Writer, *, clock: Callable[[], float] = time.monotonic) -> bool:
    """Play all parts one after another and write each as it ends; return whether every part has a result."""
    players = [PodPlayer(player.name, Path(player.channel), player.limits) for player in lot.players]
    with contextlib.ExitStack() as stack:
        for player in players:
            stack.callback(player.close)
        all_played = True
        parts: list[DuelPart | EvaluationPart] = [*lot.duels, *lot.evaluations]
        for part in parts:
            begun = clock()
            result: PlayedDuel | PlayedEvaluation | Failed = PLAYER_LOST
            if not any(players[number].is_lost for number in _numbers(part)):
                result = _played(part, players, _Progress(part.id, writer, clock), clock)
            all_played = all_played and not isinstance(result, Failed)
            lost = tuple(number for number in _numbers(part) if players[number].is_lost)
            try:
                writer.part(part.id, PlayedPart(result, lost, clock() - begun).to_bytes())
            except SandboxError as fault:
                all_played = False
                failed = Failed(fault.code, str(fault)) if writer.is_empty else LOT_FULL
                writer.part(part.id, PlayedPart(failed).to_bytes())
    return all_played


def _numbers(part: DuelPart | EvaluationPart) -> tuple[int, ...]:
    """Return the indexes of a part's players."""
    return part.players if isinstance(part, DuelPart) else (part.player,)


def _played(
    part: DuelPart | EvaluationPart, players: Sequence[PodPlayer], progress: _Progress, clock: Callable[[], float]
) -> PlayedDuel | PlayedEvaluation | Failed:
    try:
        if isinstance(part, DuelPart):
            return _play_duel(part, players, progress, clock)
        return _play_evaluation(part, players, progress, clock)
    except PlatformFault as fault:
        return Failed(fault.code, str(fault), fault.matches)
    except UnknownEnvironment:
        sentence = f"The referee's image does not know {part.environment}: it is of another version."
        return Failed("rules_missing", sentence)


class _Progress:
    """Writes how far a part is, at most once in PROGRESS_SECONDS."""

    def __init__(self, part: str, writer: Writer, clock: Callable[[], float]) -> None:
        self._part, self._writer, self._clock, self._next = part, writer, clock, 0.0
        self.done = 0

    def __call__(self, done: int) -> None:
        self.done = done
        if (now := self._clock()) >= self._next:
            self._next = now + PROGRESS_SECONDS
            self._writer.progress(self._part, done)


def _play_duel(
    part: DuelPart, players: Sequence[PodPlayer], progress: _Progress, clock: Callable[[], float]
) -> PlayedDuel:
    decided = None if part.test is None else partial(pairs_to_decide, SequentialTest(**part.test))
    return run_duel(
        get_spec(part.environment),
        lambda seat: players[part.players[seat]].launch(),
        names=part.names,
        seed=part.seed,
        match_count=part.match_count,
        parallel_matches=part.parallel_matches,
        limits=part.limits,
        clock=clock,
        on_progress=progress,
        decided=decided,
        trial_until=_until(part.trial_seconds, clock),
        opening=None if part.opening is None else tuple(part.opening),
    )


def _play_evaluation(
    part: EvaluationPart, players: Sequence[PodPlayer], progress: _Progress, clock: Callable[[], float]
) -> PlayedEvaluation:
    return run_evaluation(
        get_spec(part.environment),
        players[part.player].launch,
        name=part.name,
        seeds=part.seeds,
        order=part.order,
        parallel_episodes=part.parallel_episodes,
        limits=part.limits,
        clock=clock,
        on_episode=lambda _: progress(progress.done + 1),
        trial_until=_until(part.trial_seconds, clock),
    )


def _until(seconds: float | None, clock: Callable[[], float]) -> float | None:
    return None if seconds is None else clock() + seconds


def main() -> int:
    """Play the lot of the environment variable LOT."""
    lot = Lot.read(os.environ["LOT"])
    log = _own_output()
    writer = Writer(log, lot.claim)
    try:
        all_played = play_lot(lot, writer)
    except BaseException:
        # No driver reads the results of a referee that fails.
        traceback.print_exc(file=log)
        raise
    Path(os.environ.get("SEAL", "/out/seal")).write_text(writer.seal())
    return 0 if all_played else PLATFORM_FAILED


def _own_output() -> IO[str]:
    """Return the container's output for the results alone. What anything else prints is dropped from now on.

    A cluster's log holds output and errors in one, so a warning or a print of an environment would spoil results.
    """
    log = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(nothing, number)
    return log


if __name__ == "__main__":
    sys.exit(main())
