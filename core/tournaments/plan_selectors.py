"""The rows of an organisers' tournament's plan as the plain values that they were written from."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from core.models import Duel, JobState, Plan, PlanMeeting, PlanRow, Tournament

Drawing = dict[str, Any]


def plan_drawing(tournament: Tournament) -> Drawing | None:
    """What its format has worked out, with the duels that count now; None before its first round. Five queries."""
    plan = Plan.objects.filter(tournament=tournament).first()
    if plan is None:
        return None
    rows: dict[int | None, list[Drawing]] = defaultdict(list)
    for row in PlanRow.objects.filter(plan=plan).order_by("stage", "place"):
        rows[row.stage_id].append(
            {"participant": row.submission_id, "rank": row.rank, "values": row.values, "notes": row.notes}
        )
    duels = _duels(tournament)
    rounds: dict[int, dict[int, list[Drawing]]] = defaultdict(lambda: defaultdict(list))
    for meeting in PlanMeeting.objects.filter(stage__plan=plan).order_by("stage", "column", "place"):
        rounds[meeting.stage_id][meeting.column].append(_meeting(meeting, duels))
    return {
        "stages": [
            {
                "key": stage.key,
                "name": stage.name,
                "kind": stage.kind,
                "rounds": [some for _, some in sorted(rounds[stage.pk].items())],
                "table": None if stage.columns is None else {"columns": stage.columns, "rows": rows[stage.pk]},
            }
            for stage in plan.stages.order_by("place")
        ],
        "table": {"columns": plan.columns, "rows": rows[None]},
        "notes": plan.notes,
        "round": plan.round,
    }


def _duels(tournament: Tournament) -> dict[tuple[int, frozenset[int]], list[int]]:
    """The duels that count, neither struck nor cancelled, by round and pair, in the order of their numbers."""
    found: dict[tuple[int, frozenset[int]], list[int]] = defaultdict(list)
    rows = Duel.objects.filter(tournament=tournament, void=None).exclude(state=JobState.CANCELLED).order_by("number")
    for pk, number, one, other in rows.values_list("pk", "round", "player_1", "player_2"):
        found[number, frozenset((one, other))].append(pk)
    return found


def _meeting(row: PlanMeeting, duels: dict[tuple[int, frozenset[int]], list[int]]) -> Drawing:
    players = [row.side_1_id, row.side_2_id]
    pair = frozenset(player for player in players if player is not None)
    return {
        "key": row.key,
        "number": row.number,
        "round": row.round,
        "players": players,
        "sources": [_source(text) for text in (row.source_1, row.source_2)],
        "duels": duels.get((row.round, pair), []),
        "points": [row.points_1, row.points_2],
        "scores": [row.score_1, row.score_2],
        "decision": row.decision or None,
        "winner": None if row.winner is None else players[row.winner - 1],
    }


def _source(text: str) -> Drawing | None:
    kind, _, of = text.partition(" ")
    return {"kind": kind, "of": of} if text else None
