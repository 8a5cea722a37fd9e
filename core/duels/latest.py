"""The newest duels of agents, found without reading their older ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import reduce
from operator import or_

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from core.models import Duel, LedgerVoid, Submission

SIDES = ("player_1", "player_2")
NOT_STRUCK = ~Exists(LedgerVoid.objects.filter(duel=OuterRef("pk")))
"""The condition of duels that count, for queries of few; PostgreSQL estimates that a join with `void=None` is empty."""


def latest_of(agents: Iterable[int], shown: QuerySet[Duel], most: int) -> dict[str, Q]:
    """Return for each side the condition of few duels, among which are the newest `most` of each agent's. One query.

    A version that has played `most` duels on a side shows from which duel on the newest of its agent are. All others
    have at most as many since then, however long the history is. Versions without a duel since then are not named:
    with hundreds of them PostgreSQL would rather read all duels.
    """
    keys = [_nth(shown, side, number) for number in (most, 1) for side in SIDES]
    begins, newest = defaultdict[int, int](int), list[tuple[int, int, dict[str, int]]]()
    for agent, version, *found in Submission.objects.filter(agent__in=agents).values_list("agent", "pk", *keys):
        first, second, *last = (key or 0 for key in found)
        begins[agent] = max(begins[agent], first, second)
        newest.append((agent, version, dict(zip(SIDES, last, strict=True))))

    def condition(side: str) -> Q:
        versions = defaultdict[int, list[int]](list)
        for agent, version, last in newest:
            if last[side] >= max(begins[agent], 1):
                versions[agent].append(version)
        each = (Q(**{f"{side}__in": own}, pk__gte=begins[agent]) for agent, own in versions.items())
        return reduce(or_, each, Q(pk__in=()))

    return {side: condition(side) for side in SIDES}


def newest_of_version() -> list[Subquery]:
    """Return the keys of the newest duel of a version on each side, for a query of versions."""
    return [_nth(Duel.objects.all(), side, 1) for side in SIDES]


def _nth(duels: QuerySet[Duel], side: str, number: int) -> Subquery:
    """Return the key of the newest, second, … of the duels that a version played on a side, for a query of versions."""
    rows = duels.filter(**{side: OuterRef("pk")}).order_by("-pk")
    return Subquery(rows.values("pk")[number - 1 : number])
