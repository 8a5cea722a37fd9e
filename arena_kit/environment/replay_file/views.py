"""The states of a match as the viewer shows them: a picture, a text and a sentence each."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

from arena_kit.environment.protocol import ArenaEnvironmentError
from arena_kit.environment.records import Fault, MatchRecord, Outcome
from arena_kit.environment.replay import replay
from arena_kit.environment.spec import EnvironmentSpec
from core.duels.selectors import NotStored

ORDINALS = ("first", "second", "third", "fourth")


@dataclass(frozen=True, slots=True)
class FrameView:
    """One state of a match. seats: the seats whose moves led to it. caption: these moves as a sentence."""

    svg: str
    text: str
    caption: str
    seats: tuple[int, ...]

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
            moves = "; ".join(f"{names[record.seats[seat]]} played {action}" for seat, action in step.moves)
            caption = moves or f"Start. {names[record.seats[0]]} moves first"
            views.append(FrameView(spec.render(step.frame), step.text, caption, tuple(seat for seat, _ in step.moves)))
    except (ArenaEnvironmentError, LookupError, TypeError, ValueError):
        # A damaged record can hold anything, and each environment's rules fail on it with their own exceptions.
        raise NotStored(f"The record of match {record.number} does not fit its rules, so it cannot be drawn.") from None
    last = views[-1]
    views[-1] = FrameView(last.svg, last.text, f"{last.caption}. {ending(record, names)}", last.seats)
    return views


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
