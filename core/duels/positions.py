"""Positions of recorded matches, from which people and agents go on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from arena_kit.environment.protocol import ArenaEnvironmentError, Frame
from arena_kit.environment.replay import replay
from arena_kit.environment.spec import BARE
from core.courses.sight import is_released
from core.duels.selectors import NotStored, match_get, spec_get
from core.errors import Refused
from core.models import Duel, Environment, Sitting


@dataclass(frozen=True, slots=True)
class Position:
    """A state of a recorded match. seed, opening: the match up to there. ply: the number of steps before it.

    seats: the player on each seat of that match. to_move: the seats that act next; `()` at the end. is_opening: whether
    the arena's opening leads on from here.
    """

    played: Duel | Sitting
    match: int
    ply: int
    seed: int
    opening: tuple[int, ...]
    seats: tuple[int, ...]
    to_move: tuple[int, ...]
    frame: Frame
    text: str
    is_opening: bool = False

    @property
    def is_over(self) -> bool:
        return not self.to_move

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a row whose matches begin here, see `core.models.Branch`."""
        return {
            "seed": self.seed,
            "opening": list(self.opening),
            "origin" if isinstance(self.played, Duel) else "origin_sitting": self.played,
            "origin_match": self.match,
            "origin_ply": self.ply,
        }


def position_of(played: Duel | Sitting, number: int, ply: int) -> Position:
    """Return a state of a match by its number from 1. ply: a larger one gives the last state. Raises NotStored."""
    for position in _positions(played, number):
        if position.ply == ply:
            break
    return position


def positions_of(played: Duel | Sitting, number: int) -> list[Position]:
    """Return all states of a match from its start to its end. Raises NotStored."""
    return list(_positions(played, number))


def _positions(played: Duel | Sitting, number: int) -> Iterator[Position]:
    record, _ = match_get(played, number)
    actions: list[int] = []
    try:
        for ply, state in enumerate(replay(spec_get(played), record)):
            actions += [action for _, action in state.moves if isinstance(action, int)]
            yield Position(
                played,
                number,
                ply,
                record.seed,
                tuple(actions),
                record.seats,
                state.to_move,
                state.frame,
                state.text,
                is_opening=len(actions) < record.opening_count,
            )
    except (ArenaEnvironmentError, LookupError, TypeError, ValueError):
        sentence = f"The record of match {number} does not fit its rules, so it cannot be drawn."
        raise NotStored(sentence) from None


def position_check(position: Position, environment: Environment) -> None:
    """Raise Refused with a sentence unless a match by today's rules of an environment can go on from a position."""
    played = position.played
    if played.environment.pk != environment.pk:
        raise Refused("This agent lives in another environment than the match.")
    if played.environment_version.removesuffix(BARE) != environment.spec_id:
        raise Refused(
            f"This match was played by {played.environment_version}. Only matches by the rules of today, "
            f"{environment.spec_id}, can go on."
        )
    tournament = played.tournament if isinstance(played, Duel) else None
    if tournament is not None and not is_released(tournament):
        # A duel that goes on from a match reveals its moves to everyone.
        raise Refused("The results of this match are withheld. It can go on once everyone may see them.")
    if position.is_over:
        raise Refused("The match is over here. Go back some moves first.")
