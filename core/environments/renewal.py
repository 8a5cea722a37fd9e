"""New rules of a game: its versions are validated again, and earlier results count no longer for ratings."""

from __future__ import annotations

import secrets

from django.db.models import Max

from core.jobs.lifecycle import job_enqueue
from core.models import Environment, JobState, LedgerChange, Submission, TournamentState, Validation
from core.models.agent import latest_state
from core.ratings.ledger import ledger_change
from core.ratings.services import ratings_keep


def validation_begin(*, submission: Submission, environment: Environment, match_count: int = 0) -> None:
    """Put a validation of a version by today's rules in line. match_count: 0 for the environment's own."""
    validation = Validation.objects.create(
        submission=submission,
        environment_version=environment.spec_id,
        seed=secrets.randbelow(2**31),
        match_count=match_count or environment.matches_per_validation,
    )
    job_enqueue(job=validation)


def rules_renew(*, environment: Environment) -> None:
    """Let what follows from new rules of a game happen. Call it last in the transaction that writes its version.

    Versions that could play are validated again and play when they pass. Ratings count today's rules alone; tournaments
    that run keep the ratings of their participants as they are now.
    """
    waiting = Validation.objects.filter(**{Validation.ENVIRONMENT: environment}, state=JobState.QUEUED)
    waiting.update(environment_version=environment.spec_id)
    for submission in _validated(environment):
        validation_begin(submission=submission, environment=environment)
    for tournament in environment.tournaments.filter(state=TournamentState.RUNNING).order_by("pk"):
        ratings_keep(tournament=tournament)
    ledger_change(environment_id=environment.pk, kind=LedgerChange.Kind.RECOMPUTE)


def _validated(environment: Environment) -> list[Submission]:
    """Return the versions that could play, or that are being validated by earlier rules.

    The newest of each agent come first. Older ones are among them: one plays where a newer one fails.
    """
    rows = Submission.objects.filter(
        agent__environment=environment,
        agent__deleted_at=None,
        deleted_at=None,
        image_removed_at=None,
        is_trial=False,
    ).alias(build_state=latest_state("Build"), validation_state=latest_state("Validation"))
    able = rows.filter(build_state="SUCCEEDED", validation_state__in=("SUCCEEDED", "RUNNING"))
    newest = set(able.order_by().values("agent").annotate(last=Max("number")).values_list("agent", "last"))
    return sorted(able, key=lambda row: ((row.agent_id, row.number) not in newest, -row.number, row.pk))
