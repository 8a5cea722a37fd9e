"""Tournaments: created whole, ended once."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from django.utils import timezone

from core.models import Duel, Environment, JobState, Participant, Submission, Tournament, TournamentState
from core.queues import TOURNAMENT_TASK, wake
from core.services.jobs import job_cancel, job_wake
from core.states import StaleJob

Rounds = Sequence[Sequence[tuple[Submission, Submission]]]


def tournament_create(
    *, environment: Environment, submissions: Sequence[Submission], rounds: Rounds, seed: int
) -> Tournament:
    """Start the next edition: tournament, participants and all duels in one transaction.

    seed: of the edition; duel number n plays with seed + n. Raises IntegrityError when an edition is running.
    """
    with transaction.atomic():
        Environment.objects.select_for_update().get(pk=environment.pk)
        last = Tournament.objects.filter(environment=environment).order_by("-edition").first()
        tournament = Tournament.objects.create(environment=environment, edition=last.edition + 1 if last else 1)
        Participant.objects.bulk_create(
            Participant(tournament=tournament, submission=submission) for submission in submissions
        )
        number = 0
        for round_number, pairs in enumerate(rounds, start=1):
            for player_1, player_2 in pairs:
                number += 1
                duel = Duel.objects.create(
                    tournament=tournament,
                    number=number,
                    round=round_number,
                    player_1=player_1,
                    player_2=player_2,
                    seed=seed + number,
                    match_count=environment.matches_per_duel,
                )
                job_wake(job=duel)
    return tournament


def tournament_finish(*, tournament: Tournament) -> bool:
    """End a running edition; return whether this call was the one that did."""
    return bool(
        Tournament.objects.filter(pk=tournament.pk, state=TournamentState.RUNNING).update(
            state=TournamentState.FINISHED, ended_at=timezone.now()
        )
    )


def tournament_cancel(*, tournament: Tournament, reason: str) -> None:
    """Stop an edition: what has been played stays in the ledger, the rest is cancelled."""
    with transaction.atomic():
        Tournament.objects.filter(pk=tournament.pk, state=TournamentState.RUNNING).update(
            state=TournamentState.CANCELLED, ended_at=timezone.now()
        )
        for duel in tournament.duels.filter(state__in=[JobState.QUEUED, JobState.RUNNING]):
            try:
                job_cancel(job=duel, reason=reason)
            except StaleJob:
                continue
        wake("tournament", TOURNAMENT_TASK, tournament.environment_id)
