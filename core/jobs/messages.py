"""Messages: requests for short tasks, which wait in django-q's table until a worker of their queue does them.

Several requests for the same thing that wait are one message. Long work has no messages: it is in rows of its own.
"""

from __future__ import annotations

import logging

from django.db import Error, transaction
from django.db.models import QuerySet
from django_q.models import OrmQ
from django_q.tasks import async_task

from core.jobs.apart import apart
from core.jobs.hosts import worker_name
from core.jobs.locks import name_lock
from core.jobs.registry import TASKS
from core.jobs.wakeups import workers_wake
from core.jobs.worker_selectors import workers_alive

logger = logging.getLogger(__name__)

TOURNAMENT_TASK = "tournaments_advance"
IMAGES_TASK = "images_remove_unused"
IMAGES_CHECK_TASK = "images_restore"
BASE_IMAGE_TASK = "base_image_ensure"
CHALLENGE_TASK = "challenge_follow"
MAIL_TASK = "mails_send"
DELIVERIES_TASK = "deliveries_run"
REPOSITORY_TASK = "repository_refresh"

TASK = f"{__name__}.task_run"
"""The dotted path of the function that every message names."""
TAKEN = " taken by "
"""Between the names of a queue and of a worker: the key of a message whose task is running."""
MOST_LETTERS = 100


def task_request(queue: str, task: str, argument: int | str = 0) -> None:
    """Let a worker of a queue run a registered task, once the surrounding transaction has committed.

    Several requests before it starts make it run once. A failure to store the message does not affect what was
    committed.
    """
    transaction.on_commit(lambda: _send(queue, task, argument), robust=True)


def task_run(task: str, argument: int | str) -> None:
    """Run the task of a message."""
    TASKS[task](argument)


def messages(queue: str) -> QuerySet[OrmQ]:
    """Return the messages that wait in a queue, the oldest first, and not those whose task is running."""
    rows: QuerySet[OrmQ] = OrmQ.objects.filter(key=queue).order_by("pk")
    return rows


def waiting_count(queue: str) -> int:
    """Return the number of messages that no worker of a queue has taken yet."""
    return messages(queue).count()


def message_do(queue: str) -> bool:
    """Run the task of the oldest message of a queue; return False when none waits. An error is logged."""
    first = messages(queue).first()
    if first is None:
        return False
    # It waits no longer before its task runs, because the task may miss what changes from now on. It goes when the task
    # is over: that of a worker that was killed is done again.
    if messages(queue).filter(pk=first.pk).update(key=_taken(queue, worker_name())) == 0:
        return True
    called = _read(first)
    if called is not None:
        # A schedule may have asked for the same.
        OrmQ.objects.filter(pk__in=[row.pk for row in messages(queue) if _read(row) == called]).delete()
        task, argument = called
        with apart(f"The task {task} of {argument}"):
            task_run(task, argument)
    OrmQ.objects.filter(pk=first.pk).delete()
    return True


def messages_give_back() -> None:
    """Let the messages wait again whose worker has died in their task."""
    alive = list(workers_alive().values_list("name", flat=True))
    for row in OrmQ.objects.filter(key__contains=TAKEN):
        queue = row.key.partition(TAKEN)[0]
        if row.key not in {_taken(queue, name) for name in alive}:
            OrmQ.objects.filter(pk=row.pk, key=row.key).update(key=queue)
            workers_wake(queue)


def messages_thin() -> None:
    """Leave one of equal messages: where no worker takes them, those of schedules would grow without end."""
    for queue in OrmQ.objects.exclude(key__contains=TAKEN).order_by().values_list("key", flat=True).distinct():
        seen: set[tuple[str, int | str] | None] = set()
        for row in list(messages(queue)):
            called = _read(row)
            if called in seen:
                OrmQ.objects.filter(pk=row.pk).delete()
            seen.add(called)


def _send(queue: str, task: str, argument: int | str) -> None:
    try:
        if _is_waiting(queue, task, argument):
            return
        with transaction.atomic():
            # The first of several senders at the same time does it.
            name_lock(f"message {task} {argument}")
            if not _is_waiting(queue, task, argument):
                name = f"{task}:{argument}"
                async_task(TASK, task, argument, cluster=queue, task_name=name)
                workers_wake(queue)
    except Error as error:
        logger.warning("The task %s of %s could not be requested: %s", task, argument, error)


def _is_waiting(queue: str, task: str, argument: int | str) -> bool:
    return any(_read(row) == (task, argument) for row in messages(queue))


def _taken(queue: str, worker: str) -> str:
    return f"{queue}{TAKEN}{worker}"[:MOST_LETTERS]


def _read(row: OrmQ) -> tuple[str, int | str] | None:
    """Return the task and the argument of a message; None, with a warning, where it is no message of this arena."""
    match row.args():
        case (str(task), int() | str() as argument):
            return task, argument
    logger.warning("The message %d of the queue %s cannot be read by a worker.", row.pk, row.key)
    return None
