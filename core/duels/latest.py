"""The newest duels of agents, found without reading their older ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import reduce

from django.db.models import Exists, OuterRef, QuerySet, Subquery, Value

from core import lookup
from core.lookup import ByKey
from core.models import Duel, LedgerVoid, Submission

SIDES = ("player_1", "player_2")
STRUCK = Exists(LedgerVoid.objects.filter(duel=OuterRef("pk")))
NOT_STRUCK = ~STRUCK
"""The condition of duels that count, for queries of few; PostgreSQL estimates that a join with `void=None` is empty."""


class Latest:
    """The `most` newest duels of agents among those that `shown` returns for some values, see Lookup.

    A version that has played `most` duels on a side shows from which duel on the newest of its agent are. All others
    have at most as many since then, however long the history is.
    """

    def __init__(self, shown: Callable[..., QuerySet[Duel]], most: int) -> None:
        self._most = most
        self._versions = ByKey(
            lambda agents, *values: Submission.objects.filter(agent__in=agents).values_list(
                "agent", "pk", *(_nth(shown(*values), side, number) for number in (most, 1) for side in SIDES)
            )
        )
        # For one version: PostgreSQL would read all duels since then for several.
        self._duels = ByKey(
            lambda version, begin, *values: reduce(
                QuerySet.union,
                [
                    shown(*values).filter(**{side: version}, pk__gte=begin).order_by().values_list("pk", Value(side))
                    for side in SIDES
                ],
            )
        )

    def __call__(self, agents: Iterable[int], *values: lookup.Value) -> dict[int, list[tuple[int, str]]]:
        """Return by agent the keys of its duels, newest first, each with the side on which it played.

        One query, and one for each version that has a duel among them, mostly for one or two of an agent.
        """
        begins, versions = defaultdict[int, int](int), defaultdict[int, list[tuple[int, int]]](list)
        for agent, version, *found in self._versions(tuple(agents), *values):
            first, second, *last = (key or 0 for key in found)
            begins[agent] = max(begins[agent], first, second)
            versions[agent].append((max(last), version))
        return {agent: self._of(rows, begins[agent], values) for agent, rows in versions.items()}

    def _of(self, rows: list[tuple[int, int]], begin: int, values: tuple[lookup.Value, ...]) -> list[tuple[int, str]]:
        """Return the duels of an agent since one. rows: its versions, each after the key of its newest duel."""
        newest = [version for last, version in sorted(rows)[-self._most :] if last >= max(begin, 1)]
        sides = {key: side for version in newest for key, side in self._duels(version, begin, *values)}
        return sorted(sides.items(), reverse=True)[: self._most]


def newest_of_version() -> list[Subquery]:
    """Return the keys of the newest duel of a version on each side, for a query of versions."""
    return [_nth(Duel.objects.all(), side, 1) for side in SIDES]


def _nth(duels: QuerySet[Duel], side: str, number: int) -> Subquery:
    """Return the key of the newest, second, … of the duels that a version played on a side, for a query of versions."""
    # A range, and ordered by it: with an equality PostgreSQL may read all duels in the order of their keys, where few
    # versions have played most of them and this one none.
    same = {f"{side}__gte": OuterRef("pk"), f"{side}__lte": OuterRef("pk")}
    rows = duels.filter(**same).order_by(f"{side}_id", "-pk")
    return Subquery(rows.values("pk")[number - 1 : number])
