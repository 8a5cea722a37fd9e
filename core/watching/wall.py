"""The present play, as everyone may see it: running tournaments, running duels and the latest results."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from core.jobs.states import OPEN
from core.models import LADDER, Audience, Duel, JobState, Tournament, TournamentState
from core.watching.services import why_not_live

FOLLOWED = (
    "state",
    "claim_token",
    "environment_version",
    "seed",
    "opening",
    "match_count",
    "matches_done",
    "started_at",
)
"""The further columns of a running duel, to show its moves and its progress."""
MOST_TOURNAMENTS, MOST_RUNNING, MOST_RESULTS = 24, 12, 12
NAMED = (
    "player_1__number",
    "player_2__number",
    "player_1__agent__name",
    "player_2__agent__name",
    "player_1__agent__environment__name",
    "player_1__agent__environment__slug",
)


@dataclass(frozen=True, slots=True)
class WallTournament:
    """A running tournament. duels, played: their number so far; 0 where results are withheld, and of a ladder."""

    tournament: Tournament
    participants: int
    duels: int
    played: int

    @property
    def is_withheld(self) -> bool:
        return self.tournament.results != Audience.PUBLIC


@dataclass(frozen=True, slots=True)
class Wall:
    """The present play. featured: the running duel whose moves are shown, if there is one."""

    tournaments: list[WallTournament]
    running: list[Duel]
    results: list[Duel]
    featured: Duel | None


def wall_get() -> Wall:
    """Return what everyone may see of what is played now. Three queries."""
    running = running_duels()
    featured = next((duel for duel in running if not why_not_live(duel)), None)
    return Wall(_tournaments(), running, _results(), featured)


def running_duels() -> list[Duel]:
    """Return the running duels that everyone may see, the one that has run longest first. One query."""
    rows = _public().filter(state=JobState.RUNNING).select_related("player_1__agent__environment", "player_2__agent")
    rows = rows.only(*NAMED, *FOLLOWED)
    return list(rows.order_by("started_at", "pk")[:MOST_RUNNING])


def duel_is_public(duel: Duel) -> bool:
    """Return whether everyone may see a duel and its environment is open. One query."""
    is_own = duel.tournament_id is None
    return duel.environment.is_active if is_own else _public().filter(pk=duel.pk).exists()


def _public() -> QuerySet[Duel]:
    return Duel.objects.filter(tournament__results=Audience.PUBLIC, tournament__environment__is_active=True)


def _results() -> list[Duel]:
    rows = _public().filter(state=JobState.SUCCEEDED, void=None)
    rows = rows.select_related("player_1__agent__environment", "player_2__agent")
    figures = ("outcome", "player_1_wins", "player_2_wins", "player_1_errors", "player_2_errors", "draws", "ended_at")
    return list(rows.only(*figures, *NAMED).order_by("-ended_at", "-pk")[:MOST_RESULTS])


def _tournaments() -> list[WallTournament]:
    counted = Q(tournament=OuterRef("pk"), tournament__results=Audience.PUBLIC) & ~Q(tournament__format=LADDER)
    duels = Duel.objects.filter(counted).order_by().values("tournament").annotate(count=Count("pk")).values("count")
    over = duels.exclude(state__in=OPEN)
    rows = Tournament.objects.filter(state=TournamentState.RUNNING, environment__is_active=True)
    rows = rows.select_related("environment").annotate(
        taking_part=Count("participants"),
        duel_count=Coalesce(Subquery(duels), 0),
        over_count=Coalesce(Subquery(over), 0),
    )
    return [
        WallTournament(row, row.taking_part, row.duel_count, row.over_count)
        for row in rows.order_by("environment__name", "-edition")[:MOST_TOURNAMENTS]
    ]
