"""The duels of a ladder, and when it begins."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import F, QuerySet, Sum

from core.jobs.states import OPEN
from core.jobs.waits import ON_HOLD
from core.models import Duel, Environment, JobState, LedgerVoid, Play, Tournament, TournamentState
from core.tournaments.fields import active_field

SHOWN = 10
"""How many duels each list of a page shows."""
TWO_OWNERS = (
    "The ladder begins as soon as agents of two owners are ready, because agents of one owner do not play each other."
)


@dataclass(frozen=True, slots=True)
class LadderDuels:
    """The running and waiting duels of a ladder in their order, and those that ended last.

    on_hold: the number of those that wait because their environment failed.
    """

    coming: tuple[Duel, ...]
    recent: tuple[Duel, ...]
    played: int
    on_hold: int


def ladder_running(environment: Environment) -> Tournament | None:
    """The running ladder of an environment, if there is one."""
    running = environment.tournaments.filter(state=TournamentState.RUNNING, is_automatic=True).first()
    return running if running is not None and running.is_ladder else None


def ladder_duels(tournament: Tournament) -> LadderDuels:
    """The duels that the page of a ladder shows."""
    shown = _shown(tournament)
    # Chosen before their players are joined, as thousands may wait.
    first = tournament.duels.filter(state__in=OPEN).exclude(ON_HOLD).order_by("-state", "number")[: 2 * SHOWN]
    coming = shown.filter(pk__in=first.values("pk")).order_by("-state", "number")
    recent = shown.filter(state=JobState.SUCCEEDED).order_by("-ended_at")[:SHOWN]
    # The table has the sums, so that the cost does not grow with the history; every duel counts for two participants.
    sums = tournament.participants.aggregate(duels=Sum(F("wins") + F("draws") + F("losses")))
    struck = LedgerVoid.objects.filter(duel__tournament=tournament).count()
    on_hold = tournament.duels.filter(ON_HOLD).count()
    return LadderDuels(tuple(coming), tuple(recent), (sums["duels"] or 0) // 2 + struck, on_hold)


def _shown(tournament: Tournament) -> QuerySet[Duel]:
    players = ("player_1__agent", "player_2__agent", "void")
    return tournament.duels.select_related(*players).defer("log", "history", "verification")


def ladder_outlook(environment: Environment) -> str:
    """When the ladder of an environment begins, as a sentence; empty once it runs, and where none is to be played."""
    if environment.play != Play.LADDER or ladder_running(environment) is not None:
        return ""
    if environment.closed_because:
        return environment.closed_because
    running = environment.tournaments.filter(state=TournamentState.RUNNING, is_automatic=True).first()
    if running is not None:
        return f"The ladder begins when edition {running.edition} has ended."
    return "The ladder begins within minutes." if active_field(environment).has_two_owners else TWO_OWNERS
