"""Sends the mails of notices. The rows show what is due; an outage of the mail server only delays them."""

from __future__ import annotations

import logging
from datetime import datetime

from django.conf import settings
from django.core import signing
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend
from django.utils import timezone

from core.links import absolute, page
from core.models import Notice, NoticeKind, User
from core.notices.errors import error_mails_send
from core.notices.letters import letters_send
from core.notices.outbox import OutboxRun, post, run
from core.notices.selectors import choices

logger = logging.getLogger(__name__)

SALT = "core.notices.unsubscribe"
UNSUBSCRIBE_DAYS = 366
"""How long the link that stops mails works; each later mail has a new one."""


def mails_send(_: int = 0) -> None:
    """Send the letters and the mails of notices that are due."""
    mails_send_due(now=timezone.now())


def mails_send_due(*, now: datetime) -> int:
    """Send what is due for up to RUN_SECONDS, letters first, errors last; return how many mails were sent.

    If two workers do this at once, each mail is still sent by one of them.
    """
    with run(now=now) as one:
        letters, notices, errors = letters_send(one), notices_send(one), error_mails_send(one)
    if letters or notices or errors:
        logger.info("Mails sent: %d about notices, %d about accounts, %d about errors.", notices, letters, errors)
    return letters + notices + errors


def notices_send(run: OutboxRun) -> int:
    """Send the mails of notices that are due in a run of the outbox; return how many were sent."""
    rows = run.due(Notice.objects.select_related("user"))
    chosen = choices({row.user for row in rows})
    sent = 0
    for row, at in run.claimed(rows):
        if chosen[row.user_id, NoticeKind(row.kind)].by_mail and row.user.is_active and row.user.email_confirmed_at:
            sent += _send(row, run.connection, at)
        else:
            # The person's choice or account has changed since the notice was written.
            _write(row, mail_next_at=None)
    return sent


def unsubscribe_token(user: User, kind: NoticeKind) -> str:
    """Return the token of a link that stops mails of a kind: signed, so that only the arena can make it."""
    return signing.dumps([user.pk, kind.value], salt=SALT)


def unsubscribe_find(token: str) -> tuple[User, NoticeKind] | None:
    """Return the user and kind of a token; None for a forged token, one of a year ago, or a deleted account."""
    try:
        key, kind = signing.loads(token, salt=SALT, max_age=UNSUBSCRIBE_DAYS * 86_400)
        return User.objects.get(pk=key), NoticeKind(kind)
    except (signing.BadSignature, User.DoesNotExist, ValueError, TypeError):
        return None


def _send(row: Notice, connection: BaseEmailBackend, now: datetime) -> int:
    posted = post(row, lambda: _mail(row, connection), connection)
    if not posted.error:
        _write(row, mail_next_at=None, mailed_at=now, mail_error="")
        return 1
    _write(row, mail_next_at=None if posted.is_final else row.mail_next_at, mail_error=posted.error)
    return 0


def _write(row: Notice, **fields: object) -> None:
    Notice.objects.filter(pk=row.pk, mail_attempt=row.mail_attempt).update(**fields)


def _mail(row: Notice, connection: BaseEmailBackend) -> EmailMessage:
    """Make a plain text mail with a link that stops such mails, also for mail programs' own button (RFC 8058)."""
    kind = NoticeKind(row.kind)
    stop = absolute(page("unsubscribe", unsubscribe_token(row.user, kind)))
    more = f"{absolute(row.address)}\n\n" if row.address else ""
    return EmailMessage(
        subject=f"{settings.SITE_NAME}: {row.title}",
        body=f"Hello {row.user.username},\n\n{row.text}\n\n{more}"
        f"-- \nYou get this mail because of: {kind.label.lower()}.\nStop these mails: {stop}\n"
        f"All settings: {absolute(page('profile'))}#notices\n",
        to=[row.user.email],
        connection=connection,
        headers={"List-Unsubscribe": f"<{stop}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"},
    )
