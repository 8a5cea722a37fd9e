"""Voids rounds, meetings and scores of organisers' tournaments, so that they are played again."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from django.db import transaction
from django.db.models import Max, QuerySet

from core.errors import Refused
from core.jobs.states import OPEN
from core.links import tournament_address
from core.models import (
    Duel,
    JobState,
    LedgerChange,
    NoticeKind,
    Participant,
    Submission,
    Tournament,
    TournamentState,
    User,
)
from core.notices.services import notify
from core.ratings.ledger import ledger_change
from core.tournaments.rounds import GONE, counting, duels_strike, last_round, leaving_forget, tournament_lock
from core.tournaments.scoring import evaluations_counting

VOIDABLE = (TournamentState.RUNNING, TournamentState.FINISHED)


def round_void(*, tournament: Tournament, number: int, reason: str, user: User | None) -> int:
    """Strike a round, so that it is played again; return how many duels it had.

    The manager strikes what depends on it, as the format says. A tournament that has ended goes on. Raises Refused for
    an edition of the arena, for a round that was not drawn, for a tournament that was never played, and for one that
    has ended if a participant could not play the round again.
    """
    with transaction.atomic():
        locked = tournament_lock(tournament)
        _check_voidable(locked)
        if locked.plays_alone:
            raise Refused("Its agents play alone, so it has no rounds. Let single participants be evaluated again.")
        duels = list(counting(locked).filter(round=number))
        if not duels:
            last = counting(locked).aggregate(last=Max("round"))["last"]
            drawn = f"the last one that was is round {last}" if last else "none was so far"
            raise Refused(f"Round {number} was not drawn: {drawn}.")
        _check_playable(locked, _players(duels))
        leaving_forget(tournament=locked, number=number)
        duels_strike(duels=duels, reason=reason, user=user)
        _go_on(locked)
    tournament.refresh_from_db()
    return len(duels)


def meeting_void(*, duel: Duel, reason: str, user: User | None) -> None:
    """Strike a duel of an organisers' tournament, and later duels of its meeting, so that they are played again.

    As `round_void`. In a cancelled tournament the duels are struck but not played again.
    """
    assert duel.tournament is not None
    with transaction.atomic():
        locked = tournament_lock(duel.tournament)
        duels = [duel, *_meeting(locked, duel).filter(number__gt=duel.number)]
        _check_playable(locked, _players(duels))
        duels_strike(duels=duels, reason=reason, user=user)
        _go_on(locked)


def meeting_again(*, duel: Duel, reason: str, user: User | None) -> None:
    """Play a meeting of an organisers' tournament again that the arena could not play; `duel` is a void duel of it.

    As `round_void`. Raises Refused also if the meeting has gone on or a duel of it was struck.
    """
    assert duel.tournament is not None
    with transaction.atomic():
        locked = tournament_lock(duel.tournament)
        _check_voidable(locked)
        duels: list[Duel] = []
        for row in _meeting(locked, duel).order_by("number"):
            # Duels played before the first void one stay.
            duels = [*duels, row] if row.state == JobState.FAILED else []
        if duel not in duels:
            raise Refused(
                "Its meeting has already been decided or replayed without this duel, so there is nothing to play again."
            )
        _check_playable(locked, _players(duels))
        duels_strike(duels=duels, reason=reason, user=user)
        _go_on(locked)


def evaluation_void(*, participant: Participant, reason: str) -> None:
    """Void the score of a participant that plays alone, so that it is evaluated again, and tell its owner.

    As `round_void`.
    """
    with transaction.atomic():
        locked = tournament_lock(participant.tournament)
        _check_voidable(locked)
        if not locked.participants.filter(pk=participant.pk, withdrawn_at=None).exists():
            raise Refused("It has left the tournament.")
        rows = evaluations_counting(locked).filter(submission=participant.submission_id)
        if not rows.exists() or rows.filter(state__in=OPEN).exists():
            raise Refused("It has not been evaluated yet.")
        _check_playable(locked, [participant.submission_id])
        rows.update(void_because=reason[:200])
        agent = participant.submission.agent
        notify(
            user=agent.owner,
            kind=NoticeKind.TOURNAMENT_ENDED,
            title=f"{agent} is evaluated again in {locked}",
            text=f"The organisers have struck its score, and {agent} plays once more: {reason}",
            address=tournament_address(locked),
        )
        _go_on(locked)


def _players(duels: Sequence[Duel]) -> set[int]:
    return {player for duel in duels for player in (duel.player_1_id, duel.player_2_id)}


def _meeting(tournament: Tournament, duel: Duel) -> QuerySet[Duel]:
    """The duels that count in the meeting of a duel."""
    players = (duel.player_1_id, duel.player_2_id)
    return counting(tournament).filter(round=duel.round, player_1__in=players, player_2__in=players)


def _check_voidable(tournament: Tournament) -> None:
    if tournament.is_automatic:
        raise Refused(
            "The arena made this edition, and none of its rounds depends on another. Void single duels instead."
        )
    if tournament.state not in VOIDABLE:
        raise Refused(
            f"The tournament is {tournament.get_state_display()}. Only running and finished tournaments can be voided."
        )


def _check_playable(tournament: Tournament, players: Collection[int]) -> None:
    """Raise Refused if players of a tournament that has ended may not or cannot play in it again.

    A participant who leaves after the end keeps the place, so nothing could decide it anew.
    """
    if tournament.state != TournamentState.FINISHED:
        return
    rows = tournament.participants.filter(submission__in=players, withdrawn_at=None).order_by("pk")
    gone = rows.filter(GONE).select_related("submission__agent").first()
    if gone is not None:
        raise Refused(
            f"The tournament has ended, and {gone.submission} may no longer play: its version is deleted, its "
            "agent disabled or its owner's account closed. Let it play again first, or leave the result as it is."
        )
    kept = Submission.objects.filter(pk__in=players).validated()
    without = rows.exclude(submission__in=kept).select_related("submission__agent").first()
    if without is not None:
        raise Refused(
            f"The tournament has ended, and {without.submission} cannot play now: its image was deleted, or its last "
            "build or validation has not succeeded. Build it again first."
        )


def _go_on(tournament: Tournament) -> None:
    """Note that results of a tournament were struck, and reopen it if it has ended."""
    ended = Tournament.objects.filter(pk=tournament.pk, state=TournamentState.FINISHED)
    if ended.update(state=TournamentState.RUNNING, ended_at=None):
        tournament.participants.update(rating=None, rating_low=None, rating_high=None)
        # Participants who left after the end have not withdrawn; only `left_after` marks them.
        tournament.participants.filter(withdrawn_at=None).update(left_after=None)
        barred = tournament.participants.filter(GONE, withdrawn_at=None).values_list("pk", flat=True)
        tournament.participants.filter(pk__in=list(barred)).update(left_after=last_round(tournament))
    ledger_change(environment_id=tournament.environment_id, kind=LedgerChange.Kind.STRIKE, tournament=tournament)
