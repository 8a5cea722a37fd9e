"""Derive everything a viewer shows from a match record: play its actions again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from environments.api import ArenaEnvironmentError, Frame
from environments.records import MatchRecord
from environments.spec import EnvironmentSpec


class ReplayMismatch(ArenaEnvironmentError):
    """The record does not fit the rules: it is damaged, or of another version."""


@dataclass(frozen=True, slots=True)
class ReplayStep:
    """One state of a match and what led to it."""

    frame: Frame
    text: str
    moves: tuple[tuple[int, int], ...]
    """(seat, action) of the step that led here; `()` at the start."""
    scores: tuple[float, ...]
    """By seat, so far."""


def replay(spec: EnvironmentSpec, match: MatchRecord) -> Iterator[ReplayStep]:
    """Play a record again, state by state. Raises ReplayMismatch."""
    environment = spec.make()
    environment.reset(match.seed)
    scores = [0.0] * spec.seats
    yield ReplayStep(environment.frame(), environment.text(), (), tuple(scores))
    position = 0
    while position < len(match.actions):
        seats = environment.to_move
        if not seats:
            raise ReplayMismatch(f"Match {match.number} has actions after its end.")
        actions = dict(zip(seats, match.actions[position : position + len(seats)], strict=False))
        position += len(seats)
        if len(actions) < len(seats):
            raise ReplayMismatch(f"Match {match.number} ends within a step.")
        try:
            rewards = environment.step(actions)
        except ArenaEnvironmentError as error:
            raise ReplayMismatch(f"Match {match.number}: {error}") from None
        scores = [score + reward for score, reward in zip(scores, rewards, strict=True)]
        yield ReplayStep(environment.frame(), environment.text(), tuple(actions.items()), tuple(scores))
