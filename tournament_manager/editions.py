"""When an edition starts and when it ends."""

from __future__ import annotations

import secrets
from datetime import timedelta

from django.db import IntegrityError
from django.utils import timezone

from core.errors import Refused
from core.models import Build, Environment, JobState, Submission, Tournament, TournamentState, Validation
from core.services.tournaments import tournament_create, tournament_finish
from tournament_manager.ledger import ratings_keep, ratings_refresh, standings_refresh
from tournament_manager.pairing import round_robin

PENDING_WAIT = timedelta(minutes=5)
"""A new edition waits at most this long for uploads that are still built or validated."""


def advance(environment: Environment) -> None:
    """Bring an environment up to date: standings, the end of the running edition, the start of the next."""
    running = environment.tournaments.filter(state=TournamentState.RUNNING).first()
    if running is not None:
        standings_refresh(running)
        if running.duels.filter(state__in=[JobState.QUEUED, JobState.RUNNING]).exists():
            ratings_refresh(environment)
            return
        finish(running)
    else:
        last = environment.tournaments.order_by("-edition").first()
        if last is not None:
            # A duel of it may have been struck or finished late.
            standings_refresh(last)
            ratings_refresh(environment)
    submissions = entrants(environment)
    if environment.is_active and is_due(environment, submissions) and not is_pending(environment):
        start(environment, submissions)


def finish(tournament: Tournament) -> None:
    """End an edition whose duels are all over, with its final table and ratings."""
    standings_refresh(tournament)
    if tournament_finish(tournament=tournament):
        ratings_refresh(tournament.environment)
        ratings_keep(tournament)


def start_now(environment: Environment) -> Tournament:
    """Start an edition although nothing has changed. Raises Refused, saying why not."""
    if environment.tournaments.filter(state=TournamentState.RUNNING).exists():
        raise Refused(f"An edition of {environment} is running; wait for its end or cancel it.")
    submissions = entrants(environment)
    if len(submissions) < 2:
        raise Refused(f"{environment} has {len(submissions)} agents with a valid submission; a tournament needs two.")
    tournament = start(environment, submissions)
    if tournament is None:
        raise Refused(f"An edition of {environment} has just been started by somebody else.")
    return tournament


def start(environment: Environment, submissions: list[Submission]) -> Tournament | None:
    """Create the next edition, None when somebody else was quicker."""
    pairs = round_robin(len(submissions))
    rounds = [[(submissions[first], submissions[second]) for first, second in pairing] for pairing in pairs]
    try:
        return tournament_create(
            environment=environment, submissions=submissions, rounds=rounds, seed=secrets.randbelow(2**31)
        )
    except IntegrityError:
        return None


def entrants(environment: Environment) -> list[Submission]:
    """The latest valid submission of every agent, by agent."""
    latest: dict[int, Submission] = {}
    valid = Submission.objects.valid().filter(agent__environment=environment).select_related("agent")
    for submission in valid.order_by("agent_id", "number"):
        latest[submission.agent_id] = submission
    return list(latest.values())


def is_due(environment: Environment, submissions: list[Submission]) -> bool:
    """Whether there are two agents and the set differs from that of the last edition (a cancelled one included)."""
    if len(submissions) < 2:
        return False
    last = environment.tournaments.order_by("-edition").first()
    if last is None:
        return True
    return set(last.participants.values_list("submission_id", flat=True)) != {row.pk for row in submissions}


def is_pending(environment: Environment) -> bool:
    """Whether fresh uploads are still built or validated: they should take part."""
    since = timezone.now() - PENDING_WAIT
    open_states = [JobState.QUEUED, JobState.RUNNING]
    return any(
        model._default_manager.filter(
            submission__agent__environment=environment, state__in=open_states, created_at__gt=since
        ).exists()
        for model in (Build, Validation)
    )
