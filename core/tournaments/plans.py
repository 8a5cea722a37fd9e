"""Writes the plan of an organisers' tournament, as its format has worked it out, into rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import models, transaction
from django.db.models import F

from arena_kit.ranking import formats
from core.models import Plan, PlanMeeting, PlanRow, PlanStage, Tournament

BATCH_SIZE = 500
Fields = dict[str, Any]
PlanKey = tuple[Any, ...]
"""Identifies a row within its plan: the values of its key."""


def plan_save(*, tournament: Tournament, planned: formats.Plan) -> bool:
    """Make the rows of a tournament's plan equal to what its format has worked out; return whether any has changed.

    Only what differs is written: after a result that is one meeting and a few rows of a table. The caller holds the
    tournament's row.
    """
    head = {"round": planned.round, "columns": list(planned.table.columns), "notes": list(planned.notes)}
    with transaction.atomic():
        plan, is_new = Plan.objects.get_or_create(tournament=tournament, defaults=head)
        stages = {(place,): _stage(stage) for place, stage in enumerate(planned.stages)}
        changed = [is_new, _write(PlanStage.objects.filter(plan=plan), ("place",), stages, {"plan": plan})]
        meetings: dict[PlanKey, Fields] = {}
        rows: dict[PlanKey, Fields] = {(None, place): _row(row) for place, row in enumerate(planned.table.rows)}
        keys = list(plan.stages.order_by("place").values_list("pk", flat=True))
        for pk, stage in zip(keys, planned.stages, strict=True):
            for column, some in enumerate(stage.rounds):
                meetings |= {(pk, column, place): _meeting(meeting) for place, meeting in enumerate(some)}
            if stage.table is not None:
                rows |= {(pk, place): _row(row) for place, row in enumerate(stage.table.rows)}
        own = PlanMeeting.objects.filter(stage__plan=plan)
        changed.append(_write(own, ("stage_id", "column", "place"), meetings, {}))
        changed.append(_write(PlanRow.objects.filter(plan=plan), ("stage_id", "place"), rows, {"plan": plan}))
        changed.append(any(getattr(plan, name) != value for name, value in head.items()))
        if any(changed):
            Plan.objects.filter(pk=plan.pk).update(version=F("version") + 1, **head)
    return any(changed)


def _write(rows: models.QuerySet[Any], key: Sequence[str], wanted: Mapping[PlanKey, Fields], fixed: Fields) -> bool:
    """Make the rows of a plan equal to the wanted ones, by their key; return whether any differed."""
    there = {tuple(getattr(row, name) for name in key): row for row in rows}
    gone = [row.pk for place, row in there.items() if place not in wanted]
    changed, new = [], []
    for place, fields in wanted.items():
        row = there.get(place)
        if row is None:
            new.append(rows.model(**dict(zip(key, place, strict=True)), **fields, **fixed))
        elif any(getattr(row, name) != value for name, value in fields.items()):
            for name, value in fields.items():
                setattr(row, name, value)
            changed.append(row)
    # Deleted first, because a new row may take the same place.
    if gone:
        rows.filter(pk__in=gone).delete()
    if changed:
        names = list(next(iter(wanted.values())))
        rows.model._default_manager.bulk_update(changed, names, batch_size=BATCH_SIZE)
    rows.model._default_manager.bulk_create(new, batch_size=BATCH_SIZE)
    return bool(gone or changed or new)


def _stage(stage: formats.Stage) -> Fields:
    columns = None if stage.table is None else list(stage.table.columns)
    return {"key": stage.key, "name": stage.name, "kind": stage.kind.value, "columns": columns}


def _meeting(meeting: formats.Meeting) -> Fields:
    fields: Fields = {
        "key": meeting.key,
        "number": meeting.number,
        "round": meeting.round,
        "decision": "" if meeting.decision is None else meeting.decision.name,
        "winner": None if meeting.winner is None else meeting.players.index(meeting.winner) + 1,
    }
    for side, source in enumerate(meeting.sources):
        fields[f"side_{side + 1}_id"] = meeting.players[side]
        fields[f"source_{side + 1}"] = "" if source is None else f"{source.kind} {source.of}"
        fields[f"points_{side + 1}"] = meeting.points[side]
        fields[f"score_{side + 1}"] = meeting.scores[side]
    return fields


def _row(row: formats.Row) -> Fields:
    return {
        "submission_id": row.participant,
        "rank": row.rank,
        "values": list(row.values),
        "notes": list(row.notes),
    }
