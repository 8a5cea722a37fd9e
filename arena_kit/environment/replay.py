"""Derives everything that a viewer shows from a match record, by playing its actions again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from arena_kit.environment.episodes import EpisodeRecord
from arena_kit.environment.protocol import (
    Action,
    ArenaEnvironmentError,
    BrokenEnvironment,
    Environment,
    Frame,
    Observation,
)
from arena_kit.environment.records import Fault, MatchRecord
from arena_kit.environment.spec import EnvironmentSpec


class ReplayMismatch(ArenaEnvironmentError):
    """The record does not fit the rules: it is damaged, or belongs to another version of the environment."""


@dataclass(frozen=True, slots=True)
class ReplayStep:
    """One state of a match and what led to it."""

    frame: Frame
    text: str
    moves: tuple[tuple[int, Action], ...]
    """(seat, action) for each move of the step that led here; `()` at the start."""
    rewards: tuple[float, ...]
    """By seat: what the step that led here gave; `()` at the start."""
    scores: tuple[float, ...]
    """By seat: the sum of the rewards so far."""
    seats: tuple[int, ...]
    """The seats of the record: seats[seat] is the player that sits there."""
    over: bool
    """Whether the rules or a limit have ended the match here; a forfeit does not count."""
    truncated: bool
    """Whether a limit ended it, not the rules."""
    observations: tuple[Observation, ...] = ()
    """By seat: what each seat sees here; empty unless `replay` was asked for it."""
    is_opening: bool = False
    """Whether the step belongs to the opening, which the referee played."""
    to_move: tuple[int, ...] = ()
    """The seats that act next; `()` at the end."""

    @property
    def seat(self) -> int | None:
        """The seat that acted; None at the start. After a simultaneous step, the first of `moves`."""
        return self.moves[0][0] if self.moves else None

    @property
    def action(self) -> Action | None:
        """The action that `seat` played; None at the start."""
        return self.moves[0][1] if self.moves else None

    @property
    def player(self) -> int | None:
        """Index of the player in `seat`; None at the start."""
        return self.seats[self.moves[0][0]] if self.moves else None


def replay(spec: EnvironmentSpec, record: MatchRecord, *, observe: bool = False) -> Iterator[ReplayStep]:
    """Play a record again and yield its states, with what every seat sees if `observe` is set.

    Raises ReplayMismatch, after the states that still fit, when an action is not valid, when actions follow the end,
    and when a match without a fault does not reach its end or gives other scores; BrokenEnvironment when the
    environment's own code fails.
    """
    name = f"Match {record.number}"
    if sorted(record.seats) != list(range(spec.seats)):
        raise ReplayMismatch(f"{name} does not seat {spec.seats} players.")
    environment = spec.make()
    scores: tuple[float, ...] = ()
    opening_count = record.opening_count
    for step in _steps(
        spec, environment, record.seed, record.actions, record.seats, name, opening_count=opening_count, observe=observe
    ):
        scores = step.scores
        yield step
    if record.fault is not Fault.NONE:
        return
    if environment.to_move:
        raise ReplayMismatch(f"{name} stops before its end without a fault.")
    if scores != tuple(record.scores[player] for player in record.seats):
        raise ReplayMismatch(f"{name} ends with other scores than the rules of {spec.id} give.")


def replay_episode(spec: EnvironmentSpec, record: EpisodeRecord, *, observe: bool = False) -> Iterator[ReplayStep]:
    """Play an episode again and yield its states. Raises ReplayMismatch as `replay` does.

    The score is not compared: of a task of Gymnasium its last bit can depend on the packages and the processor, which
    `arena recheck` tells apart.
    """
    name = f"Episode {record.number}"
    if spec.seats != 1:
        raise ReplayMismatch(f"{name} has one seat, and {spec.id} has {spec.seats}.")
    environment = spec.make()
    yield from _steps(spec, environment, record.seed, record.actions, (0,), name, observe=observe)
    if environment.to_move:
        raise ReplayMismatch(f"{name} stops before its end.")


def step_counts(spec: EnvironmentSpec, seed: int, action_counts: Iterable[int]) -> Iterator[int]:
    """Yield the steps of matches by the number of their actions, openings included. Raises ArenaEnvironmentError.

    No match is played again: the seats that begin are taken to act in every step, one in turns or all at once.
    """
    environment = spec.make()
    environment.reset(seed)
    seats = max(1, len(environment.to_move))
    return (-(-count // seats) for count in action_counts)


def _steps(
    spec: EnvironmentSpec,
    environment: Environment,
    seed: int,
    actions: Sequence[Action],
    players: tuple[int, ...],
    name: str,
    *,
    opening_count: int = 0,
    observe: bool,
) -> Iterator[ReplayStep]:
    def state(
        moves: tuple[tuple[int, Action], ...], rewards: tuple[float, ...], *, is_opening: bool = False
    ) -> ReplayStep:
        return ReplayStep(
            frame=environment.frame(),
            text=environment.text(),
            moves=moves,
            rewards=rewards,
            scores=tuple(scores),
            seats=players,
            over=not environment.to_move,
            truncated=environment.truncated,
            observations=tuple(environment.observe(seat) for seat in range(spec.seats)) if observe else (),
            is_opening=is_opening,
            to_move=environment.to_move,
        )

    environment.reset(seed)
    scores = [0.0] * spec.seats
    yield state((), ())
    position = 0
    while position < len(actions):
        seats = environment.to_move
        if not seats:
            raise ReplayMismatch(f"{name} has actions after its end.")
        moves = tuple(zip(seats, actions[position : position + len(seats)], strict=False))
        position += len(seats)
        if len(moves) < len(seats):
            raise ReplayMismatch(f"{name} ends within a step.")
        try:
            rewards = environment.step(dict(moves))
        except BrokenEnvironment:
            raise
        except ArenaEnvironmentError as error:
            raise ReplayMismatch(f"{name} does not fit the rules of {spec.id}: {error}") from None
        scores = [score + reward for score, reward in zip(scores, rewards, strict=True)]
        yield state(moves, tuple(rewards), is_opening=position <= opening_count)
