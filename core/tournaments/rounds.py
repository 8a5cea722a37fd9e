"""Begins tournaments of organisers, creates and strikes their duels, and records who leaves.

The format decides who meets whom, see `tournament_manager.progress`; this module writes the rows. Rows are locked in
one order, tournament, participants, duels, each by key, so that transactions cannot deadlock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Max, Q, QuerySet
from django.db.models.functions import Now

from core.duels.seeds import duel_seed
from core.duels.stopping import tournament_test
from core.errors import Refused
from core.jobs.control import job_cancel_if_open
from core.jobs.states import StaleJob
from core.models import (
    CancelCode,
    Duel,
    JobState,
    LedgerChange,
    LedgerVoid,
    Participant,
    Submission,
    Tournament,
    TournamentState,
    User,
)
from core.ratings.ledger import ledger_change
from core.tournaments.news import tournament_started
from core.tournaments.services import BATCH_SIZE, duels_enqueue

VOIDABLE = (TournamentState.RUNNING, TournamentState.FINISHED)
GONE = (
    Q(submission__agent__is_disabled=True)
    | Q(submission__agent__owner__is_active=False)
    | Q(submission__deleted_at__isnull=False)
)
"""The condition for participants of organisers' tournaments that may not play any more."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """A duel to create. player_1, player_2: ids of submissions. expected: predicted share of the points of player_1.

    seed: used where duels do not share openings. encounter: as in `duel_seed`.
    """

    round: int
    player_1: int
    player_2: int
    seed: int
    match_count: int
    expected: float | None = None
    encounter: int = 0


def tournament_hold(tournament: Tournament) -> Tournament:
    """The current tournament, locked with its participants until the end of the transaction."""
    rows = Tournament.objects.select_for_update(of=("self",), no_key=True).select_related("environment")
    held = rows.get(pk=tournament.pk)
    list(held.participants.order_by("pk").select_for_update(no_key=True).values_list("pk"))
    return held


def tournament_open(
    *, tournament: Tournament, submissions: Sequence[Submission], settings: Mapping[str, object], seed: int,
    now: datetime,
) -> None:  # fmt: skip
    """Begin a planned tournament with these participants, in the order of their seeds.

    settings: all of its format, because defaults may change while it is played. Raises Refused when it is not planned.
    """
    with transaction.atomic():
        rows = Tournament.objects.filter(pk=tournament.pk, state=TournamentState.PLANNED)
        if not rows.update(state=TournamentState.RUNNING, started_at=now, settings=dict(settings), seed=seed):
            raise Refused(f"{tournament} is no longer planned: it has begun or was cancelled.")
        Participant.objects.bulk_create(
            [
                Participant(tournament=tournament, submission=submission, seeding=seeding)
                for seeding, submission in enumerate(submissions, start=1)
            ],
            batch_size=BATCH_SIZE,
        )
        tournament.refresh_from_db()
        tournament_started(tournament)


def duels_draw(*, tournament: Tournament, pairings: Sequence[Pairing]) -> None:
    """Create duels, numbered after the existing ones. The caller holds the tournament's row."""
    if not pairings:
        return
    lengths = {pairing.match_count for pairing in pairings}
    tests = {length: tournament_test(tournament=tournament, match_count=length) for length in lengths}
    first = tournament.duels.order_by("number").first()
    last = tournament.duels.aggregate(last=Max("number"))["last"] or 0
    # A tournament is played with one version of the rules, although the environment may have a newer one.
    version = first.environment_version if first else tournament.environment.spec_id
    duels_enqueue(
        tournament=tournament,
        duels=[
            Duel(
                tournament=tournament,
                number=number,
                round=pairing.round,
                player_1_id=pairing.player_1,
                player_2_id=pairing.player_2,
                environment_version=version,
                seed=duel_seed(
                    environment_version=version,
                    tournament_seed=tournament.seed,
                    own=pairing.seed,
                    encounter=pairing.encounter,
                ),
                match_count=pairing.match_count,
                expected=pairing.expected,
                test=None if (test := tests[pairing.match_count]) is None else test.as_json,
            )
            for number, pairing in enumerate(pairings, start=last + 1)
        ],
    )


def counting(tournament: Tournament) -> QuerySet[Duel]:
    """The duels of a tournament that count or may still count: neither struck nor cancelled."""
    return tournament.duels.filter(void=None).exclude(state=JobState.CANCELLED)


def duels_cancel(*, duels: Iterable[Duel], code: CancelCode, reason: str) -> list[Duel]:
    """Cancel open duels; return those that ended before they could be cancelled."""
    left = []
    for duel in sorted(duels, key=lambda duel: duel.pk):
        job_cancel_if_open(job=duel, code=code, reason=reason)
        if duel.state != JobState.CANCELLED:
            left.append(duel)
    return left


def duels_strike(
    *, duels: Iterable[Duel], reason: str, code: CancelCode = CancelCode.BY_ORGANISER, user: User | None = None
) -> int:
    """Take duels back: open ones are cancelled, all others are struck. Raises StaleJob.

    Return how many were struck; if any, the caller ends its transaction with the change of the ledger.
    """
    count = 0
    for duel in duels_cancel(duels=duels, code=code, reason=reason):
        if not duel.is_over:
            raise StaleJob(f"Duel {duel.pk} could be neither cancelled nor struck.")
        _, is_new = LedgerVoid.objects.get_or_create(duel=duel, defaults={"reason": reason[:200], "created_by": user})
        count += is_new
    return count


def leaving_forget(*, tournament: Tournament, number: int) -> int:
    """Let participants who left in round `number` or later have left before it, because its duels were struck.

    Return how many that concerns. Otherwise they would be paired again: see `arena_kit.ranking.formats.History`.
    """
    return tournament.participants.filter(left_after__gte=number).update(left_after=number - 1)


def drawn_again_leave(*, tournament: Tournament, rounds: Mapping[int, int]) -> bool:
    """Withdraw participants who left after the end of a tournament and would have to play again; return whether any.

    rounds: the round in which each submission is to play; its opponent has a walkover there, and earlier results stand.
    Others who have left keep their places. The caller holds the tournament's row.
    """
    late = tournament.participants.filter(GONE, withdrawn_at=None).exclude(left_after=None)
    found = list(late.filter(submission__in=rounds).order_by("pk").values_list("pk", "submission"))
    for row, submission in found:
        Participant.objects.filter(pk=row).update(withdrawn_at=Now(), left_after=rounds[submission])
    return bool(found)


def round_void(*, tournament: Tournament, number: int, reason: str, user: User | None) -> int:
    """Strike a round, so that it is played again; return how many duels it had.

    The manager strikes what depends on it, as the format says. A tournament that has ended goes on. Raises Refused for
    an edition of the arena, for a round that was not drawn, for a tournament that was never played, and for one that
    has ended if a participant could not play the round again.
    """
    with transaction.atomic():
        held = tournament_hold(tournament)
        _check_voidable(held)
        duels = list(counting(held).filter(round=number))
        if not duels:
            last = counting(held).aggregate(last=Max("round"))["last"]
            drawn = f"the last one that was is round {last}" if last else "none was so far"
            raise Refused(f"Round {number} was not drawn: {drawn}.")
        _check_playable(held, duels)
        leaving_forget(tournament=held, number=number)
        duels_strike(duels=duels, reason=reason, user=user)
        _go_on(held)
    tournament.refresh_from_db()
    return len(duels)


def meeting_void(*, duel: Duel, reason: str, user: User | None) -> None:
    """Strike a duel of an organisers' tournament, and later duels of its meeting, so that they are played again.

    As `round_void`. In a cancelled tournament the duels are struck but not played again.
    """
    assert duel.tournament is not None
    with transaction.atomic():
        held = tournament_hold(duel.tournament)
        duels = [duel, *_meeting(held, duel).filter(number__gt=duel.number)]
        _check_playable(held, duels)
        duels_strike(duels=duels, reason=reason, user=user)
        _go_on(held)


def meeting_again(*, duel: Duel, reason: str, user: User | None) -> None:
    """Play a meeting of an organisers' tournament again that the arena could not play; `duel` is a void duel of it.

    As `round_void`. Raises Refused also if the meeting has gone on or a duel of it was struck.
    """
    assert duel.tournament is not None
    with transaction.atomic():
        held = tournament_hold(duel.tournament)
        _check_voidable(held)
        duels: list[Duel] = []
        for row in _meeting(held, duel).order_by("number"):
            # Duels played before the first void one stay.
            duels = [*duels, row] if row.state == JobState.FAILED else []
        if duel not in duels:
            raise Refused(
                "Its meeting has already been decided or replayed without this duel, so there is nothing to play again."
            )
        _check_playable(held, duels)
        duels_strike(duels=duels, reason=reason, user=user)
        _go_on(held)


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


def _check_playable(tournament: Tournament, duels: Sequence[Duel]) -> None:
    """Raise Refused if duels of a tournament that has ended cannot be played again, because a player may not or cannot.

    A participant who leaves after the end keeps the place, so nothing could decide it anew.
    """
    if tournament.state != TournamentState.FINISHED:
        return
    players = {player for duel in duels for player in (duel.player_1_id, duel.player_2_id)}
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
    """Note that duels of a tournament were struck, and reopen it if it has ended."""
    ended = Tournament.objects.filter(pk=tournament.pk, state=TournamentState.FINISHED)
    if ended.update(state=TournamentState.RUNNING, ended_at=None):
        tournament.participants.update(rating=None, rating_low=None, rating_high=None)
        # Participants who left after the end have not withdrawn; only `left_after` marks them.
        tournament.participants.filter(withdrawn_at=None).update(left_after=None)
        barred = tournament.participants.filter(GONE, withdrawn_at=None).values_list("pk", flat=True)
        tournament.participants.filter(pk__in=list(barred)).update(left_after=last_round(tournament))
    ledger_change(environment_id=tournament.environment_id, kind=LedgerChange.Kind.STRIKE, tournament=tournament)


def last_round(tournament: Tournament) -> int:
    """The last round with duels that count, 0 for none."""
    last: int | None = counting(tournament).aggregate(last=Max("round"))["last"]
    return last or 0
