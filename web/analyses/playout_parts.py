"""The values of a match's positions by playouts, as its page shows it: a bar, a graph, swings and a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arena_kit.environment.records import MatchRecord, Outcome
from core.duels.playouts import Playout, Playouts, falls, playouts_of
from core.duels.replays import Names
from core.models import Duel
from web.analyses.parts import HEIGHT, WIDTH

EDGE = 6.0
MOST_SWINGS = 3
SHARE_OF_OUTCOME = {Outcome.PLAYER_1: 1.0, Outcome.DRAW: 0.5, Outcome.PLAYER_2: 0.0}


@dataclass(frozen=True, slots=True)
class PlayoutRow:
    """A position. share, low, high: of player 1's points; None before they are known. sentence: what it means."""

    playout: Playout
    sentence: str
    share: float | None = None
    low: float = 0.0
    high: float = 0.0


@dataclass(frozen=True, slots=True)
class PlayoutMark:
    """A point of the graph with its interval. x, y, top, bottom: in units of its picture."""

    x: float
    y: float
    top: float
    bottom: float


@dataclass(frozen=True, slots=True)
class PlayoutsView:
    """The view of the page. swings: (ply, sentence) of the clear changes, the largest ones.

    line: the path through the points. told: by state of the match, share of the bar in percent and sentence.
    """

    playouts: Playouts
    rows: tuple[PlayoutRow, ...]
    marks: tuple[PlayoutMark, ...]
    line: str
    step: float
    swings: tuple[tuple[int, str], ...]
    told: tuple[tuple[int | None, str], ...]


def playouts_view(row: Duel, record: MatchRecord, names: Names, *, last: int) -> PlayoutsView | None:
    """Return the playouts of a match; None without any. last: the number of its last state."""
    playouts = playouts_of(row, record.number)
    if playouts is None:
        return None
    rows = tuple(_row(one, record, names, playouts.agents) for one in playouts.found)
    known = [one for one in rows if one.share is not None]
    step = WIDTH / max(1, last)
    marks = [_mark(one.playout.ply * step, one.share or 0.0, one.low, one.high) for one in known]
    final = SHARE_OF_OUTCOME.get(record.outcome)
    if final is not None and known:
        marks.append(_mark(last * step, final, final, final))
    line = "".join(f"{'L' if place else 'M'}{mark.x} {mark.y}" for place, mark in enumerate(marks))
    return PlayoutsView(
        playouts,
        rows,
        tuple(marks),
        line,
        round(step, 4),
        _swings(playouts.known, record, names),
        _told(known, record, last),
    )


def _row(one: Playout, record: MatchRecord, names: Names, agents: tuple[str, str]) -> PlayoutRow:
    if one.share is None:
        return PlayoutRow(one, "")
    found = one.share_of(record.seats.index(0))
    share, low, high = found.value, found.low, found.high
    sentence = f"With {agents[0]} and {agents[1]} the side of {names[0]} won {share:.0%} of the matches from here."
    return PlayoutRow(one, sentence, share, low, high)


def _mark(x: float, share: float, low: float, high: float) -> PlayoutMark:
    def height(value: float) -> float:
        return round(EDGE + (1 - value) * (HEIGHT - 2 * EDGE), 1)

    return PlayoutMark(round(x, 1), height(share), height(high), height(low))


def _swings(known: Sequence[Playout], record: MatchRecord, names: Names) -> tuple[tuple[int, str], ...]:
    """Return the clear changes between neighbours, the largest ones, in order."""
    found = []
    for seat in (0, 1):
        gains, loses = (names[record.seats[place]] for place in (1 - seat, seat))
        for before, after in falls(known, seat):
            had, has = before.share_of(1 - seat).value, after.share_of(1 - seat).value
            sentence = (
                f"Between the states {before.ply} and {after.ply} the side of {gains} went from {had:.0%} "
                f"to {has:.0%}, at the cost of {loses}."
            )
            found.append((has - had, after.ply, sentence))
    largest = sorted(found, reverse=True)[:MOST_SWINGS]
    return tuple((ply, sentence) for _, ply, sentence in sorted(largest, key=lambda one: one[1]))


def _told(known: Sequence[PlayoutRow], record: MatchRecord, last: int) -> tuple[tuple[int | None, str], ...]:
    """Return for each state the share and sentence of the last position before it that was played out."""
    if not known:
        return ()
    told: list[tuple[int | None, str]] = []
    for ply in range(last + 1):
        row = next((one for one in reversed(known) if one.playout.ply <= ply), None)
        if row is None or row.share is None:
            told.append((None, f"The first position that was played out is the one after move {known[0].playout.ply}."))
        else:
            where = "" if row.playout.ply == ply else f"After move {row.playout.ply}: "
            told.append((round(100 * row.share), where + row.sentence))
    final = SHARE_OF_OUTCOME.get(record.outcome)
    if final is not None:
        told[last] = (round(100 * final), "The match is over.")
    return tuple(told)
