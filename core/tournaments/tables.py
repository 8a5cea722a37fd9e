"""The table of an edition, filtered and sorted."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from core.models import Participant, Tournament, TournamentState, User
from core.ratings.tables import OwnPlace, TableFilter, own_places, table_of
from core.tournaments.selectors import participant_list


def table_rows(tournament: Tournament, wanted: TableFilter) -> QuerySet[Participant]:
    """Return the matching rows, sorted; by current ratings while it runs, otherwise by those at its end."""
    is_running = tournament.state == TournamentState.RUNNING
    rating = "submission__rating__value" if is_running else "rating"
    return table_of(participant_list(tournament), wanted, rating=rating, matches="submission__rating__match_count")


def own_place_list(tournament: Tournament, owner: User) -> list[OwnPlace]:
    """Return the places of a user's agents in an edition, the first of the table first."""
    return own_places(tournament.participants.all(), owner, gone=Q(withdrawn_at__isnull=False))
