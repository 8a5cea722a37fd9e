"""Sends the mails of notices. Rows say what is to be sent; a mail server that is away only makes it later."""

from __future__ import annotations

import logging
import time
from datetime import datetime, timedelta

from django.conf import settings
from django.core import signing
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.utils import timezone

from core.links import absolute, page
from core.models import Notice, NoticeKind, User
from core.notices.outbox import BATCH, RUN_SECONDS, claim, post
from core.notices.selectors import choices
from core.people.letters import letters_send_due

logger = logging.getLogger(__name__)

SALT = "core.notices.unsubscribe"


def mails_send(_: int = 0) -> None:
    """Send what is due."""
    letters = letters_send_due(now=timezone.now())
    sent = mails_send_due(now=timezone.now())
    if sent or letters:
        logger.info("%d mails about notices were sent, and %d about accounts.", sent, letters)


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
            if not (wants and row.user.is_active and row.user.email_confirmed_at):
                # Changed since it was written.
                Notice.objects.filter(pk=row.pk).update(mail_next_at=None)
            elif claim(row, at):
                sent += _send(row, connection, at)
    finally:
        connection.close()
    return sent


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


def _send(row: Notice, connection: BaseEmailBackend, now: datetime) -> int:
    posted = post(row, lambda: _letter(row, connection), connection)
    if not posted.error:
        _write(row, mail_next_at=None, mailed_at=now, mail_error="")
        return 1
    _write(row, mail_next_at=None if posted.is_final else row.mail_next_at, mail_error=posted.error)
    return 0


def _write(row: Notice, **fields: object) -> None:
    Notice.objects.filter(pk=row.pk, mail_attempt=row.mail_attempt).update(**fields)


def _letter(row: Notice, connection: BaseEmailBackend) -> EmailMessage:
    """Plain text, with a link that stops such mails: also the one that mail programs use by themselves (RFC 8058)."""
    kind = NoticeKind(row.kind)
    stop = absolute(page("unsubscribe", unsubscribe_token(row.user, kind)))
    more = f"{absolute(row.address)}\n\n" if row.address else ""
    return EmailMessage(
        subject=f"{settings.SITE_NAME}: {row.title}",
        body=f"Hello {row.user.username},\n\n{row.text}\n\n{more}"
        f"-- \nYou get this mail because of: {kind.label.lower()}.\nNo more such mails: {stop}\n"
        f"All settings: {absolute(page('profile'))}#notices\n",
        to=[row.user.email],
        connection=connection,
        headers={"List-Unsubscribe": f"<{stop}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"},
    )
