"""From keys to ranks, for the tables of all formats."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence

from arena_kit.ranking.formats.plan import Decision, Meeting, Outline, Row, Stage, StageKind
from arena_kit.ranking.standings import Standing

SAID = (Decision.BETTER_SEED, Decision.UNPLAYABLE, Decision.WALKOVER)
"""Decisions that a table mentions beside the participants who profited from them."""
HALVED = (Decision.PLAYED, Decision.UNPLAYABLE)
"""Decisions of a Swiss meeting that, without a winner, bring each side half of the matches."""
NOT_COUNTED = (None, Decision.ANNULLED, Decision.NOT_NEEDED)
WITHDRAWN = "Withdrew."
BASELINE = "Baseline."
SCORE_COLUMNS = ("Mean score", "95% from", "95% to")
"""The columns of a table of participants that played alone; only the first one ranks."""
SCORE_FIGURES = ("score", "score_low", "score_high")
"""The figures of a standing that these columns hold."""


def rank_rows(
    participants: Sequence[int],
    keys: Mapping[int, tuple[float, ...]],
    values: Mapping[int, tuple[float, ...]],
    *,
    gone: Container[int],
    notes: Mapping[int, Sequence[str]],
) -> tuple[Row, ...]:
    """Rows by falling keys; ties share ranks and stand in the order of `participants`.

    gone: participants who share the rank below all others, whatever their keys: the same rule in every format.
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
    """Sentences by participant on meetings that were decided otherwise than by playing."""
    notes: dict[int, list[str]] = {}
    for meeting in meetings:
        if meeting.decision in SAID:
            to = meeting.players if meeting.winner is None else (meeting.winner,)
            for who in to:
                if who is not None:
                    notes.setdefault(who, []).append(f"Round {meeting.round}: {meeting.sentence}")
    return notes


def standings_of(outline: Outline, baselines: Collection[int] = ()) -> list[Standing]:
    """The table as of now in terms that every format has: meetings won, drawn and lost, and the sum of scores.

    A walkover and a bye are won, as far as the format counts them; meetings that do not count are left out. Points are
    2 for a meeting won and 1 for a draw; the rank is that of the format, whatever decides there. Those that played
    alone have a score instead. baselines: those whose meetings count in their own rows alone.
    """
    wins, draws, losses, scores = ({row.participant: 0.0 for row in outline.table.rows} for _ in range(4))
    for stage, meeting in _counted(outline):
        shared = HALVED if stage.kind == StageKind.SWISS else (Decision.PLAYED,)
        is_with_baseline = any(player in baselines for player in meeting.players)
        for side, who in enumerate(meeting.players):
            if who is None or (is_with_baseline and who not in baselines):
                continue
            scores[who] += meeting.scores[side]
            if meeting.winner is not None:
                (wins if who == meeting.winner else losses)[who] += 1
            elif meeting.decision in shared:
                draws[who] += 1
    return [
        Standing(
            submission=row.participant,
            rank=row.rank,
            points=int(2 * wins[row.participant] + draws[row.participant]),
            wins=int(wins[row.participant]),
            draws=int(draws[row.participant]),
            losses=int(losses[row.participant]),
            total_score=scores[row.participant],
            **dict(zip(SCORE_FIGURES, row.values if outline.table.columns == SCORE_COLUMNS else (), strict=False)),
        )
        for row in outline.table.rows
    ]


def _counted(outline: Outline) -> Iterator[tuple[Stage, Meeting]]:
    for stage in outline.stages:
        for meeting in stage.meetings:
            if meeting.decision not in NOT_COUNTED:
                yield stage, meeting
