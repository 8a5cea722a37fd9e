"""Background work of the tournament manager; messages name an environment's row."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from core.errors import Refused
from core.models import Environment
from core.queues import waiting_count
from core.services.artifacts import artifacts_sweep
from core.services.jobs import jobs_requeue_expired, jobs_wake_waiting
from core.services.watch import watch
from core.worker import worker_name
from tournament_manager import editions

logger = logging.getLogger(__name__)
WAKE_AFTER = timedelta(minutes=1)
"""How long a job waits, while its queue is empty, before its message is taken for lost."""


def tournaments_advance(environment_id: int) -> None:
    """Refresh standings, end and start editions of one environment. Safe to call at any time, any number of times."""
    environment = Environment.objects.filter(pk=environment_id, seats__gt=1).first()
    if environment is not None:
        editions.advance(environment, now=timezone.now())


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
    """Every minute: take jobs from dead workers, send lost messages again, look after every environment."""
    jobs_requeue_expired()
    watch(worker=worker_name())
    # While messages wait in a queue its workers are only busy; more of them would pile up.
    idle = [queue for queue in settings.QUEUES if waiting_count(queue) == 0]
    jobs_wake_waiting(older_than=WAKE_AFTER, queues=idle)
    for environment in Environment.objects.filter(seats__gt=1):
        try:
            editions.advance(environment, now=timezone.now())
        except Exception:
            # One environment in trouble must not stop the others.
            logger.exception("%s cannot be brought up to date.", environment)
