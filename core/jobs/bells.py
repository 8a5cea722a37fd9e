"""Bells: messages that say that a queue has work. They carry no job, and several rung in a moment become one.

The waiting work is in rows. A bell that was rung and not answered has a row too, and while that is young no other
message is sent. Losing every message costs only seconds: an old bell is rung again, and the reaper rings the bell of
every queue in which work waits.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from datetime import timedelta

from django.conf import settings
from django.db import Error, transaction
from django.db.models.functions import Now
from django_q.brokers import get_broker
from django_q.tasks import async_task

from core.jobs.registry import DRIVERS, TASKS
from core.jobs.worker_selectors import workers_alive
from core.models import Bell

logger = logging.getLogger(__name__)

WORK = "work"
"""The task of a queue's own bell: do job after job. Its argument is the queue."""
TOURNAMENT_TASK = "tournaments_advance"
SCHEDULED_TASK = "tournament_scheduled"
IMAGES_TASK = "images_remove_unused"
IMAGES_CHECK_TASK = "images_restore"
BASE_IMAGE_TASK = "base_image_ensure"
CHALLENGE_TASK = "challenge_follow"
MAIL_TASK = "mails_send"
DELIVERIES_TASK = "deliveries_run"
REPOSITORY_TASK = "repository_refresh"

STALE_AFTER = timedelta(seconds=5)
"""Age at which an unanswered bell is rung again if no message waits in its queue."""
LOST_AFTER = timedelta(minutes=1)
"""Age at which an unanswered bell is rung again whatever waits in its queue, which may never be empty."""
ANSWER = f"{__name__}.answer"
"""The dotted path of the function that every message calls."""


def ring(queue: str) -> None:
    """Tell the workers of a queue that jobs wait, once the surrounding transaction has committed."""
    wake(queue, WORK, queue)


def wake(queue: str, task: str, argument: int | str = 0) -> None:
    """Ask a worker of a queue to run a registered task, once the surrounding transaction has committed.

    Several requests before it starts make it run once. A failure to send the message does not affect what was
    committed.
    """
    transaction.on_commit(lambda: _send(queue, task, argument))


def answer(task: str, argument: int | str) -> None:
    """Run the task of a message. The bell's row goes first, because the task may miss work added from now on."""
    Bell.objects.filter(name=_name(task, argument)).delete()
    TASKS[task](argument)


def waiting_count(queue: str) -> int:
    """Return the number of messages that no worker of a queue has taken yet."""
    return int(get_broker(queue).queue_size())


def _send(queue: str, task: str, argument: int | str) -> None:
    name = _name(task, argument)
    try:
        if not _is_to_be_sent(queue, name):
            return
        async_task(ANSWER, task, argument, cluster=queue, task_name=name)
    # Each broker raises its own errors.
    except Exception as error:
        logger.warning("The bell %s could not be rung: %s: %s", name, type(error).__name__, error)
        # Without the row the next caller tries again. The database may be away as well.
        with suppress(Error):
            Bell.objects.filter(name=name).delete()


def _is_to_be_sent(queue: str, name: str) -> bool:
    """Return whether this caller sends the message of a bell."""
    if queue in DRIVERS:
        return False
    bell = Bell.objects.filter(name=name)
    if bell.filter(rung_at__gte=Now() - STALE_AFTER).exists():
        return False
    if queue in settings.EXTRA_QUEUES and not workers_alive(queue).exists():
        return False
    # Its message may be lost. While messages wait, the workers may only be busy, and more messages would pile up.
    patience = STALE_AFTER if waiting_count(queue) == 0 else LOST_AFTER
    if bell.filter(rung_at__lt=Now() - patience).update(rung_at=Now()):
        return True
    return Bell.objects.get_or_create(name=name, defaults={"rung_at": Now()})[1]


def _name(task: str, argument: int | str) -> str:
    return f"{task}:{argument}"
