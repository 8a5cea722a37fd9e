"""The table of an edition, filtered and sorted."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import F, OrderBy, Q, QuerySet
from django.db.models.functions import Lower

from core.models import Participant, Tournament
from core.tournaments.selectors import participant_list

SORTS = ("rank", "rating", "name", "owner", "matches", "newest")
DEFAULT_SORT = "rank"
LARGEST_COUNT = 2**31 - 1


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


def table_rows(tournament: Tournament, wanted: TableFilter, *, is_newest: bool) -> QuerySet[Participant]:
    """The matching rows, sorted. is_newest: use current ratings, not those stored with the rows."""
    rows = participant_list(tournament)
    agent, owner, team = (f"submission__agent__{name}" for name in ("name", "owner__username", "owner__team"))
    if wanted.q:
        rows = rows.filter(
            Q(**{f"{agent}__icontains": wanted.q})
            | Q(**{f"{owner}__icontains": wanted.q})
            | Q(**{f"{team}__icontains": wanted.q})
        )
    if wanted.owner:
        rows = rows.filter(**{f"{owner}__icontains": wanted.owner})
    if wanted.team:
        rows = rows.filter(**{f"{team}__icontains": wanted.team})
    if wanted.matches_min:
        # A larger number would overflow the column.
        rows = rows.filter(submission__rating__match_count__gte=min(wanted.matches_min, LARGEST_COUNT))
    orders: dict[str, OrderBy] = {
        "rank": F("rank").asc(),
        "rating": F("submission__rating__value" if is_newest else "rating").desc(nulls_last=True),
        "name": Lower(agent).asc(),
        "owner": Lower(owner).asc(),
        "matches": F("submission__rating__match_count").desc(nulls_last=True),
        "newest": F("submission__created_at").desc(),
    }
    return rows.order_by(orders.get(wanted.sort, orders[DEFAULT_SORT]), "rank", agent, "pk")
