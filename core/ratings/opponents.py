"""How an agent did against each of its opponents: sums of the ledger over all of its versions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Sum

from core import models
from core.models import Agent


@dataclass(frozen=True, slots=True)
class Opponent:
    """The rated matches of an agent against another, seen from the first; a forfeit is a win for the opponent."""

    agent: Agent
    wins: int
    draws: int
    losses: int
    duel_count: int

    @property
    def matches(self) -> int:
        return self.wins + self.draws + self.losses


def opponent_list(agent: Agent) -> list[Opponent]:
    """Return the opponents of an agent, those it met most often first. Results that are withheld do not count."""
    totals: dict[int, list[int]] = {}
    for own, other in (("first", "second"), ("second", "first")):
        rows: Iterable[Mapping[str, Any]] = (
            models.PairTotal.objects.filter(**{f"{own}__agent": agent})
            .exclude(**{f"{other}__agent": agent})
            .values(opponent=F(f"{other}__agent"))
            .annotate(won=Sum("wins"), drawn=Sum("draws"), lost=Sum("losses"), duels=Sum("duel_count"))
            .order_by()
        )
        for row in rows:
            sums = totals.setdefault(row["opponent"], [0, 0, 0, 0])
            won, lost = ("won", "lost") if own == "first" else ("lost", "won")
            for place, name in enumerate((won, "drawn", lost, "duels")):
                sums[place] += row[name]
    agents = Agent.objects.select_related("owner").in_bulk(totals)
    found = [Opponent(agents[key], *sums) for key, sums in totals.items()]
    return sorted(found, key=lambda row: (-row.matches, row.agent.name.casefold(), row.agent.pk))
