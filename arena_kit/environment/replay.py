"""Derives everything that a viewer shows from a match record, by playing its actions again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from arena_kit.environment.protocol import ArenaEnvironmentError, BrokenEnvironment, Frame
from arena_kit.environment.records import Fault, MatchRecord
from arena_kit.environment.spec import EnvironmentSpec


class ReplayMismatch(ArenaEnvironmentError):
    """The record does not fit the rules: it is damaged, or belongs to another version of the environment."""


@dataclass(frozen=True, slots=True)
class ReplayStep:
    """One state of a match and what led to it."""

    frame: Frame
    text: str
    moves: tuple[tuple[int, int], ...]
    """(seat, action) for each move of the step that led here; `()` at the start."""
    scores: tuple[float, ...]
    """By seat: the sum of the rewards so far."""
    seats: tuple[int, ...]
    """As in the record: seats[seat] is the player that sits there."""
    is_opening: bool = False
    """Whether the step belongs to the opening, which the referee played."""
    to_move: tuple[int, ...] = ()
    """The seats that act next; `()` at the end."""

    @property
    def seat(self) -> int | None:
        """The seat that acted; None at the start. After a simultaneous step, the first of `moves`."""
        return self.moves[0][0] if self.moves else None

    @property
    def action(self) -> int | None:
        """The action of `seat`; None at the start."""
        return self.moves[0][1] if self.moves else None

    @property
    def player(self) -> int | None:
        """Index of the player in `seat`; None at the start."""
        return self.seats[self.moves[0][0]] if self.moves else None


def replay(spec: EnvironmentSpec, record: MatchRecord) -> Iterator[ReplayStep]:
    """Play a record again and yield its states.

    Raises ReplayMismatch, after the states that still fit, when an action is not valid, when actions follow the end,
    and when a match without a fault does not reach its end or gives other scores; BrokenEnvironment when the
    environment's own code fails.
    """
    name = f"Match {record.number}"
    if sorted(record.seats) != list(range(spec.seats)):
        raise ReplayMismatch(f"{name} does not seat {spec.seats} players.")
    environment = spec.make()
    environment.reset(record.seed)
    scores = [0.0] * spec.seats
    yield ReplayStep(
        environment.frame(), environment.text(), (), tuple(scores), record.seats, to_move=environment.to_move
    )
    position = 0
    while position < len(record.actions):
        seats = environment.to_move
        if not seats:
            raise ReplayMismatch(f"{name} has actions after its end.")
        moves = tuple(zip(seats, record.actions[position : position + len(seats)], strict=False))
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
        yield ReplayStep(
            frame=environment.frame(),
            text=environment.text(),
            moves=moves,
            scores=tuple(scores),
            seats=record.seats,
            is_opening=position <= record.opening_count,
            to_move=environment.to_move,
        )
    if record.fault is not Fault.NONE:
        return
    if environment.to_move:
        raise ReplayMismatch(f"{name} stops before its end without a fault.")
    if tuple(scores) != tuple(record.scores[player] for player in record.seats):
        raise ReplayMismatch(f"{name} ends with other scores than the rules of {spec.id} give.")
