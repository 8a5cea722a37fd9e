"""Background work of the tournament manager; messages name an environment's row."""

from __future__ import annotations

import logging

from django.db.models.functions import Now

from core.errors import Refused
from core.lookout import look
from core.models import Environment
from core.services.artifacts import artifacts_sweep
from tournament_manager import editions

logger = logging.getLogger(__name__)


def tournaments_advance(environment_id: int) -> None:
    """Refresh standings, end and start editions of one environment. Safe to call at any time, any number of times."""
    # The database's clock, as everywhere: this machine's may be wrong.
    environment = Environment.objects.annotate(now=Now()).filter(pk=environment_id, seats__gt=1).first()
    if environment is not None:
        editions.advance(environment, now=environment.now)


def tournament_start(environment_id: int) -> None:
    """Start an edition for an organiser."""
    try:
        tournament = editions.start_now(Environment.objects.get(pk=environment_id))
    except Refused as refusal:
        logger.warning("No edition started: %s", refusal)
    else:
        logger.info("Started %s.", tournament)


def artifacts_remove_unused(_: int = 0) -> None:
    """Delete files that workers have left which died or were refused."""
    artifacts_sweep()


def watchdog(_: int = 0) -> None:
    """Every minute: look after every environment, and do what the lookouts do, should no cluster have one."""
    look()
    for environment in Environment.objects.annotate(now=Now()).filter(seats__gt=1):
        try:
            editions.advance(environment, now=environment.now)
        except Exception:
            # One environment in trouble must not stop the others.
            logger.exception("%s cannot be brought up to date.", environment)
