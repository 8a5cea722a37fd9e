"""Reads who would play in an edition, and whether one can begin."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db.models import Q

from core.errors import Refused
from core.jobs.states import OPEN
from core.models import Build, Environment, JobState, Play, Submission, Tournament, TournamentState, Validation
from core.tournaments.fields import active_field
from core.tournaments.ladder_selectors import ladder_outlook

PENDING_WAIT = timedelta(minutes=5)
"""How long a new edition waits for uploads that are still built or validated, counted from the first change."""


def last_edition(environment: Environment) -> Tournament | None:
    """Return the last automatic tournament of an environment."""
    return environment.tournaments.filter(is_automatic=True).order_by("-edition").first()


def participants_due(environment: Environment) -> list[Submission]:
    """Return the submissions that play in the next edition: of each owner as many agents as in a ladder."""
    return list(active_field(environment).playing)


def startable_participants(environment: Environment) -> list[Submission]:
    """Return the participants of an edition that begins now although nothing has changed. Raises Refused."""
    last = last_edition(environment)
    if environment.is_scored:
        raise Refused(
            f"{environment} has one seat: its agents are ranked by score. Choose an environment with two seats."
        )
    if not environment.is_active:
        raise Refused(f"{environment} is inactive; make it active first.")
    if environment.closed_because:
        raise Refused(environment.closed_because)
    if last is not None and last.state == TournamentState.RUNNING:
        raise Refused(f"{last} is still running. Wait until it ends, or cancel it.")
    if environment.play == Play.LADDER:
        raise Refused(f"{environment} plays a ladder, which begins by itself. {ladder_outlook(environment)}")
    submissions = participants_due(environment)
    if len(submissions) < 2:
        found = "one agent" if submissions else "no agent"
        raise Refused(
            f"A tournament needs two agents with a valid version that play; {environment} has {found}. Agents that "
            "rest, are disabled or whose versions are benched do not play."
        )
    return submissions


def are_built_again(missing: set[int], fresh: Sequence[Submission]) -> bool:
    """Return whether the only change is that submissions are being built or validated again, e.g. by an organiser.

    An edition without them, or with older versions in their place, would say nothing new, so the next one waits for
    them however long it takes.
    """
    is_open = Q(builds__state__in=OPEN) | Q(validations__state__in=OPEN)
    again = Submission.objects.filter(is_open, pk__in=missing).distinct()
    numbers = {submission.agent_id: submission.number for submission in again}
    return (
        bool(missing)
        and len(numbers) == len(missing)
        and all(submission.number < numbers.get(submission.agent_id, 0) for submission in fresh)
    )


def is_waiting(environment: Environment, fresh: Sequence[Submission], *, now: datetime) -> bool:
    """Return whether the next edition should wait for uploads that are still being built or validated.

    It does not wait for an upload older than PENDING_WAIT, nor once one of the `fresh` participants has waited that
    long.
    """
    since = now - PENDING_WAIT
    ready = Validation.objects.filter(submission__in=fresh, state=JobState.SUCCEEDED, ended_at__lt=since)
    if ready.filter(environment_version=environment.spec_id).exists():
        return False
    return any(
        model._default_manager.filter(
            submission__agent__environment=environment, state__in=OPEN, created_at__gt=since
        ).exists()
        for model in (Build, Validation)
    )
