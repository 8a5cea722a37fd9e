"""Begins planned tournaments when they are due, and plans tournaments of schedules."""

from __future__ import annotations

import logging
from datetime import datetime

from core.editions.progress import NotYet, tournament_begin
from core.errors import Refused
from core.jobs.apart import apart
from core.models import Environment, Tournament, TournamentSchedule, TournamentState
from core.tournaments.planning import tournament_call_off
from core.tournaments.registration_selectors import awaited_count
from core.tournaments.schedules import schedule_run

logger = logging.getLogger(__name__)


def planned_begin(environment: Environment, *, now: datetime) -> None:
    """Begin the planned tournaments of an environment that are due; call off those that cannot be played.

    Tournaments of an environment that is closed or unavailable wait until it is open again, and others for versions
    from before the freeze that are still being built or validated.
    """
    if environment.closed_because:
        return
    due = environment.tournaments.filter(state=TournamentState.PLANNED, starts_at__lte=now)
    for tournament in due.order_by("starts_at", "pk"):
        with apart(tournament):
            if not awaited_count(tournament, now=now):
                _begin(tournament, now=now)


def _begin(tournament: Tournament, *, now: datetime) -> None:
    try:
        tournament_begin(tournament, now=now)
    except NotYet:
        logger.info("%s has been delayed.", tournament)
    except Refused as refusal:
        if tournament_call_off(tournament=tournament, reason=str(refusal)):
            logger.warning("%s is called off: %s", tournament, refusal)
    else:
        logger.info("%s has begun.", tournament)


def schedules_run(*, now: datetime) -> None:
    """Plan the tournaments of all schedules that are due."""
    for schedule in TournamentSchedule.objects.filter(is_active=True):
        with apart(schedule):
            planned = schedule_run(schedule=schedule, now=now)
            if planned is not None:
                logger.info("%s has planned %s.", schedule, planned)
