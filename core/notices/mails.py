"""Sends the mails of notices. Rows say what is to be sent; a mail server that is away only makes it later."""

from __future__ import annotations

import logging
import time
from datetime import datetime, timedelta
from smtplib import SMTPException, SMTPRecipientsRefused

from django.conf import settings
from django.core import signing
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.db.models import F
from django.urls import reverse
from django.utils import timezone

from core.models import Notice, NoticeKind, User
from core.notices.links import absolute
from core.notices.selectors import choices

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
SALT = "core.notices.unsubscribe"


def mails_send(_: int = 0) -> None:
    """Send what is due."""
    sent = mails_send_due(now=timezone.now())
    if sent:
        logger.info("%d mails about notices were sent.", sent)


def mails_send_due(*, now: datetime) -> int:
    """Send mails that are due, RUN_SECONDS long; return how many went out.

    Of two that do it at once each mail is sent by one.
    """
    due = Notice.objects.filter(mail_next_at__lte=now).select_related("user").order_by("mail_next_at")
    rows = list(due[:BATCH])
    if not rows:
        return 0
    chosen = choices({row.user for row in rows})
    connection = get_connection()
    began, sent = time.monotonic(), 0
    try:
        for row in rows:
            seconds = time.monotonic() - began
            if seconds >= RUN_SECONDS:
                break
            # A pause that began with the run could be over while its mail is still on its way.
            at = now + timedelta(seconds=seconds)
            wants = chosen[row.user_id, NoticeKind(row.kind)].by_mail
            if not (wants and row.user.is_active and row.user.email):
                # Changed since it was written.
                Notice.objects.filter(pk=row.pk).update(mail_next_at=None)
            elif _claim(row, at):
                sent += _send(row, connection, at)
    finally:
        connection.close()
    return sent


def pause_after(attempt: int) -> timedelta:
    """How long a mail rests after a failed attempt, from 1."""
    return min(FIRST_PAUSE * 2.0 ** min(attempt - 1, MAX_ATTEMPTS), LONGEST_PAUSE)


def unsubscribe_token(user: User, kind: NoticeKind) -> str:
    """What a link needs to stop mails of a kind: signed, so that nobody can make one for somebody else."""
    return signing.dumps([user.pk, kind.value], salt=SALT)


def unsubscribe_find(token: str) -> tuple[User, NoticeKind] | None:
    """Whose mails of which kind a link stops; None for one that is not ours, or whose account is gone."""
    try:
        key, kind = signing.loads(token, salt=SALT)
        return User.objects.get(pk=key), NoticeKind(kind)
    except (signing.BadSignature, User.DoesNotExist, ValueError, TypeError):
        return None


def _claim(row: Notice, now: datetime) -> bool:
    """Take a mail for this worker. Should it die before it says what came of it, another tries after the pause."""
    same = Notice.objects.filter(pk=row.pk, mail_attempt=row.mail_attempt, mail_next_at=row.mail_next_at)
    row.mail_attempt += 1
    row.mail_next_at = now + pause_after(row.mail_attempt)
    return bool(same.update(mail_attempt=F("mail_attempt") + 1, mail_next_at=row.mail_next_at))


def _send(row: Notice, connection: BaseEmailBackend, now: datetime) -> int:
    try:
        _letter(row, connection).send()
    except SMTPRecipientsRefused:
        _write(row, mail_next_at=None, mail_error="The mail server does not take this address.")
        return 0
    except (SMTPException, OSError) as error:
        if row.mail_attempt >= MAX_ATTEMPTS:
            row.mail_next_at = None
        _write(row, mail_next_at=row.mail_next_at, mail_error=f"{type(error).__name__}: {error}"[:200])
        logger.warning("Notice %s could not be mailed: %s", row.pk, type(error).__name__)
        # The next one shall not be sent over a connection that is in between.
        connection.close()
        return 0
    except Exception as error:
        # It is about this letter alone (an address that fits in no header), so tomorrow it would be the same.
        logger.exception("Notice %s cannot be mailed.", row.pk)
        _write(row, mail_next_at=None, mail_error=f"No mail can be made of it: {type(error).__name__}.")
        connection.close()
        return 0
    _write(row, mail_next_at=None, mailed_at=now, mail_error="")
    return 1


def _write(row: Notice, **fields: object) -> None:
    Notice.objects.filter(pk=row.pk, mail_attempt=row.mail_attempt).update(**fields)


def _letter(row: Notice, connection: BaseEmailBackend) -> EmailMessage:
    """Plain text, with a link that stops such mails: also the one that mail programs use by themselves (RFC 8058)."""
    kind = NoticeKind(row.kind)
    stop = absolute(reverse("web:unsubscribe", args=[unsubscribe_token(row.user, kind)]))
    more = f"{absolute(row.address)}\n\n" if row.address else ""
    return EmailMessage(
        subject=f"{settings.SITE_NAME}: {row.title}",
        body=f"Hello {row.user.username},\n\n{row.text}\n\n{more}"
        f"-- \nYou get this mail because of: {kind.label.lower()}.\nNo more such mails: {stop}\n"
        f"All settings: {absolute(reverse('web:profile'))}#notices\n",
        to=[row.user.email],
        connection=connection,
        headers={"List-Unsubscribe": f"<{stop}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"},
    )
