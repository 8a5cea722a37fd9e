"""The lines of waiting jobs, one or more for each kind: their order, and a job's place."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeVar

from django.db.models import Count, OuterRef, QuerySet, Subquery, Value

from core.models import Job, JobState

AnyJob = TypeVar("AnyJob", bound=Job)


def line(kind: type[AnyJob]) -> QuerySet[AnyJob]:
    """Return the jobs of a kind that wait for a worker, in the order in which they are taken, without delayed ones."""
    return kind._base_manager.filter(state=JobState.QUEUED, not_before=None).order_by("sort_key", "pk")


def of_line(rows: QuerySet[AnyJob], where: Mapping[str, object]) -> QuerySet[AnyJob]:
    """Return the jobs of one line among those of a kind. where: values of its LINES."""
    # SQLite uses an index for `IN (1)`, but not for a boolean that stands alone.
    return rows.filter(**{f"{name}__in": [value] for name, value in where.items()})


def places_of(kind: type[AnyJob], ids: Collection[int]) -> dict[int, int]:
    """Return the places of jobs in their lines, from 1, by id, without jobs that are not in line. One query."""
    # In a form that an index can answer: a range, minus the later jobs with the same sort key.
    same_line = line(kind).order_by().filter(**{name: OuterRef(name) for name in kind.LINES})
    before = same_line.filter(sort_key__lte=OuterRef("sort_key")).exclude(
        sort_key=OuterRef("sort_key"), pk__gt=OuterRef("pk")
    )
    count = before.annotate(one=Value(1)).values("one").annotate(count=Count("pk")).values("count")
    return dict(line(kind).order_by().filter(pk__in=ids).values_list("pk", Subquery(count)))
