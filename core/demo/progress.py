"""The demo's progress, from the rows: the jobs of each stage, and the first leaderboards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.db.models import Count, Q

from core.evaluations.board import BoardFilter, board_page
from core.jobs.states import OPEN
from core.links import absolute, page
from core.models import Build, Duel, Environment, Evaluation, JobState, TournamentState, Validation
from core.ratings.board import board_rows
from core.ratings.tables import TableFilter

AGENTS_SHOWN = 3
"""Agents that the line of a leaderboard names."""


def stages(environments: Sequence[Environment]) -> str:
    """Return how many jobs of each stage are over, out of those known: "built 3/4, validated 2/3"."""
    submitted = Q(submission__agent__environment__in=environments)
    played = Q(tournament__environment__in=environments)
    counts = []
    for name, model, within in (
        ("built", Build, submitted),
        ("validated", Validation, submitted),
        ("duels", Duel, played),
        ("evaluated", Evaluation, submitted),
    ):
        jobs = model._default_manager.filter(within)
        count = jobs.aggregate(total=Count("pk"), open=Count("pk", filter=Q(state__in=OPEN)))
        if count["total"]:
            counts.append(f"{name} {count['total'] - count['open']}/{count['total']}")
    return ", ".join(counts)


def leaderboard(environment: Environment) -> str | None:
    """Return the best agents and the page of an environment's first leaderboard; None before it is complete."""
    work = (Build, Validation, Evaluation)
    within = Q(state__in=OPEN, submission__agent__environment=environment)
    if any(model._default_manager.filter(within).exists() for model in work):
        return None
    best = list(_scored(environment) if environment.is_scored else _rated(environment))
    if not best:
        return None
    return f"{environment}: {', '.join(best)}. {absolute(page('environment', environment.slug))}"


def failures(environments: Sequence[Environment]) -> Iterator[str]:
    """Yield a sentence for each failed job of these environments' agents."""
    failed = Q(state=JobState.FAILED, submission__agent__environment__in=environments)
    for model in (Build, Validation, Evaluation):
        for job in model._default_manager.filter(failed).select_related("submission__agent__environment"):
            yield f"Failed: {job.KIND} of {job.submission} in {job.submission.agent.environment}: {job.error}"


def _rated(environment: Environment) -> Iterator[str]:
    if not environment.tournaments.filter(state=TournamentState.FINISHED).exists():
        return iter(())
    rows = board_rows(environment, TableFilter())
    return (f"{row.rank}. {row.submission} ({row.value:.0f})" for row in rows[:AGENTS_SHOWN])


def _scored(environment: Environment) -> Iterator[str]:
    rows = board_page(environment, BoardFilter(), limit=AGENTS_SHOWN).rows
    return (f"{row.rank}. {row.agent} v{row.number} ({row.score:.2f})" for row in rows)
