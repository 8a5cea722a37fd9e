"""From keys to ranks, for the tables of all formats."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from arena_kit.ranking.formats.contract import Meeting, Row, Table
from arena_kit.ranking.meetings import Decision

SAID = (Decision.BETTER_SEED, Decision.UNPLAYABLE, Decision.WALKOVER)
"""Decisions that a table mentions beside who profited from them."""
WITHDRAWN = "Withdrew."


def rank_rows(
    participants: Sequence[int],
    keys: Mapping[int, tuple[float, ...]],
    values: Mapping[int, tuple[float, ...]],
    *,
    gone: Container[int],
    notes: Mapping[int, Sequence[str]],
) -> tuple[Row, ...]:
    """Rows by falling keys; ties share ranks and stand in the order of `participants`.

    gone: those who share the rank below all others, whatever their key: the same rule in every format.
    """
    there = sorted((who for who in participants if who not in gone), key=lambda who: keys[who], reverse=True)
    rows: list[Row] = []
    for place, who in enumerate(there, start=1):
        tied = rows and keys[rows[-1].participant] == keys[who]
        rows.append(Row(who, rows[-1].rank if tied else place, values[who], tuple(notes.get(who, ()))))
    last = len(rows) + 1
    left = (who for who in participants if who in gone)
    return (*rows, *(Row(who, last, values[who], (*notes.get(who, ()), WITHDRAWN)) for who in left))


def said(meetings: Iterable[Meeting]) -> dict[int, list[str]]:
    """Per participant, sentences on meetings that were decided otherwise than by playing."""
    notes: dict[int, list[str]] = {}
    for meeting in meetings:
        if meeting.decision in SAID:
            to = meeting.players if meeting.winner is None else (meeting.winner,)
            for who in to:
                if who is not None:
                    notes.setdefault(who, []).append(f"Round {meeting.round}: {meeting.decision.value}")
    return notes


def ranks(table: Table) -> dict[int, int]:
    return {row.participant: row.rank for row in table.rows}
