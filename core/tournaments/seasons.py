"""Seasons: their tournaments are summed up in one table, by a rule that can be checked by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from core.courses.sight import aside
from core.models import Agent, Audience, Environment, Participant, Season, Tournament, TournamentState


@dataclass(frozen=True, slots=True)
class SeasonRow:
    """An agent in a season. points: in each tournament of the season, in order; None where it did not take part."""

    rank: int
    agent: Agent
    points: tuple[float | None, ...]

    @property
    def total(self) -> float:
        return sum(points or 0.0 for points in self.points)

    @property
    def played(self) -> int:
        return sum(points is not None for points in self.points)


@dataclass(frozen=True, slots=True)
class SeasonTable:
    """The table of a season. tournaments: those that count, i.e. finished ones with public results, in order."""

    season: Season
    tournaments: tuple[Tournament, ...]
    rows: tuple[SeasonRow, ...]


def season_at(environment: Environment, time: datetime) -> Season | None:
    """The season of an environment at a time; of several, the one that began last."""
    return environment.seasons.filter(begins_at__lte=time, ends_at__gt=time).order_by("-begins_at", "-pk").first()


def season_list(environment: Environment) -> Sequence[Season]:
    """Seasons of an environment, the one that began last first."""
    return list(environment.seasons.order_by("-begins_at", "-pk"))


def season_table(season: Season) -> SeasonTable:
    """The table of a season: an agent has 1 point per participant ranked below it, and ½ per other one at its rank.

    Participants without a rank stand below all others and have no points. Three queries.
    """
    finished = season.tournaments.filter(~aside(), state=TournamentState.FINISHED, results=Audience.PUBLIC)
    tournaments = tuple(finished.select_related("environment").order_by("edition"))
    related = ("submission__agent__owner", "tournament__environment")
    rows = Participant.objects.filter(tournament__in=tournaments, is_baseline=False).select_related(*related)
    fields: dict[int, list[Participant]] = {tournament.pk: [] for tournament in tournaments}
    for row in rows:
        fields[row.tournament_id].append(row)
    agents = {row.submission.agent_id: row.submission.agent for field in fields.values() for row in field}
    columns = [_points(fields[tournament.pk]) for tournament in tournaments]
    scored = [(agent, tuple(column.get(key) for column in columns)) for key, agent in agents.items()]
    totals = [sum(points or 0.0 for points in line) for _, line in scored]
    ranked = [
        SeasonRow(1 + sum(other > total for other in totals), agent, line)
        for (agent, line), total in zip(scored, totals, strict=True)
    ]
    return SeasonTable(season, tournaments, tuple(sorted(ranked, key=lambda row: (row.rank, row.agent.name.lower()))))


def _points(field: Sequence[Participant]) -> dict[int, float]:
    """Points of a tournament by agent."""
    ranks = Counter(row.rank for row in field if row.is_ranked)
    gone = sum(not row.is_ranked for row in field)
    return {
        row.submission.agent_id: 0.0
        if not row.is_ranked
        else gone + sum(count for rank, count in ranks.items() if rank > row.rank) + (ranks[row.rank] - 1) / 2
        for row in field
    }
