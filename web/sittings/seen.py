"""The view of an open sitting for its person, for its page and its API: moves in words, and the view of their seat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arena_kit.environment.choices import Choice, choices_of
from arena_kit.environment.partial import SoFar
from arena_kit.environment.protocol import ArenaEnvironmentError
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.environment.svg import in_colours_of_players
from arena_kit.environment.words import move_in_words
from core.duels.selectors import NotStored, spec_get
from core.models import Sitting
from core.sittings.selectors import sitting_so_far

NOT_SHOWN = "This game has hidden information. It is shown when the match is over."


@dataclass(frozen=True, slots=True)
class MadeMove:
    """A move that was made. step: from 0. words: in the words of the game."""

    step: int
    seat: int
    action: int
    words: str


@dataclass(frozen=True, slots=True)
class Seen:
    """An open sitting for one reader.

    svg: empty where something is hidden. choices: what the person can play, for that person alone. moves: step by step;
    empty where something is hidden.
    """

    spec: EnvironmentSpec
    state: SoFar
    svg: str
    text: str
    choices: tuple[Choice, ...]
    moves: tuple[tuple[MadeMove, ...], ...]
    is_turn: bool
    is_hidden: bool


def seen_of(sitting: Sitting, *, is_seated: bool) -> Seen:
    """Return what a reader sees of an open sitting. is_seated: whether they play. Raises NotStored."""
    spec, state, seat = spec_get(sitting), sitting_so_far(sitting), sitting.persons_seat
    is_hidden = spec.isolation == "apart"
    is_turn = seat in state.waiting and sitting.resigned_at is None
    try:
        return Seen(
            spec=spec,
            state=state,
            svg="" if is_hidden else in_colours_of_players(spec.render(state.frame), sitting.seats),
            text=_hidden_text(spec, state, seat, is_seated=is_seated) if is_hidden else state.text,
            choices=choices_of(spec, state.frame, state.valid[seat]) if is_turn and is_seated else (),
            moves=() if is_hidden else _moves(spec, state),
            is_turn=is_turn,
            is_hidden=is_hidden,
        )
    except (ArenaEnvironmentError, LookupError, TypeError, ValueError):
        raise NotStored("The code of this environment has failed, so the match cannot be drawn now.") from None


def observed(spec: EnvironmentSpec, state: SoFar, seat: int) -> list[float]:
    """Return the values that a seat sees, row by row."""
    observation = state.observations[seat]
    if not isinstance(observation, bytes):
        return [float(value) for value in observation]
    found: list[float] = np.frombuffer(observation, np.dtype(spec.observation.wire).newbyteorder("<")).tolist()
    return found


def _moves(spec: EnvironmentSpec, state: SoFar) -> tuple[tuple[MadeMove, ...], ...]:
    befores = state.frames or ({},) * len(state.steps)
    return tuple(
        tuple(MadeMove(step, seat, action, move_in_words(spec, before, action)) for seat, action in moves)
        for step, (before, moves) in enumerate(zip(befores, state.steps, strict=True))
    )


def _hidden_text(spec: EnvironmentSpec, state: SoFar, seat: int, *, is_seated: bool) -> str:
    """Return what the person's seat sees where players may not know everything; other readers see nothing."""
    if not is_seated:
        return NOT_SHOWN
    values = observed(spec, state, seat)
    names = spec.observation_names
    if names:
        return "\n".join(f"{name}: {value:g}" for name, value in zip(names, values, strict=True))
    row = spec.observation.shape[-1]
    return "\n".join(" ".join(f"{value:g}" for value in values[at : at + row]) for at in range(0, len(values), row))
