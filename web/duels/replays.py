"""The states of a match as the viewer shows them: a picture, a text and a sentence each."""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace
from typing import Any

from arena_kit.environment.protocol import ArenaEnvironmentError, BrokenEnvironment
from arena_kit.environment.records import Fault, MatchRecord, Outcome
from arena_kit.environment.replay import ReplayStep, replay
from arena_kit.environment.spec import EnvironmentSpec
from core.duels.selectors import NotStored
from web.duels.classic_html import Head, head_of, html_of

ORDINALS = ("first", "second", "third", "fourth")


@dataclass(frozen=True, slots=True)
class FrameView:
    """One state of a match. seats: the seats whose moves led to it. caption: these moves as a sentence.

    html: what a classic environment draws, made harmless; shown instead of the picture where scripts run.
    is_opening: whether the arena made these moves, not the players.
    """

    svg: str
    text: str
    caption: str
    seats: tuple[int, ...]
    html: str = ""
    is_opening: bool = False

    @property
    def picture(self) -> str:
        """The picture as a data URL, for pages without scripts."""
        return "data:image/svg+xml;base64," + base64.b64encode(self.svg.encode()).decode()


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


def frame_views(spec: EnvironmentSpec, record: MatchRecord, names: tuple[str, str]) -> list[FrameView]:
    """Return all states of a match in order. Raises NotStored if the record does not fit the rules."""
    views: list[FrameView] = []
    try:
        for step in replay(spec, record):
            seats = tuple(seat for seat, _ in step.moves)
            html = "" if spec.classic is None else html_of(spec, step.frame)
            caption = _caption(spec, step, record, names)
            views.append(FrameView(spec.render(step.frame), step.text, caption, seats, html, step.is_opening))
    except BrokenEnvironment:
        raise NotStored("The code of this environment has failed, so the match cannot be drawn now.") from None
    except (ArenaEnvironmentError, LookupError, TypeError, ValueError):
        # A damaged record can hold anything, and each environment's rules fail on it with their own exceptions.
        raise NotStored(f"The record of match {record.number} does not fit its rules, so it cannot be drawn.") from None
    views[-1] = replace(views[-1], caption=f"{views[-1].caption}. {ending(record, names)}")
    return views


def style_head(spec: EnvironmentSpec) -> Head | None:
    """Return what styles the HTML of a classic environment; None for others, and where it cannot be asked."""
    if spec.classic is None:
        return None
    try:
        return head_of(spec)
    except ArenaEnvironmentError:
        return None


def _caption(spec: EnvironmentSpec, step: ReplayStep, record: MatchRecord, names: tuple[str, str]) -> str:
    """Return who played what in a step, or who begins."""
    named = spec.action_names or tuple(map(str, range(spec.action_count)))
    if step.is_opening:
        return "Opening: " + "; ".join(f"{named[action]} for {names[step.seats[seat]]}" for seat, action in step.moves)
    if step.moves:
        return "; ".join(f"{names[step.seats[seat]]} played {named[action]}" for seat, action in step.moves)
    if record.opening_count:
        return f"Start. {names[step.seats[0]]} has the first seat; the arena plays the opening"
    if len(step.to_move) > 1:
        return "Start. Both players move at once"
    return f"Start. {names[step.seats[0]]} moves first"


def ending(record: MatchRecord, names: tuple[str, str]) -> str:
    """Return how a match ended, as a sentence without a full stop."""
    if record.fault is Fault.PLAYER and record.faulty_player is not None:
        loser, winner = names[record.faulty_player], names[1 - record.faulty_player]
        return f"{loser} forfeits, {winner} wins"
    if record.outcome is Outcome.DRAW:
        return "Draw"
    return f"{names[0] if record.outcome is Outcome.PLAYER_1 else names[1]} wins"


def seat_views(record: MatchRecord, names: tuple[str, str]) -> list[SeatView]:
    """Return the seats in order of play."""
    return [
        SeatView(
            number=seat + 1,
            player=player + 1,
            name=names[player],
            score=record.scores[player],
            thinking_seconds=record.thinking_seconds[player],
            slowest_move_seconds=record.slowest_move_seconds[player],
        )
        for seat, player in enumerate(record.seats)
    ]


def match_parts(record: MatchRecord, names: tuple[str, str], *, with_trace: bool) -> dict[str, Any]:
    """Return what the page of a match shows besides its states. with_trace: whether the viewer may see a traceback."""
    sentence, _, trace = record.error.partition("\n")
    return {
        "match": record,
        "names": names,
        "title": f"{names[0]} against {names[1]}",
        "ending": ending(record, names),
        "seats": seat_views(record, names),
        "error": sentence,
        "trace": trace if with_trace else "",
    }
