"""The present play, as everyone may see it: running tournaments, running duels and the latest results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet

from core.courses.sight import public, released_to_all
from core.duels.latest import NOT_STRUCK
from core.jobs.states import OPEN
from core.lookup import ByKey
from core.models import LADDER, Audience, Duel, JobState, Participant, Tournament, TournamentState
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
FIGURES = ("outcome", "player_1_wins", "player_2_wins", "player_1_errors", "player_2_errors", "draws", "ended_at")
"""The further columns of a result."""
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
    """Return what everyone may see of what is played now. Six queries."""
    playing, ended = PLAYING(), ENDED()
    rows = _rows([*playing, *ended])
    running = _running(playing, rows)
    featured = next((duel for duel in running if not why_not_live(duel)), None)
    return Wall(_tournaments(), running, [rows[key] for (key,) in ended if key in rows], featured)


def running_duels() -> list[Duel]:
    """Return the running duels that everyone may see, the one that has run longest first. Two queries."""
    playing = PLAYING()
    return _running(playing, _rows(playing))


def _rows(keys: Iterable[tuple[int, ...]]) -> dict[int, Duel]:
    rows = Duel.objects.select_related("player_1__agent__environment", "player_2__agent")
    return rows.only(*NAMED, *FOLLOWED, *FIGURES).in_bulk([key for (key,) in keys])


def _running(playing: Iterable[tuple[int, ...]], rows: Mapping[int, Duel]) -> list[Duel]:
    """Return the duels that have not ended since their keys were read."""
    return [rows[key] for (key,) in playing if key in rows and rows[key].state == JobState.RUNNING]


def duel_is_public(duel: Duel) -> bool:
    """Return whether everyone may see a duel and its environment is open. One query."""
    is_own = duel.tournament_id is None
    own = is_own and duel.environment.is_active and public(Duel.objects.filter(pk=duel.pk)).exists()
    return own if is_own else _public().filter(pk=duel.pk).exists()


def _public() -> QuerySet[Duel]:
    return Duel.objects.filter(released_to_all(), tournament__environment__is_active=True)


# Keys by themselves, in queries that are planned once: PostgreSQL needs thirty times longer to plan one of all these
# tables than to answer it.
PLAYING = ByKey(
    lambda: _public().filter(state=JobState.RUNNING).order_by("started_at", "pk").values_list("pk")[:MOST_RUNNING]
)
ENDED = ByKey(
    lambda: (
        _public()
        .filter(NOT_STRUCK, state=JobState.SUCCEEDED)
        .order_by("-ended_at", "-pk")
        .values_list("pk")[:MOST_RESULTS]
    )
)


def _tournaments() -> list[WallTournament]:
    counted = Q(tournament__results=Audience.PUBLIC) & ~Q(tournament__format=LADDER)
    rows = public(Tournament.objects.filter(state=TournamentState.RUNNING, environment__is_active=True))
    shown = list(rows.select_related("environment").order_by("environment__name", "-edition")[:MOST_TOURNAMENTS])
    # Each counted by itself: a query of all three would count the duels again for each participant.
    taking_part = (
        Participant.objects.filter(tournament__in=shown, is_baseline=False)
        .values_list("tournament")
        .annotate(Count("pk"))
    )
    duels = Duel.objects.filter(counted, tournament__in=shown).values_list("tournament")
    participants = dict(taking_part.order_by())
    counts = duels.order_by().annotate(count=Count("pk"), over=Count("pk", filter=~Q(state__in=OPEN)))
    played = {key: tuple(found) for key, *found in counts}
    return [WallTournament(row, participants.get(row.pk, 0), *played.get(row.pk, (0, 0))) for row in shown]
