"""What the mail about a page that broke leaves out."""

from __future__ import annotations

from typing import Any

from django.views.debug import SafeExceptionReporterFilter


class WithoutSettings(SafeExceptionReporterFilter):
    """Django lists all settings and hides those that are called key, token or password.

    Ours have secrets under other names, too: in addresses, in commands, inside of dictionaries. Whoever gets the mail
    operates the arena and can look them up.
    """

    def get_safe_settings(self) -> dict[str, Any]:
        return {}
