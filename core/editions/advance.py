"""Takes one step of everything that is played in an environment."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from core.editions import planned, progress
from core.editions import services as editions
from core.editions.follow import follow
from core.jobs.apart import apart
from core.models import Environment
from core.tournaments.registrations import registration_notify


def environment_advance(environment: Environment, *, now: datetime) -> None:
    """Refresh standings, begin what is due, and end and start editions. Safe to repeat at any time."""
    # First, because all other steps use data derived from the ledger.
    with apart(f"What follows from the ledger of {environment}"):
        follow(environment)
    with apart(f"Word of open registrations of {environment}"):
        registration_notify(environment=environment, now=now)
    planned.planned_begin(environment, now=now)
    steps = [(row, partial(progress.tournament_step, row, now=now)) for row in progress.running(environment.pk)]
    steps += [(row, partial(progress.over_refresh, row)) for row in progress.outdated_over(environment.pk)]
    for tournament, step in steps:
        with apart(tournament):
            step()
    if not environment.is_scored:
        editions.advance(environment, now=now)
