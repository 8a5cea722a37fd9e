"""Begins tournaments of organisers, creates and strikes their duels, and records who leaves.

The format decides who meets whom, see `core.editions.progress`; this module writes the rows. Rows are locked in
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
from core.duels.services import BATCH_SIZE, duels_enqueue
from core.duels.stopping import tournament_test
from core.errors import Refused
from core.jobs.control import job_cancel_if_open
from core.jobs.states import StaleJob
from core.models import (
    CancelCode,
    Duel,
    JobState,
    LedgerVoid,
    Participant,
    Submission,
    Tournament,
    TournamentState,
    User,
)
from core.tournaments.notices import tournament_started

GONE = (
    Q(submission__agent__is_disabled=True)
    | Q(submission__agent__owner__is_active=False)
    | Q(submission__deleted_at__isnull=False)
)
"""The condition for participants of organisers' tournaments that may not play any more."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """A duel to create. player_1, player_2: ids of submissions. expected: predicted share of the matches of player_1.

    seed: used where duels do not share openings. encounter: as in `duel_seed`.
    """

    round: int
    player_1: int
    player_2: int
    seed: int
    match_count: int
    expected: float | None = None
    encounter: int = 0


def tournament_lock(tournament: Tournament) -> Tournament:
    """The current tournament, locked with its participants until the end of the transaction."""
    rows = Tournament.objects.select_for_update(of=("self",), no_key=True).select_related("environment")
    held = rows.get(pk=tournament.pk)
    list(held.participants.order_by("pk").select_for_update(no_key=True).values_list("pk"))
    return held


def tournament_open(
    *,
    tournament: Tournament,
    submissions: Sequence[Submission],
    baselines: Sequence[Submission] = (),
    settings: Mapping[str, object],
    seed: int,
    now: datetime,
) -> None:
    """Begin a planned tournament with these participants, in the order of their seeds.

    baselines: versions that play besides them. settings: all of its format, because defaults may change while it is
    played. Raises Refused when it is not planned.
    """
    with transaction.atomic():
        rows = Tournament.objects.filter(pk=tournament.pk, state=TournamentState.PLANNED)
        if not rows.update(state=TournamentState.RUNNING, started_at=now, settings=dict(settings), seed=seed):
            raise Refused(f"{tournament} is no longer planned: it has begun or was cancelled.")
        Participant.objects.bulk_create(
            [
                Participant(tournament=tournament, submission=submission, seeding=seeding)
                for seeding, submission in enumerate(submissions, start=1)
            ]
            + [Participant(tournament=tournament, submission=submission, is_baseline=True) for submission in baselines],
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
    version = first.environment_version if first else tournament.rules_id
    duels_enqueue(
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
    duels, count = list(duels), 0
    # They are played again, and their new results are not revealed yet.
    if number := min((duel.round for duel in duels), default=0):
        for column in ("revealed_to_all", "revealed_to_participants"):
            rows = Tournament.objects.filter(duels=duels[0], **{f"{column}__gte": number})
            rows.update(**{column: number - 1})
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


def last_round(tournament: Tournament) -> int:
    """The last round with duels that count, 0 for none."""
    last: int | None = counting(tournament).aggregate(last=Max("round"))["last"]
    return last or 0
