"""The base of all queued mails: one worker claims each, failed attempts are repeated, and after two days it gives
up."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from smtplib import SMTPException, SMTPRecipientsRefused
from typing import TypeVar

from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.db.models import F, QuerySet

from core.models import ErrorMail, Letter, Notice

logger = logging.getLogger(__name__)
Row = TypeVar("Row", Notice, Letter, ErrorMail)

BATCH = 500
"""Maximum number of mails in a run; the next run begins within a minute."""
RUN_SECONDS = 30.0
"""Time after which a run leaves the rest to the next run, so that a slow mail server does not occupy a worker.

Checked between mails; EMAIL_TIMEOUT bounds each answer of the server to a single mail.
"""
MAX_ATTEMPTS = 12
FIRST_PAUSE, LONGEST_PAUSE = timedelta(minutes=1), timedelta(hours=6)
"""Pauses between attempts, doubled each time, about two days in all."""


@dataclass(frozen=True, slots=True)
class Posted:
    """The result of an attempt. error: empty for a mail that was sent. is_final: whether a retry is useless."""

    error: str = ""
    is_final: bool = True


class OutboxRun:
    """A worker's run over what is due: one connection, and RUN_SECONDS for everything that it sends."""

    def __init__(self, connection: BaseEmailBackend, now: datetime) -> None:
        """Begin a run. now: the time at which it begins."""
        self.connection, self.now = connection, now
        self._began = time.monotonic()

    def due(self, rows: QuerySet[Row]) -> list[Row]:
        """Return the rows that are due, at most BATCH of them, the longest waiting first."""
        return list(rows.filter(mail_next_at__lte=self.now).order_by("mail_next_at")[:BATCH])

    def claimed(self, rows: list[Row]) -> Iterator[tuple[Row, datetime]]:
        """Claim the rows one by one while the run has time left; yield each claimed row and the time of its claim."""
        for row in rows:
            seconds = time.monotonic() - self._began
            if seconds >= RUN_SECONDS:
                return
            # Without these seconds the pause could end while the mail is still under way.
            at = self.now + timedelta(seconds=seconds)
            if claim(row, at):
                yield row, at


@contextmanager
def run(*, now: datetime) -> Iterator[OutboxRun]:
    """Begin a run, and close its connection at the end."""
    connection = get_connection()
    try:
        yield OutboxRun(connection, now)
    finally:
        connection.close()


def pause_after(attempt: int) -> timedelta:
    """Return the pause after a failed attempt, numbered from 1."""
    return min(FIRST_PAUSE * 2.0 ** min(attempt - 1, MAX_ATTEMPTS), LONGEST_PAUSE)


def claim(row: Notice | Letter | ErrorMail, now: datetime) -> bool:
    """Claim a mail for this worker. If the worker dies, another one tries after the pause."""
    if row.mail_next_at is None:
        return False
    same = type(row)._default_manager.filter(pk=row.pk, mail_attempt=row.mail_attempt, mail_next_at=row.mail_next_at)
    row.mail_attempt += 1
    row.mail_next_at = now + pause_after(row.mail_attempt)
    return bool(same.update(mail_attempt=F("mail_attempt") + 1, mail_next_at=row.mail_next_at))


def post(row: Notice | Letter | ErrorMail, make: Callable[[], EmailMessage], connection: BaseEmailBackend) -> Posted:
    """Try to send a claimed mail. A failure closes the connection, because its state is unknown."""
    name = f"{row._meta.verbose_name} {row.pk}"
    try:
        # `send` alone would open and close a connection for every mail; an open one is kept for the run.
        connection.open()
        make().send()
    except SMTPRecipientsRefused:
        return Posted("The mail server does not accept this address.")
    except (SMTPException, OSError) as error:
        logger.warning("The %s could not be mailed: %s", name, type(error).__name__)
        connection.close()
        return Posted(f"{type(error).__name__}: {error}"[:200], is_final=row.mail_attempt >= MAX_ATTEMPTS)
    except Exception as error:
        # The error is in this mail itself (e.g. an address that fits in no header), so a retry is useless.
        logger.exception("The %s cannot be mailed.", name)
        connection.close()
        return Posted(f"The mail cannot be composed: {type(error).__name__}.")
    return Posted()
