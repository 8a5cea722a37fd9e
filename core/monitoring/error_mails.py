"""Mails to ADMINS about errors, without secrets: the request stores a row, a worker sends it."""

from __future__ import annotations

import traceback
from logging import Handler, LogRecord
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.views.debug import ExceptionReporter, SafeExceptionReporterFilter

from arena_kit.log_context import without_links, without_secrets

MOST_LETTERS = 50_000


class Mails(Handler):
    """Stores a mail about an exception that nothing has caught; answers with words of their own raise none.

    A request never waits for the mail server. While the database is away, the log alone has the error.
    """

    def emit(self, record: LogRecord) -> None:
        try:
            if settings.ADMINS and record.exc_info is not None and record.exc_info[0] is not None:
                _store(record)
        except Exception:
            self.handleError(record)


def _store(record: LogRecord) -> None:
    # Logging is set up before models can be imported.
    from core.models import ErrorMail

    assert record.exc_info is not None
    kind, error, trace = record.exc_info
    assert kind is not None
    frame = traceback.extract_tb(trace)[-1:]
    place = f"{kind.__name__} {frame[0].filename}:{frame[0].lineno}" if frame else kind.__name__
    place = place[-ErrorMail.PLACE_LETTERS :]
    with transaction.atomic():
        if ErrorMail.objects.filter(place=place).update(count=F("count") + 1):
            return
        subject = " ".join(f"{record.levelname}: {without_secrets(record.getMessage())}".split())
        text = WithoutRowValues(
            getattr(record, "request", None), kind, error, trace, is_email=True
        ).get_traceback_text()
        row = {"subject": without_links(subject)[:200], "body": without_links(text)[:MOST_LETTERS].replace("\0", "")}
        ErrorMail.objects.get_or_create(place=place, defaults={**row, "mail_next_at": timezone.now()})


class WithoutSettings(SafeExceptionReporterFilter):
    """Leaves out all settings. Django would hide only those called key, token or password.

    The arena's settings have secrets under other names too: in addresses, commands and dictionaries. The readers of
    the mail operate the arena and can look settings up.
    """

    def get_safe_settings(self) -> dict[str, Any]:
        return {}


class WithoutRowValues(ExceptionReporter):
    """The messages of errors without the row values that PostgreSQL adds to them."""

    def get_traceback_data(self) -> dict[str, Any]:
        data: dict[str, Any] = super().get_traceback_data()
        if "exception_value" in data:
            data["exception_value"] = without_secrets(data["exception_value"])
        for frame in data["frames"]:
            if frame["exc_cause"] is not None:
                frame["exc_cause"] = without_secrets(str(frame["exc_cause"]))
        return data
