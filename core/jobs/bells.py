"""Queues only wake workers: a message names a task and a row's id. Losing every message loses nothing."""

from __future__ import annotations

import logging

from django.db import transaction
from django_q.brokers import get_broker
from django_q.tasks import async_task

logger = logging.getLogger(__name__)

TOURNAMENT_TASK = "tournament_manager.tasks.tournaments_advance"
QUICK_TASK = "duel_runner.tasks.quick_run"
IMAGES_TASK = "builder.tasks.images_remove_unused"
CHALLENGE_TASK = "core.duels.challenges.challenge_follow"
MAIL_TASK = "core.notices.mails.mails_send"
DELIVERY_TASK = "core.notices.deliveries.delivery_run"
DELIVERIES_TASK = "core.notices.deliveries.deliveries_run"


def wake(queue: str, task: str, row_id: int) -> None:
    """Send a message after the surrounding transaction has committed.

    What was committed stands, whatever becomes of the message: where none can be sent the lookout finds the row.
    """
    transaction.on_commit(lambda: _send(queue, task, row_id))


def _send(queue: str, task: str, row_id: int) -> None:
    try:
        async_task(task, row_id, cluster=queue, task_name=f"{task}:{row_id}")
    # Each broker has errors of its own.
    except Exception as error:
        logger.warning("No message for %s %s could be sent: %s: %s", task, row_id, type(error).__name__, error)


def waiting_count(queue: str) -> int:
    """Messages that no worker of a queue has taken yet."""
    return int(get_broker(queue).queue_size())
