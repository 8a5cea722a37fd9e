"""How long the moves of a match took, as its page shows it: bars, the slowest moves, and a time beside every move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arena_kit.environment.replay_file.views import FrameView
from core.duels.replays import Names

WIDTH, HEIGHT = 640.0, 72.0
"""Size of the bars in units of their picture."""
LEAST_HEIGHT = 1.5
"""The height of a bar for a move that took less than a millisecond."""
GAP_SHARE = 0.2
"""The share of a step's width that is left free beside its bars."""
SLOWEST_SHOWN = 5


@dataclass(frozen=True, slots=True)
class MoveTime:
    """The time of a move. place, count: which of the moves of its step it is, from 0, and of how many."""

    ply: int
    player: int
    move_ms: int
    place: int
    count: int
    sentence: str

    @property
    def took(self) -> str:
        return in_words(self.move_ms)


@dataclass(frozen=True, slots=True)
class TimesView:
    """The times of a match's moves. bars: the paths of player 1 and player 2. step: the width of a step in the picture.

    slowest: the moves that took longest, the longest first. by_ply: by state, the times of the moves that led there in
    words; empty where none is known.
    """

    bars: tuple[str, str]
    step: float
    slowest: tuple[MoveTime, ...]
    by_ply: tuple[str, ...]


def times_view(states: Sequence[FrameView], names: Names, *, person: int | None = None) -> TimesView | None:
    """Return the times of a match's moves; None if none is known.

    person: the player (0 or 1) who is a person, whose time the referee does not measure; None without one.
    """
    times = [time for state in states for time in _times(state, names) if time.player != person]
    if not times:
        return None
    step = WIDTH / max(1, len(states) - 1)
    longest = max(time.move_ms for time in times)
    first, second = ("".join(_bar(time, step, longest) for time in times if time.player == player) for player in (0, 1))
    slowest = sorted((time for time in times if time.move_ms), key=lambda time: (-time.move_ms, time.ply))
    said: dict[int, list[str]] = {}
    for time in times if longest else ():
        said.setdefault(time.ply, []).append(in_words(time.move_ms))
    by_ply = tuple("; ".join(said.get(state.ply, ())) for state in states)
    return TimesView((first, second), round(step, 4), tuple(slowest[:SLOWEST_SHOWN]), by_ply)


def in_words(milliseconds: int) -> str:
    """Return a time with its unit: under 1 ms, 240 ms, or 2.35 s."""
    if milliseconds < 1:
        return "under 1 ms"
    return f"{milliseconds} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.2f} s"


def _times(state: FrameView, names: Names) -> list[MoveTime]:
    count = len(state.players)
    return [
        MoveTime(
            state.ply,
            player,
            took,
            place,
            count,
            f"{names[player]} played {state.move}" if count == 1 else names[player],
        )
        for place, (player, took) in enumerate(zip(state.players, state.move_ms, strict=True))
        if took is not None
    ]


def _bar(time: MoveTime, step: float, longest: int) -> str:
    width = step * (1 - GAP_SHARE) / time.count
    height = max(LEAST_HEIGHT, HEIGHT * time.move_ms / max(1, longest))
    x = (time.ply - 1) * step + step * GAP_SHARE / 2 + time.place * width
    return f"M{x:.2f} {HEIGHT:g}v{-height:.1f}h{width:.2f}v{height:.1f}z"
