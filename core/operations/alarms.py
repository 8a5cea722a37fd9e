"""Alarms: raised by what watches over the arena, settled by organisers or when the trouble is over."""

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


def standstill_key(queue: str) -> str:
    """The key of the alarm that a queue has work and finishes nothing."""
    return f"queue-{queue}-stands-still"


def alarm_raise(*, key: str, message: str, address: str = "") -> Alarm:
    """Call the organisers: a line at ERROR every time, one open alarm per key, and a mail to ADMINS when it is new."""
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
    """The trouble is over, or somebody has taken care of it. Does nothing where there is no open alarm."""
    Alarm.objects.filter(key=key, settled_at=None).update(settled_at=timezone.now())


def _mail(alarm: Alarm) -> None:
    """Tell those who are not looking. Mail that cannot be sent is no reason to stop watching."""
    text = f"{alarm.message}\n\n{alarm.address}\n".replace("\n\n\n", "\n")
    try:
        mail_admins(f"Alarm: {alarm.key}", text)
    except (SMTPException, OSError):
        logger.exception("The alarm %s could not be mailed.", alarm.key)
