"""A drill: a player is asked for its move in positions, one after another, each as the first one of a match."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from arena_kit.analysis.blunders import Blunder
from arena_kit.environment.protocol import ArenaEnvironmentError
from arena_kit.environment.spec import EnvironmentSpec, Limits
from arena_kit.referee.sitting import PERSON, PLAYER, Sitting, SittingMove
from arena_kit.sandbox.base import Container


@dataclass(frozen=True, slots=True)
class Drilled:
    """The answer of a player. action: None if it failed, and then error_code and error say why.

    is_found: whether it keeps the value; None for a move that is not solved.
    """

    action: int | None
    is_found: bool | None
    error_code: str = ""
    error: str = ""


class _Moved(Exception):
    """The player has answered."""

    def __init__(self, action: int) -> None:
        super().__init__()
        self.action = action


@dataclass(slots=True)
class _Table:
    """The table of a sitting that ends with the first move of the player."""

    wanted: Callable[[], None]

    def player_moved(self, move: SittingMove) -> None:
        raise _Moved(move.action)

    def still_wanted(self, *, is_persons_turn: bool) -> None:
        self.wanted()


def move_at(
    spec: EnvironmentSpec,
    launch: Callable[[], Container],
    blunder: Blunder,
    *,
    limits: Limits,
    clock: Callable[[], float],
    still_wanted: Callable[[], None] = lambda: None,
) -> Drilled:
    """Ask a player for its move in a position, which reaches it as `start`; a forfeit is a move not found.

    launch: starts the player's container. still_wanted: called several times a second; may raise to stop. Raises
    ArenaEnvironmentError for a position that does not fit the rules, PlatformFault and SandboxError.
    """
    seats = (PLAYER, PERSON) if blunder.seat == 0 else (PERSON, PLAYER)
    board = Sitting(spec, launch, seed=blunder.seed, seats=seats, opening=blunder.actions, limits=limits, clock=clock)
    try:
        played = board.go_on((), _Table(still_wanted))
    except _Moved as moved:
        return Drilled(moved.action, blunder.is_found(moved.action))
    finally:
        board.close()
    if played is None:
        raise ArenaEnvironmentError(f"In this position of {spec.id} it is not the turn of seat {blunder.seat + 1}.")
    return Drilled(None, False, played.record.error_code, played.record.error)
