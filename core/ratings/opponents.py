"""How an agent did against each of its opponents, and from each seat: sums of the ledger over all of its versions."""

from __future__ import annotations

from dataclasses import dataclass
from operator import add

from django.db.models import F, Sum

from core import models
from core.lookup import ByKey, Lookup
from core.models import Agent


@dataclass(frozen=True, slots=True)
class Sums:
    """Rated matches of an agent; a forfeit is a win for the opponent."""

    wins: int
    draws: int
    losses: int

    @property
    def matches(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def share(self) -> float:
        """The share of the matches, 0 to 1; a draw is half."""
        return (self.wins + self.draws / 2) / self.matches if self.matches else 0.0


@dataclass(frozen=True, slots=True)
class Opponent(Sums):
    """The rated matches of an agent against another, seen from the first."""

    agent: Agent
    duel_count: int


@dataclass(frozen=True, slots=True)
class Record:
    """All rated matches of an agent. seats: from the first seat and from the second.

    opponents: those it met most often, first; opponent_count: how many there are.
    """

    seats: tuple[Sums, Sums]
    opponents: list[Opponent]
    opponent_count: int


WINS = {"first": "wins", "second": "losses"}


def _sums(own: str, other: str) -> Lookup:
    """Return the query of the sums of an agent's rated duels from a seat: its opponent, three results, duels."""
    return ByKey(
        lambda agent: (
            models.PairTotal.objects.filter(**{f"{own}__agent": agent})
            .exclude(**{f"{other}__agent": agent})
            .values(opponent=F(f"{other}__agent"))
            .annotate(won=Sum(WINS[own]), drawn=Sum("draws"), lost=Sum(WINS[other]), duels=Sum("duel_count"))
            .order_by()
            .values_list("opponent", "won", "drawn", "lost", "duels")
        )
    )


SEATS = (_sums("first", "second"), _sums("second", "first"))


def record_get(agent: Agent, *, most: int | None = None) -> Record:
    """Return the record of an agent. Results that are withheld do not count. Three queries.

    most: how many opponents to return; all by default.
    """
    totals: dict[int, list[int]] = {}
    seats = ([0, 0, 0], [0, 0, 0])
    for seat, rows in zip(seats, SEATS, strict=True):
        for opponent, *sums in rows(agent.pk):
            figures = [int(figure) for figure in sums]
            totals[opponent] = list(map(add, totals.get(opponent, [0] * 4), figures))
            seat[:] = map(add, seat, figures[:3])
    often = sorted(totals, key=lambda key: (-sum(totals[key][:3]), key))[:most]
    agents = Agent.objects.select_related("owner").in_bulk(often)
    found = []
    for key in often:
        wins, draws, losses, duels = totals[key]
        found.append(Opponent(wins, draws, losses, agents[key], duels))
    found.sort(key=lambda row: (-row.matches, row.agent.name.casefold(), row.agent.pk))
    return Record((Sums(*seats[0]), Sums(*seats[1])), found, len(totals))
