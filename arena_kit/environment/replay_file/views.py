"""The states of a match as the viewer shows them: a picture, a text and a sentence each."""

from __future__ import annotations

import base64
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple

from arena_kit.environment.episodes import EpisodeRecord
from arena_kit.environment.move_times import MoveTimes
from arena_kit.environment.protocol import ArenaEnvironmentError, BrokenEnvironment, Frame
from arena_kit.environment.records import MatchRecord, Outcome
from arena_kit.environment.replay import ReplayStep
from arena_kit.environment.replay_file.facts import (
    YOU,
    Played,
    does,
    ending,
    in_one_sentence,
    scores_of,
    seats_of,
    states,
)
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.environment.svg import in_colours_of_players
from arena_kit.environment.words import move_in_words

ORDINALS = ("first", "second", "third", "fourth")


class NotDrawable(ArenaEnvironmentError):
    """The record does not fit its rules, or its states cannot be drawn."""


def picture_of(svg: str) -> str:
    """Return a picture as a data URL; empty without one."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}" if svg else ""


@dataclass(frozen=True, slots=True)
class FrameView:
    """One state of a match. ply: the number of steps before it. caption: the moves that led to it, as a sentence.

    seats: the seats of these moves. is_opening: whether the arena made these moves, not the players. html: what a
    classic environment draws; shown instead of the picture where a page can do so. move: the moves alone, without who
    made them; empty at the start. players: who made them (0 or 1). move_ms: the milliseconds of each of
    them; None where they are not known.
    """

    ply: int
    svg: str
    text: str
    caption: str
    seats: tuple[int, ...]
    is_opening: bool = False
    html: str = ""
    move: str = ""
    players: tuple[int, ...] = ()
    move_ms: tuple[int | None, ...] = ()

    @property
    def picture(self) -> str:
        """The picture as a data URL, for pages without scripts; empty if there is no picture."""
        return picture_of(self.svg)


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


def frame_views(
    spec: EnvironmentSpec, record: Played, names: tuple[str, ...], *, html_of: Callable[[Frame], str] | None = None
) -> list[FrameView]:
    """Return all states in order. Raises NotDrawable if the record does not fit the rules.

    html_of: returns the harmless HTML of a frame.
    """
    views = [_view(spec, record, names, at, html_of) for at in _played(spec, record)]
    views[-1] = _ended(views[-1], record, names)
    return views


def last_view(spec: EnvironmentSpec, record: MatchRecord, names: tuple[str, ...]) -> FrameView:
    """Return the last state of a match, which need not be over: then its fault is that of the platform.

    Raises NotDrawable as `frame_views` does.
    """
    view = _view(spec, record, names, deque(_played(spec, record), maxlen=1)[0], None)
    return view if record.outcome is Outcome.NONE else _ended(view, record, names)


class _At(NamedTuple):
    """A state, the frame before it, how many steps came before, and the milliseconds of the moves that led to it."""

    ply: int
    before: Frame
    step: ReplayStep
    move_ms: tuple[int | None, ...]


def _played(spec: EnvironmentSpec, record: Played) -> Iterator[_At]:
    """Play a match again and yield its states. Raises NotDrawable."""
    before: Frame = {}
    times = None if isinstance(record, EpisodeRecord) else MoveTimes(record)
    with _drawn(record):
        for ply, step in enumerate(states(spec, record)):
            yield _At(ply, before, step, (None,) * len(step.moves) if times is None else times.of(step))
            before = step.frame


def _view(
    spec: EnvironmentSpec,
    record: Played,
    names: tuple[str, ...],
    at: _At,
    html_of: Callable[[Frame], str] | None,
) -> FrameView:
    """Return a state as pages show it. Raises NotDrawable."""
    ply, before, step, move_ms = at
    with _drawn(record):
        moves = [(seat, move_in_words(spec, before, action)) for seat, action in step.moves]
        return FrameView(
            ply=ply,
            svg=in_colours_of_players(spec.render(step.frame), step.seats),
            text=step.text,
            caption=_caption(record, names, step, ply, moves) if ply else _start(record, step, names),
            seats=tuple(seat for seat, _ in step.moves),
            is_opening=step.is_opening,
            html="" if html_of is None else html_of(step.frame),
            move="; ".join(words for _, words in moves),
            players=tuple(step.seats[seat] for seat, _ in step.moves),
            move_ms=move_ms,
        )


@contextmanager
def _drawn(record: Played) -> Iterator[None]:
    """Turn what the rules and the drawing of an environment raise into NotDrawable."""
    try:
        yield
    except BrokenEnvironment:
        raise NotDrawable("The code of this environment has failed, so the match cannot be drawn now.") from None
    except NotDrawable:
        raise
    except (ArenaEnvironmentError, LookupError, TypeError, ValueError):
        # A damaged record can hold anything, and each environment's rules fail on it with their own exceptions.
        what = "episode" if isinstance(record, EpisodeRecord) else "match"
        sentence = f"The record of {what} {record.number} does not fit its rules, so it cannot be drawn."
        raise NotDrawable(sentence) from None


def _ended(view: FrameView, record: Played, names: tuple[str, ...]) -> FrameView:
    return replace(view, caption=f"{view.caption}. {ending(record, names)}")


def _start(record: Played, step: ReplayStep, names: tuple[str, ...]) -> str:
    if isinstance(record, EpisodeRecord):
        return "Start"
    if record.opening_count:
        return f"Start. {does(names[step.seats[0]], 'have')} the first seat; the arena plays the opening"
    if len(step.to_move) > 1:
        return "Start. Both players move at once"
    return f"Start. {does(names[step.seats[0]], 'move')} first"


def _caption(record: Played, names: tuple[str, ...], step: ReplayStep, ply: int, moves: list[tuple[int, str]]) -> str:
    """Return the moves of a step as a sentence without a full stop. moves: seats and their moves in words."""
    if isinstance(record, EpisodeRecord):
        return f"Step {ply}: {moves[0][1]}. Return {step.scores[0]:.5g}"
    if step.is_opening:
        told = [(names[step.seats[seat]], words) for seat, words in moves]
        return "; ".join(f"Opening for {'you' if name == YOU else name}: {words}" for name, words in told)
    return in_one_sentence(f"{names[step.seats[seat]]} played {words}" for seat, words in moves)


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
