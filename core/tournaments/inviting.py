"""Invites people to planned tournaments, and tells them."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction

from core.models import Eligibility, Tournament, TournamentState, User
from core.tournaments.notices import tournament_invited


def people_invite(*, tournament: Tournament, people: Iterable[User]) -> list[User]:
    """Invite people to a planned tournament as well; return those who were not invited before, who are told."""
    with transaction.atomic():
        locked = Tournament.objects.select_for_update(no_key=True).get(pk=tournament.pk)
        if locked.state != TournamentState.PLANNED:
            return []
        return invitations_set(tournament=locked, people=[*locked.invited.all(), *people])


def invitations_set(*, tournament: Tournament, people: Iterable[User]) -> list[User]:
    """Make these people the invited ones; return those who were not before. They are told if it is by invitation."""
    wanted = {person.pk: person for person in people}
    with transaction.atomic():
        before = set(tournament.invited.values_list("pk", flat=True))
        tournament.invited.set(wanted.values())
        new = [person for key, person in wanted.items() if key not in before]
        if tournament.eligibility == Eligibility.INVITED:
            tournament_invited(tournament, new)
    return new
