"""Background work of the tournament manager; messages name an environment's row."""

from __future__ import annotations

import logging
from datetime import timedelta

from core.errors import Refused
from core.models import Environment
from core.services.jobs import jobs_requeue_expired, jobs_wake_waiting
from tournament_manager import editions

logger = logging.getLogger(__name__)
WAKE_AFTER = timedelta(minutes=10)


def tournaments_advance(environment_id: int) -> None:
    """Refresh standings, end and start editions of one environment. Safe to call at any time, any number of times."""
    environment = Environment.objects.filter(pk=environment_id).first()
    if environment is not None:
        editions.advance(environment)


def tournament_start(environment_id: int) -> None:
    """Start an edition for an organiser."""
    try:
        tournament = editions.start_now(Environment.objects.get(pk=environment_id))
    except Refused as refusal:
        logger.warning("No edition started: %s", refusal)
    else:
        logger.info("Started %s.", tournament)


def watchdog(_: int = 0) -> None:
    """Every minute: take jobs from dead workers, send lost messages again, look after every environment."""
    jobs_requeue_expired()
    jobs_wake_waiting(older_than=WAKE_AFTER)
    for environment in Environment.objects.all():
        editions.advance(environment)
