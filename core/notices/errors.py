"""Sends the mails about errors that requests have stored, see `core.monitoring.error_mails`."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.core.mail import EmailMessage
from django.db.models import F

from core.models import ErrorMail
from core.notices.outbox import OutboxRun, post

PAUSE = timedelta(hours=1)
"""Minimum time between two mails about the same place."""


def error_mails_send(run: OutboxRun) -> int:
    """Send the mails about errors that are due in a run of the outbox; return how many were sent."""
    sent = 0
    for row, at in run.claimed(run.due(ErrorMail.objects.all())):
        same = ErrorMail.objects.filter(pk=row.pk, mail_attempt=row.mail_attempt)
        if not row.count and same.filter(count=0).delete()[0]:
            continue
        count = row.count

        def mail(row: ErrorMail = row, count: int = count) -> EmailMessage:
            more = (
                f"This happened {count} times since the last mail about it; the first of them:\n\n" if count > 1 else ""
            )
            subject = f"{settings.EMAIL_SUBJECT_PREFIX}{row.subject}"
            to = [address for _, address in settings.ADMINS]
            return EmailMessage(subject, more + row.body, settings.SERVER_EMAIL, to, connection=run.connection)

        posted = post(row, mail, run.connection)
        if posted.error and not posted.is_final:
            same.update(mail_error=posted.error)
            continue
        same.update(count=F("count") - count, mail_attempt=0, mail_next_at=at + PAUSE, mail_error=posted.error)
        sent += not posted.error
    return sent
