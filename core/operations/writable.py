"""A database that stores nothing, e.g. on a full disk: it is found by writing, and its alarm needs no row."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable
from smtplib import SMTPException

from django.conf import settings
from django.core.mail import mail_admins
from django.db import Error, connection, transaction
from django.db.models.functions import Now
from django.utils import timezone

from core.jobs.hosts import host_name
from core.models import Duty, EventKind, Webhook
from core.notices.deliveries import event_post
from core.notices.payloads import Event
from core.notices.services import webhooks_wanting

logger = logging.getLogger(__name__)
ALARM = "database-stores-nothing"
LOOK_SECONDS = 10.0
PATIENCE_SECONDS = 30.0
"""The time for which the database must have stored nothing before people are told: a restart takes less."""
PAUSE_SECONDS = 3600.0
"""Time between two messages about it."""
SPILL = "SELECT count(*) FROM (SELECT generate_series(1, 20000) AS n ORDER BY n DESC) AS rows"
"""A sort of about a MiB, which does not fit into the smallest work_mem and so needs new room on the disk."""


def database_write() -> None:
    """Write one row and take it back; raises an error of the database. On SQLite, with one writer at a time, read.

    A small row fits into room that its table already has, so PostgreSQL also sorts something on its disk.
    """
    if connection.vendor != "postgresql":
        Duty.objects.exists()
        return
    with transaction.atomic(), connection.cursor() as cursor:
        Duty.objects.create(name=uuid.uuid4().hex[:30], since=Now(), done_at=Now(), worker="health")
        cursor.execute("SET LOCAL work_mem = '64kB'")
        cursor.execute(SPILL)
        transaction.set_rollback(True)


class WriteWatch:
    """Tells ADMINS and webhooks when the database has stored nothing for a while. It needs no database for that."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failed_at: float | None = None
        self._told_at: float | None = None
        self._webhooks: list[Webhook] = []

    def look(self) -> None:
        """Write once; called every LOOK_SECONDS."""
        now = self._clock()
        try:
            database_write()
            self._webhooks = webhooks_wanting(EventKind.ALARM)
        except Error as error:
            self._failed_at = now if self._failed_at is None else self._failed_at
            is_due = self._told_at is None or now - self._told_at >= PAUSE_SECONDS
            if is_due and now - self._failed_at >= PATIENCE_SECONDS:
                self._told_at = now
                self._tell(" ".join(str(error).split()))
            return
        if self._told_at is not None:
            logger.warning("The database stores rows again.")
        self._failed_at = self._told_at = None

    def _tell(self, reason: str) -> None:
        text = (
            f"The database has stored nothing for {PATIENCE_SECONDS:g} s or longer, as {host_name()} sees it: "
            f"{reason[:300]} See the runbook about full disks. This is sent once an hour for as long as it lasts."
        )
        logger.error("ALARM %s: %s", ALARM, text)
        event = Event(uuid.uuid4(), EventKind.ALARM, timezone.now(), f"Alarm: {ALARM}", text, "", None, {"key": ALARM})
        for webhook in self._webhooks:
            event_post(webhook=webhook, event=event)
        if settings.ADMINS:
            try:
                mail_admins(event.title, text)
            except (SMTPException, OSError):
                logger.exception("The alarm %s could not be mailed.", ALARM)
