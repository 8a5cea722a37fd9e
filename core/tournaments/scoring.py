"""The evaluations of tournaments whose participants play alone, on hidden seeds of the tournament's own."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import QuerySet

from arena_kit.ranking.formats import CountedScore, DuelState
from core.evaluations.seeds import seeds_for_tournament
from core.evaluations.services import evaluation_new
from core.jobs.control import job_cancel_if_open
from core.jobs.states import OPEN
from core.models import CancelCode, Evaluation, JobFault, JobState, Submission, Tournament
from core.tournaments.rules import format_of


def evaluations_counting(tournament: Tournament) -> QuerySet[Evaluation]:
    """The evaluations of a tournament that count or may still count: neither void nor cancelled."""
    return Evaluation.every.filter(tournament=tournament, void_because="").exclude(state=JobState.CANCELLED)


def scores_of(tournament: Tournament) -> tuple[CountedScore, ...]:
    """The scores of a tournament's participants, as its format reads them."""
    columns = ("submission", "state", "fault", "public_error", "score", "score_low", "score_high")
    found = []
    for who, state, fault, failure, score, low, high in (
        evaluations_counting(tournament).order_by("pk").values_list(*columns) if tournament.plays_alone else ()
    ):
        if state == JobState.SUCCEEDED:
            found.append(CountedScore(who, DuelState.PLAYED, (score, low, high)))
        elif state != JobState.FAILED:
            found.append(CountedScore(who))
        else:
            is_own = fault == JobFault.PLAYER
            found.append(CountedScore(who, DuelState.PLAYED if is_own else DuelState.VOID, failure=failure))
    return tuple(found)


def evaluations_draw(*, tournament: Tournament, submissions: Sequence[int]) -> None:
    """Evaluate participants on the seeds of a tournament. The caller holds its row."""
    if not submissions:
        return
    seed_list = seeds_for_tournament(tournament, format_of(tournament).length)
    # A tournament is played with one version of the rules, although the environment may have a newer one.
    first = Evaluation.every.filter(tournament=tournament).order_by("pk").first()
    version = first.environment_version if first else tournament.environment.spec_id
    rows = Submission.objects.select_related("agent__environment").in_bulk(submissions)
    for key in submissions:
        evaluation_new(submission=rows[key], seed_list=seed_list, environment_version=version, tournament=tournament)


def evaluations_lock(tournament: Tournament) -> None:
    """Lock the open evaluations of a tournament. Call it before its row is locked, see `core.jobs.locks`."""
    rows = Evaluation.every.filter(tournament=tournament, state__in=OPEN).order_by("pk")
    list(rows.select_for_update(no_key=True).values_list("pk"))


def evaluations_cancel(rows: QuerySet[Evaluation], *, code: CancelCode, reason: str) -> None:
    """Cancel the open ones of some evaluations."""
    for evaluation in rows.filter(state__in=OPEN).order_by("pk"):
        job_cancel_if_open(job=evaluation, code=code, reason=reason)
