"""Filters of tables whose rows are versions: leaderboards, editions and ladders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from django.db.models import F, Model, OrderBy, Q, QuerySet, Window
from django.db.models.functions import Lower, RowNumber

from core.models import User

Row = TypeVar("Row", bound=Model)
"""A row with a `submission` and a `rank`."""
SORTS = ("rank", "rating", "name", "owner", "matches", "newest")
DEFAULT_SORT = "rank"
LARGEST_COUNT = 2**31 - 1
AGENT, OWNER, TEAM = (f"submission__agent__{name}" for name in ("name", "owner__username", "owner__team"))


@dataclass(frozen=True, slots=True)
class TableFilter:
    """A filter of a table; texts match anywhere, ignoring case.

    q: matches names of agents, owners and teams. matches_min: rated matches behind the current rating.
    """

    q: str = ""
    owner: str = ""
    team: str = ""
    matches_min: int | None = None
    sort: str = DEFAULT_SORT

    @property
    def is_filtered(self) -> bool:
        return self != TableFilter(sort=self.sort)


@dataclass(frozen=True, slots=True)
class OwnPlace:
    """The place of an agent of the viewer in a table. rank: None for one that was taken out. row: from 1."""

    agent: str
    rank: int | None
    row: int


def table_of(rows: QuerySet[Row], wanted: TableFilter, *, rating: str, matches: str) -> QuerySet[Row]:
    """Return the matching rows, sorted. rating, matches: the columns of the rating and of its number of matches."""
    if wanted.q:
        names = (Q(**{f"{name}__icontains": wanted.q}) for name in (AGENT, OWNER, TEAM))
        rows = rows.filter(next(names) | next(names) | next(names))
    if wanted.owner:
        rows = rows.filter(**{f"{OWNER}__icontains": wanted.owner})
    if wanted.team:
        rows = rows.filter(**{f"{TEAM}__icontains": wanted.team})
    if wanted.matches_min:
        # A larger number would overflow the column.
        rows = rows.filter(**{f"{matches}__gte": min(wanted.matches_min, LARGEST_COUNT)})
    orders: dict[str, OrderBy] = {
        "rank": F("rank").asc(),
        "rating": F(rating).desc(nulls_last=True),
        "name": Lower(AGENT).asc(),
        "owner": Lower(OWNER).asc(),
        "matches": F(matches).desc(nulls_last=True),
        "newest": F("submission__created_at").desc(),
    }
    return rows.order_by(orders.get(wanted.sort, orders[DEFAULT_SORT]), "rank", AGENT, "pk")


def own_places(rows: QuerySet[Row], owner: User, *, gone: Q | None = None) -> list[OwnPlace]:
    """Return the places of a user's agents in a table by rank, the first of the table first.

    gone: the condition of rows that have lost their rank.
    """
    row = Window(RowNumber(), order_by=[F("rank"), F(AGENT)])
    # No row is 0: mentioning the row in the condition filters the owner's rows after counting, not before.
    own = Q(submission__agent__owner=owner) | Q(row=0)
    found = rows.annotate(row=row).filter(own).order_by("row")
    without = (
        set() if gone is None else set(rows.filter(gone, submission__agent__owner=owner).values_list("pk", flat=True))
    )
    return [
        OwnPlace(agent, None if key in without else rank, place)
        for key, agent, rank, place in found.values_list("pk", AGENT, "rank", "row")
    ]
