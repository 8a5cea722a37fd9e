"""Error mails to ADMINS, without secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.utils.log import AdminEmailHandler
from django.views.debug import ExceptionReporter, SafeExceptionReporterFilter

from arena_kit.log_context import without_links, without_secrets

if TYPE_CHECKING:
    from logging import LogRecord


class Mails(AdminEmailHandler):
    """Mails to ADMINS without the secret part of the requested address, which Django writes in many places."""

    def emit(self, record: LogRecord) -> None:
        # Django itself makes this check only for its own unchanged class.
        if settings.ADMINS:
            super().emit(record)

    def send_mail(self, subject: object, message: object, *args: Any, **kwargs: Any) -> None:
        super().send_mail(without_links(str(subject)), without_links(str(message)), *args, **kwargs)


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
