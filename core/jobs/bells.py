"""Bells: a message says that there is work. It carries no job, and many that are rung in a moment are one.

What waits stands in rows. A bell that was rung and not answered yet has a row, too: as long as it is young, no
other message is sent. Losing every message loses nothing but seconds: an old bell is rung anew, and the reaper rings
the bell of every queue in which work waits.
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

from core.jobs.registry import TASKS
from core.jobs.worker_selectors import workers_alive
from core.models import Bell

logger = logging.getLogger(__name__)

WORK = "work"
"""The task of a queue's own bell: claim job after job. Its argument is the queue."""
TOURNAMENT_TASK = "tournaments_advance"
START_TASK = "tournament_start"
SCHEDULED_TASK = "tournament_scheduled"
IMAGES_TASK = "images_remove_unused"
IMAGES_CHECK_TASK = "images_restore"
BASE_IMAGE_TASK = "base_image_ensure"
CHALLENGE_TASK = "challenge_follow"
MAIL_TASK = "mails_send"
DELIVERIES_TASK = "deliveries_run"

STALE_AFTER = timedelta(seconds=5)
"""A bell that was not answered for so long is rung again, unless messages still wait in its queue."""
ANSWER = f"{__name__}.answer"
"""What every message calls."""


def ring(queue: str) -> None:
    """Tell the workers of a queue that jobs wait, after the surrounding transaction has committed."""
    wake(queue, WORK, queue)


def wake(queue: str, task: str, argument: int | str = 0) -> None:
    """Have a registered task done by a worker of a queue, after the surrounding transaction has committed.

    Asked for several times before it is begun, it is done once. What was committed stands, whatever becomes of the
    message.
    """
    transaction.on_commit(lambda: _send(queue, task, argument))


def answer(task: str, argument: int | str) -> None:
    """Do what a message asks for. The bell may be rung again from the start: what comes now may not be seen below."""
    Bell.objects.filter(name=_name(task, argument)).delete()
    TASKS[task](argument)


def waiting_count(queue: str) -> int:
    """Messages that no worker of a queue has taken yet."""
    return int(get_broker(queue).queue_size())


def _send(queue: str, task: str, argument: int | str) -> None:
    name = _name(task, argument)
    try:
        if not _is_to_be_sent(queue, name):
            return
        async_task(ANSWER, task, argument, cluster=queue, task_name=name)
    # Each broker has errors of its own.
    except Exception as error:
        logger.warning("The bell %s could not be rung: %s: %s", name, type(error).__name__, error)
        # It is not under way: the next caller shall try again. The database may be away as well.
        with suppress(Error):
            Bell.objects.filter(name=name).delete()


def _is_to_be_sent(queue: str, name: str) -> bool:
    """Whether this caller is the one that sends the message of a bell."""
    bell = Bell.objects.filter(name=name)
    if bell.filter(rung_at__gte=Now() - STALE_AFTER).exists():
        return False
    if queue in settings.EXTRA_QUEUES and not workers_alive(queue).exists():
        return False
    if bell.filter(rung_at__lt=Now() - STALE_AFTER).update(rung_at=Now()):
        # Its message may be lost. Where messages wait, workers are only busy: more of them would pile up.
        return waiting_count(queue) == 0
    return Bell.objects.get_or_create(name=name, defaults={"rung_at": Now()})[1]


def _name(task: str, argument: int | str) -> str:
    return f"{task}:{argument}"
