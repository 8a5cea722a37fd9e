"""Ranks the agents of a ladder by the arena's own rating; needs the extra `ranking`."""

from __future__ import annotations

from collections.abc import Sequence

from arena_kit.cli.ladder_report import ReportRow
from arena_kit.environment.records import DuelRecord, Outcome
from arena_kit.ranking.rating import Seating, fit_ratings, ranking


def ranked(names: Sequence[str], records: Sequence[DuelRecord]) -> list[ReportRow]:
    """Return the rows of the table, best first. names: unique, as in the records."""
    place = {name: number for number, name in enumerate(names)}
    seatings = [seating for number, record in enumerate(records) for seating in _seatings(number, record, place)]
    points = dict.fromkeys(names, 0.0)
    forfeits = dict.fromkeys(names, 0)
    matches = dict.fromkeys(names, 0)
    for record in records:
        summary = record.summary
        for player, name in enumerate(record.players):
            points[name] += summary.points[player] / 2
            forfeits[name] += summary.errors[player]
            matches[name] += summary.match_count
    fitted = fit_ratings(seatings, submissions=range(len(names)))
    return [
        ReportRow(
            rank=row.rank,
            best_rank=row.best_rank,
            worst_rank=row.worst_rank,
            name=names[row.submission],
            rating=row.rating.value,
            low=row.rating.low,
            high=row.rating.high,
            points=points[names[row.submission]],
            matches=matches[names[row.submission]],
            forfeits=forfeits[names[row.submission]],
        )
        for row in ranking(fitted)
    ]


def _seatings(number: int, record: DuelRecord, place: dict[str, int]) -> list[Seating]:
    """Return the matches of a duel by who had the first seat, as the rating reads them."""
    found = []
    for first in (0, 1):
        wins = draws = losses = 0
        for match in record.matches:
            if match.seats[0] != first:
                continue
            won = Outcome.PLAYER_1 if first == 0 else Outcome.PLAYER_2
            wins += match.outcome is won
            draws += match.outcome is Outcome.DRAW
            losses += match.outcome not in (won, Outcome.DRAW)
        keys = (place[record.players[first]], place[record.players[1 - first]])
        found.append((number, *keys, wins, draws, losses))
    return found
