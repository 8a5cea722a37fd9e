"""Alarms: raised by the watchdog and other checks, settled by organisers or when the problem is over."""

from __future__ import annotations

import logging
from smtplib import SMTPException

from django.conf import settings
from django.core.mail import mail_admins
from django.db import transaction
from django.utils import timezone

from core.jobs.worker_selectors import workers_alive
from core.models import Alarm, EventKind
from core.notices.services import announce

logger = logging.getLogger(__name__)


def alarm_raise(*, key: str, message: str, address: str = "", worker: str = "") -> Alarm:
    """Alert the organisers: log at ERROR every time, keep one open alarm per key, and mail ADMINS about a new one.

    worker: the name of the worker process that has the problem, if it is the problem of one process.
    """
    logger.error("ALARM %s: %s", key, message)
    now = timezone.now()
    alarm, is_new = Alarm.objects.get_or_create(
        key=key, defaults={"message": message, "address": address, "worker": worker[:100], "raised_at": now}
    )
    calls = is_new or alarm.settled_at is not None
    if not is_new:
        if alarm.settled_at is not None:
            alarm.raised_at, alarm.settled_at = now, None
        alarm.message, alarm.address, alarm.worker = message, address, worker[:100]
        alarm.save(update_fields=["message", "address", "worker", "raised_at", "settled_at"])
    if calls:
        announce(kind=EventKind.ALARM, title=f"Alarm: {key}", text=message, address=address, data={"key": key})
    if calls and settings.ADMINS:
        transaction.on_commit(lambda: _mail(alarm))
    return alarm


def alarm_settle(*, key: str) -> None:
    """Settle an open alarm because its problem is over; do nothing without one."""
    Alarm.objects.filter(key=key, settled_at=None).update(settled_at=timezone.now())


def alarms_settle_ended() -> int:
    """Settle the open alarms about workers that have ended; return how many. Their successors raise their own."""
    rows = Alarm.objects.filter(settled_at=None).exclude(worker="")
    return rows.exclude(worker__in=workers_alive().order_by().values("name")).update(settled_at=timezone.now())


def _mail(alarm: Alarm) -> None:
    """Mail an alarm to ADMINS. A mail that fails is logged, so that the caller continues."""
    text = f"{alarm.message}\n\n{alarm.address}\n".replace("\n\n\n", "\n")
    try:
        mail_admins(f"Alarm: {alarm.key}", text)
    except (SMTPException, OSError):
        logger.exception("The alarm %s could not be mailed.", alarm.key)
