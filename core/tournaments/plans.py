"""The plan of an organisers' tournament, as its format has worked it out, is written into rows here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import models, transaction
from django.db.models import F

from core.models import Plan, PlanMeeting, PlanRow, PlanStage, Tournament

BATCH_SIZE = 500
Drawing = Mapping[str, Any]
"""A plan as plain values, see `arena_kit.ranking.formats.plain`."""
Fields = dict[str, Any]
Place = tuple[Any, ...]
"""By what a row is known within its plan: the values of its key."""


def plan_save(*, tournament: Tournament, drawing: Drawing) -> bool:
    """Make the rows of a tournament's plan those of a drawing; return whether anything has changed.

    Only what differs is written: after a result that is a meeting and a few rows of a table. Hold the tournament's row.
    """
    table, notes = drawing["table"], list(drawing["notes"])
    head = {"round": drawing["round"], "columns": list(table["columns"]), "notes": notes}
    with transaction.atomic():
        plan, is_new = Plan.objects.get_or_create(tournament=tournament, defaults=head)
        stages = {(place,): _stage(stage) for place, stage in enumerate(drawing["stages"])}
        changed = [is_new, _write(PlanStage.objects.filter(plan=plan), ("place",), stages, {"plan": plan})]
        meetings: dict[Place, Fields] = {}
        rows: dict[Place, Fields] = {(None, place): _row(row) for place, row in enumerate(table["rows"])}
        keys = list(plan.stages.order_by("place").values_list("pk", flat=True))
        for stage, drawn in zip(keys, drawing["stages"], strict=True):
            for column, some in enumerate(drawn["rounds"]):
                meetings |= {(stage, column, place): _meeting(meeting) for place, meeting in enumerate(some)}
            if drawn["table"] is not None:
                rows |= {(stage, place): _row(row) for place, row in enumerate(drawn["table"]["rows"])}
        own = PlanMeeting.objects.filter(stage__plan=plan)
        changed.append(_write(own, ("stage_id", "column", "place"), meetings, {}))
        changed.append(_write(PlanRow.objects.filter(plan=plan), ("stage_id", "place"), rows, {"plan": plan}))
        changed.append(any(getattr(plan, name) != value for name, value in head.items()))
        if any(changed):
            Plan.objects.filter(pk=plan.pk).update(version=F("version") + 1, **head)
    return any(changed)


def _write(rows: models.QuerySet[Any], key: Sequence[str], wanted: Mapping[Place, Fields], fixed: Fields) -> bool:
    """Make the rows of a plan those that are wanted, by their key; return whether any differed."""
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
    names = _names(wanted.values())
    # First what goes: its place may be another's.
    if gone:
        rows.filter(pk__in=gone).delete()
    if changed:
        rows.model._default_manager.bulk_update(changed, names, batch_size=BATCH_SIZE)
    rows.model._default_manager.bulk_create(new, batch_size=BATCH_SIZE)
    return bool(gone or changed or new)


def _names(wanted: Iterable[Fields]) -> list[str]:
    return list(next(iter(wanted), {}))


def _stage(given: Drawing) -> Fields:
    table = given["table"]
    columns = None if table is None else list(table["columns"])
    return {"key": given["key"], "name": given["name"], "kind": given["kind"], "columns": columns}


def _meeting(given: Drawing) -> Fields:
    winner = given["winner"]
    fields: Fields = {
        "key": given["key"],
        "number": given["number"],
        "round": given["round"],
        "decision": given["decision"] or "",
        "winner": None if winner is None else given["players"].index(winner) + 1,
    }
    for side in (1, 2):
        source = given["sources"][side - 1]
        fields[f"side_{side}_id"] = given["players"][side - 1]
        fields[f"source_{side}"] = "" if source is None else f"{source['kind']} {source['of']}"
        fields[f"points_{side}"] = given["points"][side - 1]
        fields[f"score_{side}"] = given["scores"][side - 1]
    return fields


def _row(given: Drawing) -> Fields:
    return {
        "submission_id": given["participant"],
        "rank": given["rank"],
        "values": list(given["values"]),
        "notes": list(given["notes"]),
    }
