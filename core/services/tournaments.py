"""Tournaments: created whole, ended once."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from core.models import Duel, Environment, JobState, Participant, Submission, Tournament, TournamentState
from core.queues import TOURNAMENT_TASK, wake
from core.services.jobs import QUEUES_AND_TASKS, job_cancel_if_open
from core.services.turns import FIRST

Rounds = Sequence[Sequence[tuple[Submission, Submission]]]
BATCH_SIZE = 500
STANDING_FIELDS = ("rank", "points", "wins", "draws", "losses", "total_score")


class EditionTaken(Exception):
    """Somebody else has started this edition, or one that still runs."""


def tournament_create(
    *, environment: Environment, edition: int, submissions: Sequence[Submission], rounds: Rounds, seed: int
) -> Tournament:
    """Start an edition: tournament, participants and all duels in one transaction.

    edition: one more than the last one that the caller has seen; of two callers who saw the same, one is refused.
    seed: of the edition; duel number n plays with seed + n. Raises EditionTaken; then nothing is written.
    """
    queue, task = QUEUES_AND_TASKS[Duel.KIND]
    with transaction.atomic():
        try:
            with transaction.atomic():
                tournament = Tournament.objects.create(environment=environment, edition=edition)
        except IntegrityError:
            raise EditionTaken(f"{environment} edition {edition}, or one before it, is there already.") from None
        Participant.objects.bulk_create(
            [Participant(tournament=tournament, submission=submission) for submission in submissions],
            batch_size=BATCH_SIZE,
        )
        pairs = [(number, *pair) for number, round_pairs in enumerate(rounds, start=1) for pair in round_pairs]
        duels = Duel.objects.bulk_create(
            [
                Duel(
                    tournament=tournament,
                    number=number,
                    round=round_number,
                    player_1=player_1,
                    player_2=player_2,
                    environment_version=environment.spec_id,
                    seed=seed + number,
                    match_count=environment.matches_per_duel,
                    turn=FIRST,
                )
                for number, (round_number, player_1, player_2) in enumerate(pairs, start=1)
            ],
            batch_size=BATCH_SIZE,
        )
        # As job_enqueue does it for one job: hundreds of duels in one statement.
        tournament.duels.update(woken_at=Now())
        for duel in duels:
            wake(queue, task, duel.pk)
    return tournament


def standings_save(*, participants: Sequence[Participant]) -> None:
    """Write the figures of participants that were computed of the ledger."""
    Participant.objects.bulk_update(participants, STANDING_FIELDS, batch_size=BATCH_SIZE)


def tournament_finish(*, tournament: Tournament) -> bool:
    """End a running edition; return whether this call was the one that did."""
    return _end(tournament, TournamentState.FINISHED)


def tournament_cancel(*, tournament: Tournament, reason: str) -> None:
    """Stop a running edition: what has been played stays in the ledger, the rest is cancelled."""
    with transaction.atomic():
        if not _end(tournament, TournamentState.CANCELLED):
            return
        for duel in tournament.duels.filter(state__in=[JobState.QUEUED, JobState.RUNNING]):
            job_cancel_if_open(job=duel, reason=reason)
        wake("tournament", TOURNAMENT_TASK, tournament.environment_id)


def _end(tournament: Tournament, state: TournamentState) -> bool:
    rows = Tournament.objects.filter(pk=tournament.pk, state=TournamentState.RUNNING)
    return bool(rows.update(state=state, ended_at=Now()))
