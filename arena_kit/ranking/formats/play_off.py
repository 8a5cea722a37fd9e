"""Extra duels for the last places of a group that qualify, where its table leaves participants equal."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from arena_kit.ranking.formats.meetings import Records, settle_all_play_all
from arena_kit.ranking.formats.plan import Decision, History, Meeting, Row, Stage, StageKind
from arena_kit.ranking.formats.round_robin import all_play_all_table

KEY = "cut"
"""The keys of these stages and of their meetings begin with it."""
WON = "Equal at the cut, then qualified by extra duels."


@dataclass(frozen=True, slots=True)
class Cut:
    """A group whose qualifiers are decided as far as can be.

    group: its stage, with the table in the final order. played: the stage of the extra duels; None without any.
    """

    group: Stage
    played: Stage | None = None

    @property
    def is_open(self) -> bool:
        return self.played is not None and any(meeting.is_open for meeting in self.played.meetings)


def cut(group: Stage, advance: int, records: Records, history: History, *, begins: int, most: int, early: bool) -> Cut:
    """Decide which `advance` members of a finished group go on, where the last of them share a rank with others.

    In each round of extra duels all that share the rank meet once; the next one is among those who are still equal at
    the cut. After `most` rounds the better seeds go on. A participant who leaves during a round comes last in it, as in
    the group. begins: the first of these rounds in the tournament. early: whether duels may end early.
    """
    assert group.table is not None
    order = list(group.table.rows)
    start, equal = _equals(order, advance, {who for who, after in history.left.items() if after < begins})
    first, tied = start, equal
    rounds: list[tuple[Meeting, ...]] = []
    while equal and len(rounds) < most:
        gone = {who for who, after in history.left.items() if after <= begins + len(rounds)}
        rounds.append(_round(group.key, begins + len(rounds), equal, records, gone, history))
        if any(meeting.is_open for meeting in rounds[-1]):
            return Cut(group, _stage(group, tied, rounds, gone, early))
        rows = all_play_all_table(equal, rounds[-1:], gone, early).rows
        known = {row.participant: row for row in order}
        order[start : start + len(rows)] = [known[row.participant] for row in rows]
        above, equal = _equals(rows, advance - start, gone)
        start += above
    for place in range(first, first + len(tied)):
        row = order[place]
        if place >= advance:
            order[place] = replace(row, rank=advance + 1)
        else:
            note = Decision.BETTER_SEED.value if row.participant in equal else WON
            order[place] = replace(row, notes=(*row.notes, note))
    decided = replace(group, table=replace(group.table, rows=tuple(order)))
    return Cut(decided, _stage(decided, tied, rounds, gone, early) if rounds else None)


def _equals(rows: Sequence[Row], places: int, gone: Container[int]) -> tuple[int, list[int]]:
    """How many stand above those who share a rank across the cut after `places` rows, and who these are."""
    if not 0 < places < len(rows) or rows[places - 1].rank != rows[places].rank:
        return 0, []
    equal = [row.participant for row in rows if row.rank == rows[places].rank]
    # All who have left share a rank.
    return rows[places].rank - 1, [] if equal[0] in gone else equal


def _round(
    key: str, number: int, equal: Sequence[int], records: Records, gone: Container[int], history: History
) -> tuple[Meeting, ...]:
    meetings = []
    for place, pair in enumerate(combinations(equal, 2), start=1):
        meeting = Meeting(f"{KEY}-{key}.{number}.{place}", number, place, pair)
        meetings.append(settle_all_play_all(meeting.with_duels(records.of(number, *pair)), gone, history.left))
    return tuple(meetings)


def _stage(
    group: Stage, tied: Sequence[int], rounds: Sequence[tuple[Meeting, ...]], gone: Container[int], early: bool
) -> Stage:
    """The stage of the extra duels: its table has the order of the group and the figures of all of them."""
    assert group.table is not None
    table = all_play_all_table(tied, rounds, gone, early)
    figures = {row.participant: row for row in table.rows}
    ranks = [row for row in group.table.rows if row.participant in figures]
    best = min(row.rank for row in ranks)
    rows = tuple(replace(figures[row.participant], rank=row.rank - best + 1) for row in ranks)
    name = f"{group.name}: extra duels"
    return Stage(f"{KEY}-{group.key}", name, StageKind.ALL_PLAY_ALL, tuple(rounds), replace(table, rows=rows))
