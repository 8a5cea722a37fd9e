"""Strikes single duels of tournaments, and plays them again."""

from __future__ import annotations

from django.db import transaction

from core.errors import Refused
from core.jobs.lifecycle import job_enqueue
from core.models import Duel, JobState, LedgerChange, LedgerVoid, Tournament, TournamentState, User
from core.ratings.ledger import ledger_change
from core.tournaments.voiding import meeting_void


def duel_void(*, duel: Duel, reason: str, user: User | None) -> None:
    """Strike a played duel from standings and ratings. Its entries and records stay as they are.

    In an organiser's tournament the duel and all that depended on it are played again, see `meeting_void`.
    Raises Refused for an unrated duel, a void duel and one without a result.
    """
    if duel.tournament is None:
        raise Refused("It is not rated, so there is no table to strike it from.")
    if duel.is_void:
        raise Refused("It is already void.")
    if duel.state != JobState.SUCCEEDED:
        raise Refused("It has no result that could be void; cancel it instead.")
    if not duel.tournament.is_automatic:
        meeting_void(duel=duel, reason=reason, user=user)
        return
    with transaction.atomic():
        _, is_new = LedgerVoid.objects.get_or_create(duel=duel, defaults={"reason": reason[:200], "created_by": user})
        if not is_new:
            raise Refused("It is already void.")
        ledger_change(
            environment_id=duel.tournament.environment_id, kind=LedgerChange.Kind.STRIKE, tournament=duel.tournament
        )


def duel_play_again(*, duel: Duel) -> Duel:
    """Play the pair of a void duel again, as a new duel of the same edition; the void duel stays as it is.

    Raises Refused when the duel is not void, cannot be played, or its pair has another duel that counts or may count.
    """
    if not duel.is_void:
        raise Refused("It is not void: only a void duel can be played again.")
    if duel.tournament_id is None:
        raise Refused("It is not rated; create a new challenge instead.")
    if duel.tournament is not None and not duel.tournament.is_automatic:
        raise Refused("Its tournament follows a plan, which plays it again if necessary.")
    if duel.its_tournament.is_ladder:
        raise Refused("A ladder does not repeat duels: it chooses the next ones itself.")
    if any(player.deleted_at is not None or not player.image for player in (duel.player_1, duel.player_2)):
        raise Refused("One of its players has been deleted or has no image.")
    with transaction.atomic():
        tournament = Tournament.objects.select_for_update().get(pk=duel.tournament_id)
        if tournament.state == TournamentState.CANCELLED:
            raise Refused("Its edition was cancelled.")
        if (
            tournament.participants.filter(submission__in=(duel.player_1, duel.player_2))
            .exclude(withdrawn_at=None)
            .exists()
        ):
            raise Refused("One of its players was taken out of the edition.")
        duels = tournament.duels.select_related("void").order_by("number")
        pair = {duel.player_1_id, duel.player_2_id}
        if any({other.player_1_id, other.player_2_id} == pair and not other.is_void for other in duels):
            raise Refused("It has already been played again, or is about to be.")
        again = Duel.objects.create(
            tournament=tournament,
            number=max(other.number for other in duels) + 1,
            round=duel.round,
            player_1=duel.player_1,
            player_2=duel.player_2,
            # Not today's version: an edition is played with one version of the rules.
            environment_version=duel.environment_version,
            seed=duel.seed,
            match_count=duel.match_count,
        )
        job_enqueue(job=again)
    return again
