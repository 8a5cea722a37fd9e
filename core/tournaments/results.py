"""Who may see the results of a tournament: organisers may withhold them until they release them.

Everything that would reveal the result of a duel checks it here: tables, duels, matches, replays, files and logs.
"""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet

from core.courses.sight import belongs, courses_closed, hidden
from core.duels.selectors import NotStored
from core.models import Audience, Duel, Participant, Tournament, User
from core.people.rights import courses_with, may

Viewer = User | AnonymousUser
RESULTS = "core.view_tournament"
"""The right to see results that are withheld."""


class Withheld(NotStored):
    """The results exist, but this person may not see them yet."""


def results_visible(tournament: Tournament, viewer: Viewer) -> bool:
    """Return whether a person sees tables, duels and replays. Queries only for results that participants may see."""
    if tournament.course_id is not None and hidden(Tournament.objects.filter(pk=tournament.pk), viewer).exists():
        return False
    if tournament.results == Audience.PUBLIC or may(viewer, RESULTS, tournament.course_id):
        return True
    if tournament.results == Audience.HIDDEN or not isinstance(viewer, User):
        return False
    return tournament.participants.filter(submission__agent__owner=viewer).exists()


def results_check(tournament: Tournament, viewer: Viewer) -> None:
    """Raise Withheld, with a sentence for the viewer, unless they may see the results."""
    if not results_visible(tournament, viewer):
        raise Withheld(withheld_because(tournament))


def duel_visible(duel: Duel, viewer: Viewer) -> bool:
    """Return whether a person sees the result of a duel; duels without a tournament are never withheld."""
    return duel.tournament is None or results_visible(duel.tournament, viewer)


def duel_check(duel: Duel, viewer: Viewer) -> None:
    if duel.tournament is not None:
        results_check(duel.tournament, viewer)


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
