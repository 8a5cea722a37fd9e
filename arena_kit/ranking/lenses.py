"""Who beats whom, and in which cycles: results that a single line of ratings cannot show. Pure.

A rating puts all agents on one line, but a game need not have one: scissors beat paper. Two players without randomness
repeat their matches; here repeated matches count in full, because the question is only about these two players.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arena_kit.ranking.scores import wilson

Floats = np.ndarray[Any, np.dtype[np.float64]]
Booleans = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True)
class Tally:
    """Rated matches of two submissions, seen from the first; a forfeit is a win for the opponent."""

    first: int
    second: int
    wins: int
    draws: int
    losses: int


@dataclass(frozen=True, slots=True)
class HeadToHead:
    """All submissions against each other.

    points: of the row against the column, a draw is half; shape (n, n). matches: played by the row and the column.
    """

    submissions: tuple[int, ...]
    points: Floats
    matches: Floats

    @property
    def shares(self) -> Floats:
        """Share of the matches that the row took from the column, 0 to 1; nan where the two have not met."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.points / self.matches)


def head_to_head(submissions: Sequence[int], tallies: Iterable[Tally]) -> HeadToHead:
    """The matrix of these submissions in this order.

    Tallies of other submissions are ignored; several of the same two are summed.
    """
    place = {submission: number for number, submission in enumerate(submissions)}
    points = np.zeros((len(place), len(place)))
    matches = np.zeros_like(points)
    for tally in tallies:
        if tally.first in place and tally.second in place:
            row, column = place[tally.first], place[tally.second]
            points[row, column] += tally.wins + tally.draws / 2
            points[column, row] += tally.losses + tally.draws / 2
            matches[[row, column], [column, row]] += tally.wins + tally.draws + tally.losses
    return HeadToHead(tuple(submissions), points, matches)


def who_beats_whom(table: HeadToHead, level: float = 0.95) -> Booleans:
    """Return whether the row beats the column: the whole interval of its share of matches lies above one half."""
    return np.asarray(wilson(table.points, table.matches, level)[0] > 0.5)


@dataclass(frozen=True, slots=True)
class Cycle:
    """Three submissions of which each beats the next, and the last beats the first.

    weakest: the smallest lower end of the three intervals, above 1/2.
    """

    submissions: tuple[int, int, int]
    weakest: float


def cycles(table: HeadToHead, level: float = 0.95, limit: int = 50) -> list[Cycle]:
    """Cycles of three in which every interval lies above one half, the clearest first.

    Each starts with its first submission in the order of the table. At 95%, one interval in forty errs upwards, so
    among many nearly equal agents a cycle may be luck: raise the level. 1 - 0.05 / pairs is safe for all of them at
    once (Bonferroni correction).
    """
    lower = wilson(table.points, table.matches, level)[0]
    beats = lower > 0.5
    found = []
    for one in range(len(beats)):
        for other in np.flatnonzero(beats[one, one + 1 :]) + one + 1:
            thirds = np.flatnonzero(beats[other, one + 1 :] & beats[one + 1 :, one]) + one + 1
            weakest = np.minimum(np.minimum(lower[other, thirds], lower[thirds, one]), lower[one, other])
            found += [(float(weak), (one, int(other), int(third))) for third, weak in zip(thirds, weakest, strict=True)]
    found.sort(key=lambda item: (-item[0], item[1]))
    names = table.submissions
    return [Cycle((names[a], names[b], names[c]), weak) for weak, (a, b, c) in found[:limit]]


@dataclass(frozen=True, slots=True)
class Beating:
    """One step of a cycle: `winner` takes `share` of the matches against `loser`, and at least `lower`."""

    winner: int
    loser: int
    share: float
    lower: float
    matches: int


def cycle_steps(table: HeadToHead, cycle: Cycle, level: float = 0.95) -> list[Beating]:
    """The three steps of a cycle, with the share of matches and the lower end of its interval."""
    place = {submission: number for number, submission in enumerate(table.submissions)}
    lower, shares = wilson(table.points, table.matches, level)[0], table.shares
    steps = []
    for winner, loser in zip(cycle.submissions, (*cycle.submissions[1:], cycle.submissions[0]), strict=True):
        cell = place[winner], place[loser]
        steps.append(Beating(winner, loser, float(shares[cell]), float(lower[cell]), int(table.matches[cell])))
    return steps
