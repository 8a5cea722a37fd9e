"""What the mail about a page that broke leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.utils.log import AdminEmailHandler
from django.views.debug import ExceptionReporter, SafeExceptionReporterFilter

from arena_kit.log_context import without_links, without_secrets

if TYPE_CHECKING:
    from logging import LogRecord


class Mails(AdminEmailHandler):
    """Mails to ADMINS, without the secret part of the address that was asked for: Django writes it in many places."""

    def emit(self, record: LogRecord) -> None:
        # Django looks for this itself only where nothing of the class is changed.
        if settings.ADMINS:
            super().emit(record)

    def send_mail(self, subject: object, message: object, *args: Any, **kwargs: Any) -> None:
        super().send_mail(without_links(str(subject)), without_links(str(message)), *args, **kwargs)


class WithoutSettings(SafeExceptionReporterFilter):
    """Django lists all settings and hides those that are called key, token or password.

    Ours have secrets under other names, too: in addresses, in commands, inside of dictionaries. Whoever gets the mail
    operates the arena and can look them up.
    """

    def get_safe_settings(self) -> dict[str, Any]:
        return {}


class WithoutRowValues(ExceptionReporter):
    """What errors say, without the values of rows that PostgreSQL says along with them."""

    def get_traceback_data(self) -> dict[str, Any]:
        data: dict[str, Any] = super().get_traceback_data()
        if "exception_value" in data:
            data["exception_value"] = without_secrets(data["exception_value"])
        for frame in data["frames"]:
            if frame["exc_cause"] is not None:
                frame["exc_cause"] = without_secrets(str(frame["exc_cause"]))
        return data
