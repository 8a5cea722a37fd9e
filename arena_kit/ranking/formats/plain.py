"""A plan as plain values: what is kept in rows for pages, tables and the API."""

from __future__ import annotations

from collections.abc import Iterator

from arena_kit.ranking.formats.contract import Meeting, Plan, Stage, Table
from arena_kit.ranking.formats.swiss import HALVED
from arena_kit.ranking.meetings import Decision, Source, StageKind
from arena_kit.ranking.standings import Standing

NOT_COUNTED = (None, Decision.ANNULLED, Decision.NOT_NEEDED)


def drawing_as_json(plan: Plan) -> dict[str, object]:
    """All that a page draws of a plan, as JSON can hold it; participants and duels by their keys."""
    return {
        "stages": [_stage(stage) for stage in plan.stages],
        "table": _table(plan.table),
        "notes": list(plan.notes),
        "round": plan.round,
    }


def standings_of(plan: Plan) -> list[Standing]:
    """The final table, or as of now, by what every format has: meetings won, drawn and lost, and the sum of scores.

    A walkover and a round of rest are won, as far as the format counts them; what counts for nobody is left out.
    Points are 2 for a meeting won and 1 for a draw; the rank is that of the format, whatever decides there.
    """
    wins, draws, losses, scores = ({row.participant: 0.0 for row in plan.table.rows} for _ in range(4))
    for stage, meeting in _counted(plan):
        shared = HALVED if stage.kind == StageKind.SWISS else (Decision.PLAYED,)
        for side, who in enumerate(meeting.players):
            if who is None:
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
        )
        for row in plan.table.rows
    ]


def _counted(plan: Plan) -> Iterator[tuple[Stage, Meeting]]:
    for stage in plan.stages:
        for meeting in stage.meetings:
            if meeting.decision not in NOT_COUNTED:
                yield stage, meeting


def _stage(stage: Stage) -> dict[str, object]:
    return {
        "key": stage.key,
        "name": stage.name,
        "kind": stage.kind.value,
        "rounds": [[_meeting(meeting) for meeting in meetings] for meetings in stage.rounds],
        "table": stage.table and _table(stage.table),
    }


def _meeting(meeting: Meeting) -> dict[str, object]:
    return {
        "key": meeting.key,
        "number": meeting.number,
        "round": meeting.round,
        "players": list(meeting.players),
        "sources": [_source(source) for source in meeting.sources],
        "duels": [duel.key for duel in meeting.duels],
        "points": list(meeting.points),
        "scores": list(meeting.scores),
        "decision": meeting.decision and meeting.decision.value,
        "winner": meeting.winner,
    }


def _source(source: Source | None) -> dict[str, object] | None:
    return None if source is None else {"kind": source.kind, "of": source.of}


def _table(table: Table) -> dict[str, object]:
    return {
        "columns": list(table.columns),
        "rows": [
            {
                "participant": row.participant,
                "rank": row.rank,
                "values": list(row.values),
                "notes": list(row.notes),
            }
            for row in table.rows
        ],
    }
