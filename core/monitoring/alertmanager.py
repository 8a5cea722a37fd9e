"""The configuration of Alertmanager for this arena: mails to ADMINS by the arena's own mail server."""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings

from core.links import site_url

TOKEN_FILE = "metrics-token"  # noqa: S105  (the name of a file)
CONFIGURATION = "alertmanager.yml"


def alertmanager_configuration() -> str:
    """Return the configuration as YAML, of which JSON is a part.

    Alertmanager mails every alert to ADMINS itself, because the site may be what is down. Critical ones are repeated
    every hour, others every four.
    """
    return json.dumps(
        {
            "route": {
                "receiver": "mail",
                "group_by": ["alertname"],
                "group_wait": "10s",
                "group_interval": "1m",
                "repeat_interval": "4h",
                "routes": [
                    # The arena has mailed and shown these alarms already.
                    {"matchers": ['origin="arena"'], "receiver": "nothing"},
                    {"matchers": ['severity="critical"'], "receiver": "mail", "repeat_interval": "1h"},
                ],
            },
            "receivers": [{"name": "nothing"}, {"name": "mail", **_mails()}],
        },
        indent=1,
    )


def _mails() -> dict[str, Any]:
    """Return the receivers of mails; nothing without ADMINS or a server for mails."""
    if not settings.ADMINS or not settings.EMAIL_BACKEND.endswith("smtp.EmailBackend"):
        return {}
    common = {
        "from": settings.SERVER_EMAIL,
        "hello": site_url().partition("://")[2].partition(":")[0],
        "smarthost": f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}",
        # With TLS from the beginning, a server needs nothing more.
        "require_tls": settings.EMAIL_USE_TLS,
        "send_resolved": True,
    }
    if settings.EMAIL_HOST_USER:
        common |= {"auth_username": settings.EMAIL_HOST_USER, "auth_password": settings.EMAIL_HOST_PASSWORD}
    return {"email_configs": [{"to": address, **common} for _, address in settings.ADMINS]}
