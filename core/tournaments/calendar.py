"""The running, planned and past tournaments of an environment or of all, and registrations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery

from core.courses.sight import Viewer, aside, listed
from core.lookup import ByKey
from core.models import Audience, Course, Environment, Participant, Registration, Tournament, TournamentState, ranked
from core.tournaments.registration_selectors import HOLDS_PLACE

STRANGER = AnonymousUser()
ANY_PLANNED = ByKey(lambda: Tournament.objects.filter(state=TournamentState.PLANNED).order_by().values_list("pk")[:1])
MOST_WINNERS = 3
"""How many winners are named when several share the first place."""


@dataclass(frozen=True, slots=True)
class TournamentEntry:
    """A tournament in a list.

    count: of participants, or of registered places while it is planned. winners: empty until the results are public.
    step, step_at: what happens next with a planned one, and when; empty without a time.
    """

    tournament: Tournament
    count: int
    winners: tuple[Participant, ...] = ()
    step: str = ""
    step_at: datetime | None = None


def tournament_planned_list(
    of: Environment | Course | None, *, now: datetime, viewer: Viewer = STRANGER
) -> list[TournamentEntry]:
    """Planned tournaments, the next one first; those without a date last. of: None for all."""
    rows = list(_of(of, viewer, TournamentState.PLANNED)) if ANY_PLANNED() else []
    if not rows:
        # Most sites have none, and skip the queries.
        return []
    held = Registration.objects.filter(HOLDS_PLACE, tournament__in=[row.pk for row in rows])
    counts = dict(held.order_by().values_list("tournament").annotate(count=Count("pk")))
    found = sorted(rows, key=lambda row: (row.starts_at is None, row.starts_at or 0, row.edition))
    return [TournamentEntry(row, _places(row, counts.get(row.pk, 0)), (), *next_step(row, now=now)) for row in found]


def _places(tournament: Tournament, registered: int) -> int:
    """Return how many of the registered agents take part."""
    return min(registered, tournament.max_participants or registered)


def next_step(tournament: Tournament, *, now: datetime) -> tuple[str, datetime | None]:
    """Return the next step of a planned tournament, and its time; empty without a time."""
    steps = (
        ("Registration opens", tournament.registration_opens_at),
        ("Registration closes", tournament.registration_closes_at),
        ("Versions freeze", tournament.freezes_at),
        ("Begins", tournament.starts_at),
    )
    ahead = [(at, words) for words, at in steps if at is not None and at > now]
    at, words = min(ahead, key=itemgetter(0), default=(None, ""))
    return words, at


def tournament_running_list(of: Environment | Course | None, viewer: Viewer = STRANGER) -> list[TournamentEntry]:
    """Running tournaments, of one environment the newest first. of: None for all."""
    rows = list(_of(of, viewer, TournamentState.RUNNING).order_by("environment__name", "-edition"))
    counts = taking_part(row.pk for row in rows)
    return [TournamentEntry(row, counts.get(row.pk, 0)) for row in rows]


COMPETING = ByKey(
    lambda tournaments: (
        Participant.objects.filter(tournament__in=tournaments, is_baseline=False)
        .order_by()
        .values("tournament")
        .values_list("tournament", Count("pk"))
    )
)


def taking_part(tournaments: Iterable[int]) -> dict[int, int]:
    """Return the number of participants of tournaments that have any, without baselines. One query, or none."""
    keys = tuple(tournaments)
    return dict(COMPETING(keys)) if keys else {}


def tournament_past_rows(of: Environment | Course | None, viewer: Viewer = STRANGER) -> QuerySet[Tournament]:
    """Finished and cancelled tournaments, the newest first.

    of: None for all, with those of organisers and the last edition of each that the arena has played itself.
    """
    over = _of(of, viewer, TournamentState.FINISHED, TournamentState.CANCELLED)
    if of is not None:
        return over.order_by("-edition" if isinstance(of, Environment) else "-ended_at", "-pk")
    editions = Tournament.objects.filter(
        environment=OuterRef("environment"), is_automatic=True, state=TournamentState.FINISHED
    )
    last = Subquery(editions.order_by("-edition").values("pk")[:1])
    return over.filter(Q(is_automatic=False) | Q(pk=last)).order_by("-ended_at", "-pk")


def tournament_past_list(tournaments: Iterable[Tournament]) -> list[TournamentEntry]:
    """List entries of these past tournaments, with their winners. Two queries."""
    rows = list(tournaments)
    keys = [row.pk for row in rows]
    counts = taking_part(keys)
    first = Participant.objects.filter(
        ranked(),
        rank=1,
        tournament__in=keys,
        tournament__state=TournamentState.FINISHED,
        tournament__results=Audience.PUBLIC,
    ).select_related("submission__agent__owner")
    winners: dict[int, list[Participant]] = {}
    for participant in first.order_by("submission__agent__name"):
        winners.setdefault(participant.tournament_id, []).append(participant)
    return [TournamentEntry(row, counts.get(row.pk, 0), tuple(winners.get(row.pk, ())[:MOST_WINNERS])) for row in rows]


def _of(of: Environment | Course | None, viewer: Viewer, *states: TournamentState) -> QuerySet[Tournament]:
    """Return the tournaments in these states that pages list, of one environment or of all that are active.

    of: a course for all of its tournaments. viewer: of all that are active, those that lists show this person.
    """
    if isinstance(of, Course):
        return of.tournaments.filter(state__in=states).select_related("environment")
    if of is not None:
        # The rows share this environment, so its many columns are not read again.
        return of.tournaments.filter(~aside(), state__in=states)
    rows = Tournament.objects.filter(state__in=states, environment__is_active=True).select_related("environment")
    return listed(rows, viewer)
