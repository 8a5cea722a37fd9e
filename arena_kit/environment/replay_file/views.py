"""The states of a match as the viewer shows them: a picture, a text and a sentence each."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from arena_kit.environment.episodes import EpisodeRecord
from arena_kit.environment.protocol import Action, ArenaEnvironmentError
from arena_kit.environment.replay import ReplayStep
from arena_kit.environment.replay_file.facts import (
    Played,
    action_values,
    ending,
    opening_plies,
    scores_of,
    seats_of,
    states,
)
from arena_kit.environment.spec import EnvironmentSpec

ORDINALS = ("first", "second", "third", "fourth")


class NotDrawable(ArenaEnvironmentError):
    """The record does not fit its rules, or its states cannot be drawn."""


@dataclass(frozen=True, slots=True)
class FrameView:
    """One state of a match. ply: the number of steps before it. caption: the moves that led to it, as a sentence.

    seats: the seats of these moves. opening: whether the referee played them as the opening.
    """

    ply: int
    svg: str
    text: str
    caption: str
    seats: tuple[int, ...]
    opening: bool = False

    @property
    def picture(self) -> str:
        """The picture as a data URL, for pages without scripts; empty if there is no picture."""
        return f"data:image/svg+xml;base64,{base64.b64encode(self.svg.encode()).decode()}" if self.svg else ""


@dataclass(frozen=True, slots=True)
class SeatView:
    """A seat and its player. number: from 1. player: 1 or 2."""

    number: int
    player: int
    name: str
    score: float
    thinking_seconds: float
    slowest_move_seconds: float

    @property
    def ordinal(self) -> str:
        return ORDINALS[self.number - 1] if self.number <= len(ORDINALS) else f"{self.number}th"


def frame_views(spec: EnvironmentSpec, record: Played, names: tuple[str, ...]) -> list[FrameView]:
    """Return all states in order. Raises NotDrawable if the record does not fit the rules."""
    opening = opening_plies(record)
    views: list[FrameView] = []
    try:
        steps = list(states(spec, record))
        for ply, step in enumerate(steps):
            is_opening = 0 < ply <= opening
            caption = _moves(spec, record, names, ply, step, is_opening=is_opening) if ply else _start(steps, names)
            if ply == len(steps) - 1:
                caption = f"{caption}. {ending(record, names)}"
            seats = tuple(seat for seat, _ in step.moves)
            views.append(FrameView(ply, spec.render(step.frame), step.text, caption, seats, is_opening))
    except (ArenaEnvironmentError, LookupError, TypeError, ValueError):
        # A damaged record can hold anything, and each environment's rules fail on it with their own exceptions.
        what = "episode" if isinstance(record, EpisodeRecord) else "match"
        sentence = f"The record of {what} {record.number} does not fit its rules, so it cannot be drawn."
        raise NotDrawable(sentence) from None
    return views


def _start(steps: Sequence[ReplayStep], names: tuple[str, ...]) -> str:
    if len(names) == 1:
        return "Start"
    first = steps[1] if len(steps) > 1 else None
    if first is not None and len(first.moves) > 1:
        return "Start. All seats move at once"
    seat = first.moves[0][0] if first is not None else 0
    return f"Start. {names[steps[0].seats[seat]]} moves first"


def _moves(
    spec: EnvironmentSpec, record: Played, names: tuple[str, ...], ply: int, step: ReplayStep, *, is_opening: bool
) -> str:
    """Return the moves of a step as a sentence without a full stop."""
    if isinstance(record, EpisodeRecord):
        return f"Step {ply}: {_shown(spec, step.moves[0][1])}. Return {step.scores[0]:.5g}"
    played = "; ".join(f"{names[step.seats[seat]]} played {_shown(spec, action)}" for seat, action in step.moves)
    return f"Opening: {played}" if is_opening else played


def _shown(spec: EnvironmentSpec, action: Action) -> str:
    if isinstance(action, bytes):
        return ", ".join(f"{value:.4g}" for value in action_values(spec, action))
    return spec.action_names[action] if spec.seats == 1 and spec.action_names else str(action)


def seat_views(record: Played, names: tuple[str, ...]) -> list[SeatView]:
    """Return the seats in order of play."""
    thinking, slowest = (
        (value,) if isinstance(value, float) else value
        for value in (record.thinking_seconds, record.slowest_move_seconds)
    )
    scores = scores_of(record)
    return [
        SeatView(
            number=seat + 1,
            player=player + 1,
            name=names[player],
            score=scores[player],
            thinking_seconds=thinking[player],
            slowest_move_seconds=slowest[player],
        )
        for seat, player in enumerate(seats_of(record))
    ]
