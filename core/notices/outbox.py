"""What mails have in common that wait in rows: claimed by one worker, tried again, given up after two days."""

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
"""Mails of one run; the next begins within a minute."""
RUN_SECONDS = 30.0
"""After which a run leaves the rest to the next one: a slow mail server does not keep a worker from everything else.

Only between mails: what one of them may take is bounded by EMAIL_TIMEOUT, for every answer of the server.
"""
MAX_ATTEMPTS = 12
FIRST_PAUSE, LONGEST_PAUSE = timedelta(minutes=1), timedelta(hours=6)
"""Between attempts: twice as long after every other, for about two days in all."""


@dataclass(frozen=True, slots=True)
class Posted:
    """What came of an attempt. error: empty for a mail that was sent. is_final: whether another makes no sense."""

    error: str = ""
    is_final: bool = True


def pause_after(attempt: int) -> timedelta:
    """How long a mail rests after a failed attempt, from 1."""
    return min(FIRST_PAUSE * 2.0 ** min(attempt - 1, MAX_ATTEMPTS), LONGEST_PAUSE)


def claim(row: Notice | Letter, now: datetime) -> bool:
    """Take a mail for this worker. Should it die before it says what came of it, another tries after the pause."""
    if row.mail_next_at is None:
        return False
    same = type(row)._default_manager.filter(pk=row.pk, mail_attempt=row.mail_attempt, mail_next_at=row.mail_next_at)
    row.mail_attempt += 1
    row.mail_next_at = now + pause_after(row.mail_attempt)
    return bool(same.update(mail_attempt=F("mail_attempt") + 1, mail_next_at=row.mail_next_at))


def post(row: Notice | Letter, make: Callable[[], EmailMessage], connection: BaseEmailBackend) -> Posted:
    """Try to send a claimed mail. The connection is closed after a failure: it may be in between."""
    name = f"{row._meta.verbose_name} {row.pk}"
    try:
        make().send()
    except SMTPRecipientsRefused:
        return Posted("The mail server does not take this address.")
    except (SMTPException, OSError) as error:
        logger.warning("The %s could not be mailed: %s", name, type(error).__name__)
        connection.close()
        return Posted(f"{type(error).__name__}: {error}"[:200], is_final=row.mail_attempt >= MAX_ATTEMPTS)
    except Exception as error:
        # It is about this mail alone (an address that fits in no header), so tomorrow it would be the same.
        logger.exception("The %s cannot be mailed.", name)
        connection.close()
        return Posted(f"No mail can be made of it: {type(error).__name__}.")
    return Posted()
