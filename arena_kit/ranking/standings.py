"""From the ledger to a table. Pure functions."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Entry:
    """A ledger row: what one submission did from one seat in one duel."""

    duel: int
    submission: int
    opponent: int
    wins: int
    draws: int
    opponent_errors: int
    score: float


@dataclass(frozen=True, slots=True)
class DuelResult:
    """A duel by its first-named submission: points 2 for a match won or forfeited by the opponent, 1 for a draw."""

    duel: int
    submissions: tuple[int, int]
    points: tuple[int, int]
    scores: tuple[float, float]

    @property
    def winner(self) -> int | None:
        """The submission with more points, then with more score; None for a draw."""
        first, second = ((points, _comparable(score)) for points, score in zip(self.points, self.scores, strict=True))
        if first == second:
            return None
        return self.submissions[0] if first > second else self.submissions[1]


@dataclass(frozen=True, slots=True)
class Standing:
    """One row of the table. score: of one that played alone, with both ends of its 95% interval."""

    submission: int
    rank: int
    points: int
    wins: int
    draws: int
    losses: int
    total_score: float
    score: float | None = None
    score_low: float | None = None
    score_high: float | None = None


def duel_results(entries: Iterable[Entry]) -> list[DuelResult]:
    """The results of duels, in the order of their first entries; the seats of a submission are summed."""
    by_duel: dict[int, dict[int, list[Entry]]] = defaultdict(lambda: defaultdict(list))
    for entry in entries:
        by_duel[entry.duel][entry.submission].append(entry)
    results = []
    for duel, sides in by_duel.items():
        first, second = sorted(sides)
        points = [
            sum(2 * (row.wins + row.opponent_errors) + row.draws for row in sides[side]) for side in (first, second)
        ]
        scores = [sum(row.score for row in sides[side]) for side in (first, second)]
        results.append(DuelResult(duel, (first, second), (points[0], points[1]), (scores[0], scores[1])))
    return results


def standings(
    participants: Iterable[int],
    results: Iterable[DuelResult],
    withdrawn: Collection[int] = (),
    before: Mapping[int, Standing] | None = None,
) -> list[Standing]:
    """The table: points (2 a duel won, 1 a draw), then wins, then total score; ties share ranks: 1, 1, 3.

    withdrawn: participants who share the rank below all others; the results must not contain duels of theirs. before:
    the table after earlier results. Adding results in several calls gives exactly the same figures as adding all of
    them in one, in the same order.
    """
    known = before or {}
    table = {
        submission: [row.wins, row.draws, row.losses, row.total_score]
        if (row := known.get(submission)) is not None
        else [0, 0, 0, 0.0]
        for submission in participants
        if submission not in withdrawn
    }
    for result in results:
        winner = result.winner
        for side, submission in enumerate(result.submissions):
            if submission in table:
                column = 1 if winner is None else 0 if winner == submission else 2
                table[submission][column] += 1
                table[submission][3] += result.scores[side]
    keys = {
        submission: (2 * wins + draws, wins, _comparable(score))
        for submission, (wins, draws, losses, score) in table.items()
    }
    ordered = sorted(table, key=lambda submission: (keys[submission], -submission), reverse=True)
    rows: list[Standing] = []
    for place, submission in enumerate(ordered, start=1):
        tied = rows and keys[rows[-1].submission] == keys[submission]
        wins, draws, losses, score = table[submission]
        rows.append(
            Standing(
                submission=submission,
                rank=rows[-1].rank if tied else place,
                points=int(2 * wins + draws),
                wins=int(wins),
                draws=int(draws),
                losses=int(losses),
                total_score=score,
            )
        )
    last = len(rows) + 1
    return [*rows, *(Standing(submission, last, 0, 0, 0, 0, 0.0) for submission in sorted(withdrawn))]


def by_rating(table: Iterable[Standing], ratings: Mapping[int, float], gone: Collection[int] = ()) -> list[Standing]:
    """The table of a ladder, ranked by rating; ties share: 1, 1, 3. Unrated submissions come next, `gone` ones last."""

    def key(standing: Standing) -> tuple[bool, float]:
        is_here = standing.submission not in gone
        return is_here, ratings.get(standing.submission, -math.inf) if is_here else -math.inf

    rows: list[Standing] = []
    for place, row in enumerate(sorted(table, key=key, reverse=True), start=1):
        tied = rows and key(rows[-1]) == key(row)
        rows.append(replace(row, rank=rows[-1].rank if tied else place))
    return rows


def _comparable(score: float) -> float:
    """A sum of scores, rounded so that it does not depend on the order of addition."""
    return round(score, 9)
