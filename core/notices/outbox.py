"""What all queued mails share: one worker claims each, failed attempts are repeated, and after two days it gives up."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from smtplib import SMTPException, SMTPRecipientsRefused

from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend
from django.db.models import F

from core.models import Letter, Notice

logger = logging.getLogger(__name__)

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


def pause_after(attempt: int) -> timedelta:
    """Return the pause after a failed attempt, numbered from 1."""
    return min(FIRST_PAUSE * 2.0 ** min(attempt - 1, MAX_ATTEMPTS), LONGEST_PAUSE)


def claim(row: Notice | Letter, now: datetime) -> bool:
    """Claim a mail for this worker. If the worker dies, another one tries after the pause."""
    if row.mail_next_at is None:
        return False
    same = type(row)._default_manager.filter(pk=row.pk, mail_attempt=row.mail_attempt, mail_next_at=row.mail_next_at)
    row.mail_attempt += 1
    row.mail_next_at = now + pause_after(row.mail_attempt)
    return bool(same.update(mail_attempt=F("mail_attempt") + 1, mail_next_at=row.mail_next_at))


def post(row: Notice | Letter, make: Callable[[], EmailMessage], connection: BaseEmailBackend) -> Posted:
    """Try to send a claimed mail. A failure closes the connection, because its state is unknown."""
    name = f"{row._meta.verbose_name} {row.pk}"
    try:
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
