"""The last matches of an agent: its latest duels by tournament, each with its result in squares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from core.models import Tournament
from core.submissions.last_duels import LastDuel

SQUARES = 20
"""A duel of more matches has this many squares, each for several of them."""


@dataclass(frozen=True, slots=True)
class LastLine:
    """A duel. squares: "won", "drawn" or "lost" each, in this order. lost_key: the result to filter its matches by."""

    row: LastDuel
    squares: tuple[str, ...]
    lost_key: str


@dataclass(frozen=True, slots=True)
class LastGroup:
    """Duels of one tournament that follow each other; without a tournament, of challenges.

    rating: of the agent at the end of it, and the change since its edition before.
    """

    tournament: Tournament | None
    rating: tuple[float, float | None] | None
    lines: list[LastLine]


def last_groups(duels: Sequence[LastDuel], ratings: Mapping[int, tuple[float, float | None]]) -> list[LastGroup]:
    """Return duels by tournament, in their order."""
    groups = [(key, list(rows)) for key, rows in groupby(duels, key=lambda row: row.duel.tournament_id)]
    return [
        LastGroup(rows[0].duel.tournament, ratings.get(key or 0), [_line(row) for row in rows]) for key, rows in groups
    ]


def squares(won: int, drawn: int, lost: int) -> tuple[str, ...]:
    """Return the squares of a result: one for each match, or SQUARES in proportion; none of a kind is left out."""
    counts = {"won": won, "drawn": drawn, "lost": lost}
    total = won + drawn + lost
    if total > SQUARES:
        most = max(counts, key=counts.__getitem__)
        counts = {name: max(1, count * SQUARES // total) if count else 0 for name, count in counts.items()}
        # The rest of the roundings changes the longest row least.
        counts[most] += SQUARES - sum(counts.values())
    return tuple(name for name, count in counts.items() for _ in range(count))


def _line(row: LastDuel) -> LastLine:
    if not row.outcome:
        return LastLine(row, (), "")
    key = row.other if getattr(row.duel, f"{row.other}_wins") else f"{row.own}_error"
    return LastLine(row, squares(row.won, row.duel.draws, row.lost), key if row.lost else "")
