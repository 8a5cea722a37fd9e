"""Alarms: raised by the watchdog and other checks, settled by organisers or when the problem is over."""

from __future__ import annotations

import logging
from smtplib import SMTPException

from django.conf import settings
from django.core.mail import mail_admins
from django.db import transaction
from django.utils import timezone

from core.models import Alarm, EventKind
from core.notices.services import announce

logger = logging.getLogger(__name__)


def alarm_raise(*, key: str, message: str, address: str = "") -> Alarm:
    """Alert the organisers: log at ERROR every time, keep one open alarm per key, and mail ADMINS about a new one."""
    logger.error("ALARM %s: %s", key, message)
    now = timezone.now()
    alarm, is_new = Alarm.objects.get_or_create(
        key=key, defaults={"message": message, "address": address, "raised_at": now}
    )
    calls = is_new or alarm.settled_at is not None
    if not is_new:
        if alarm.settled_at is not None:
            alarm.raised_at, alarm.settled_at = now, None
        alarm.message, alarm.address = message, address
        alarm.save(update_fields=["message", "address", "raised_at", "settled_at"])
    if calls:
        announce(kind=EventKind.ALARM, title=f"Alarm: {key}", text=message, address=address, data={"key": key})
    if calls and settings.ADMINS:
        transaction.on_commit(lambda: _mail(alarm))
    return alarm


def alarm_settle(*, key: str) -> None:
    """Settle an open alarm because its problem is over; do nothing without one."""
    Alarm.objects.filter(key=key, settled_at=None).update(settled_at=timezone.now())


def _mail(alarm: Alarm) -> None:
    """Mail an alarm to ADMINS. A mail that fails is logged, so that the caller continues."""
    text = f"{alarm.message}\n\n{alarm.address}\n".replace("\n\n\n", "\n")
    try:
        mail_admins(f"Alarm: {alarm.key}", text)
    except (SMTPException, OSError):
        logger.exception("The alarm %s could not be mailed.", alarm.key)
