"""Which agents play in a ladder, which wait beside it, and what comes next."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from django.db.models import F, QuerySet, Sum

from core.jobs.states import OPEN
from core.jobs.waits import ON_HOLD
from core.models import Agent, Duel, Environment, JobState, LedgerVoid, Play, Submission, Tournament, TournamentState

SHOWN = 10
"""How many duels each list of a page shows."""
TWO_OWNERS = (
    "The ladder begins as soon as agents of two owners are ready, because agents of one owner do not play each other."
)


@dataclass(frozen=True, slots=True)
class Field:
    """Every agent's newest active submission: those that play in a ladder, and those over their owner's limit."""

    playing: tuple[Submission, ...]
    aside: tuple[Submission, ...]

    @property
    def has_two_owners(self) -> bool:
        """Return whether any two agents may meet."""
        return len({submission.agent.owner_id for submission in self.playing}) > 1


@dataclass(frozen=True, slots=True)
class LadderDuels:
    """The running and waiting duels of a ladder in their order, and those that ended last.

    on_hold: the number of those that wait because their environment failed.
    """

    coming: tuple[Duel, ...]
    recent: tuple[Duel, ...]
    played: int
    on_hold: int


def ladder_field(environment: Environment) -> Field:
    """The field of an environment: of each owner the `active_per_owner` agents with the newest submissions; 0: all.

    The account of anonymous uploads has no limit, because it stands for many people.
    """
    active = Submission.objects.active().filter(agent__environment=environment).select_related("agent__owner")
    by_owner: dict[int, list[Submission]] = defaultdict(list)
    for submission in sorted(active.newest_by_agent().values(), key=lambda row: (row.created_at, row.pk), reverse=True):
        by_owner[submission.agent.owner_id].append(submission)
    playing: list[Submission] = []
    aside: list[Submission] = []
    for own in by_owner.values():
        limit = 0 if own[0].agent.owner.is_system else environment.active_per_owner
        playing += own[: limit or None]
        aside += own[limit:] if limit else []
    return Field(*(tuple(sorted(rows, key=lambda row: row.pk)) for rows in (playing, aside)))


def ladder_running(environment: Environment) -> Tournament | None:
    """The running ladder of an environment, if there is one."""
    running = environment.tournaments.filter(state=TournamentState.RUNNING, is_automatic=True).first()
    return running if running is not None and running.is_ladder else None


def ladder_duels(tournament: Tournament) -> LadderDuels:
    """The duels that the page of a ladder shows."""
    shown = _shown(tournament)
    coming = shown.filter(state__in=OPEN).exclude(ON_HOLD).order_by("-state", "number")[: 2 * SHOWN]
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
    return "The ladder begins within minutes." if ladder_field(environment).has_two_owners else TWO_OWNERS


def agent_outlook(agent: Agent) -> tuple[Submission | None, str]:
    """The submission that plays for an agent in a ladder, and a sentence on its state; None and "" without one."""
    field = ladder_field(agent.environment)
    own = next((row for row in (*field.playing, *field.aside) if row.agent_id == agent.pk), None)
    if own is None:
        return None, ""
    if own in field.aside:
        names = [row.agent.name for row in field.playing if row.agent.owner_id == agent.owner_id]
        return own, (
            f"This agent waits for a place: each owner may have up to {_agents(len(names))} in the ladder, and "
            f"{_and(names)} {'has a newer version' if len(names) == 1 else 'have newer versions'}. "
            f"Let {'it' if len(names) == 1 else 'one of them'} rest to make room."
        )
    return own, ladder_outlook(agent.environment) or "It plays in the ladder."


def _agents(count: int) -> str:
    return "one agent" if count == 1 else f"{count} agents"


def _and(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
