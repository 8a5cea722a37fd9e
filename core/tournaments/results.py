"""Who may see the results of a tournament: organisers may withhold them until they release them.

Everything that would reveal the result of a duel checks it here: tables, duels, matches, replays, files and logs.
"""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet

from core.courses.sight import belongs, courses_closed, hidden
from core.duels.selectors import NotStored
from core.lookup import Lookup
from core.models import Audience, Duel, Participant, Tournament, User
from core.people.rights import courses_with, may

Viewer = User | AnonymousUser
RESULTS = "core.view_tournament"
"""The right to see results that are withheld."""
GUARDED = Lookup(
    lambda environment: (
        Tournament.objects.filter(environment=environment)
        .exclude(results=Audience.PUBLIC, course=None, environment__course=None)
        .order_by()
        .values_list("pk")[:1]
    )
)
"""One tournament of an environment whose results some people may not see."""


class Withheld(NotStored):
    """The results exist, but this person may not see them yet."""


def rounds_visible(tournament: Tournament, viewer: Viewer) -> int | None:
    """Return the last round whose results a person sees, 0 for none; None for all results: tables, duels, replays.

    Queries only for results that participants may see.
    """
    if tournament.course_id is not None and hidden(Tournament.objects.filter(pk=tournament.pk), viewer).exists():
        return 0
    if tournament.results == Audience.PUBLIC or may(viewer, RESULTS, tournament.course_id):
        return None
    to_all, to_participants = tournament.revealed_to_all, tournament.revealed_to_participants
    is_more = tournament.results == Audience.PARTICIPANTS or to_participants > to_all
    if not is_more or not isinstance(viewer, User):
        return to_all
    if not tournament.participants.filter(submission__agent__owner=viewer).exists():
        return to_all
    return None if tournament.results == Audience.PARTICIPANTS else to_participants


def results_visible(tournament: Tournament, viewer: Viewer) -> bool:
    """Return whether a person sees all results of a tournament."""
    return rounds_visible(tournament, viewer) is None


def results_check(tournament: Tournament, viewer: Viewer) -> None:
    """Raise Withheld, with a sentence for the viewer, unless they may see the results."""
    if not results_visible(tournament, viewer):
        raise Withheld(withheld_because(tournament))


def duel_visible(duel: Duel, viewer: Viewer) -> bool:
    """Return whether a person sees the result of a duel; duels without a tournament are never withheld."""
    if duel.tournament is None:
        return True
    rounds = rounds_visible(duel.tournament, viewer)
    return rounds is None or duel.round <= rounds


def duel_check(duel: Duel, viewer: Viewer) -> None:
    if duel.tournament is not None and not duel_visible(duel, viewer):
        raise Withheld(withheld_because(duel.tournament))


def withheld_because(tournament: Tournament) -> str:
    """Why the results are withheld, and until when, as a sentence."""
    who = "participants and organisers" if tournament.results == Audience.PARTICIPANTS else "organisers"
    return f"Only {who} can see the results of this tournament until they are released."


def withheld_from(viewer: Viewer) -> QuerySet[Tournament]:
    """The tournaments whose results a person may not see, to be left out of lists."""
    closed = belongs(Tournament, courses_closed(viewer))
    if may(viewer, RESULTS):
        return Tournament.objects.filter(closed)
    withheld = ~Q(results=Audience.PUBLIC)
    if isinstance(viewer, User):
        own = Participant.objects.filter(submission__agent__owner=viewer).values("tournament")
        withheld &= ~Q(results=Audience.PARTICIPANTS, pk__in=own) & ~Q(course__in=courses_with(viewer, RESULTS))
    return Tournament.objects.filter(withheld | closed)


def withheld_keys(environment: int, viewer: Viewer) -> tuple[int, ...]:
    """Return the keys of `withheld_from` in an environment, for queries that are written once."""
    if not GUARDED(environment):
        return ()
    return tuple(withheld_from(viewer).filter(environment=environment).order_by("pk").values_list("pk", flat=True))
