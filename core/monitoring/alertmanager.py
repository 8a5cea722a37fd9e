"""What Alertmanager needs to know of this arena: where alarms go, and the server for mails."""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings

from core.links import site_url

WEBHOOK = "/api/alertmanager/webhook"
TOKEN_FILE = "metrics-token"  # noqa: S105  (the name of a file)
CONFIGURATION = "alertmanager.yml"


def alertmanager_configuration(*, site: str, token_file: str) -> str:
    """Return the configuration as YAML, of which JSON is a part.

    Every alert becomes an alarm of the arena, which mails ADMINS. Critical alerts are also mailed by Alertmanager
    itself, because the site may be what is down. site: where Alertmanager reaches it, e.g. http://web:8000.
    """
    token = {"authorization": {"type": "Bearer", "credentials_file": token_file}}
    to_arena = {"webhook_configs": [{"url": f"{site}{WEBHOOK}", "send_resolved": True, "http_config": token}]}
    routes = [
        # The arena has raised, mailed and shown these alarms already.
        {"matchers": ['origin="arena"'], "receiver": "nothing"},
        {"matchers": ['severity="critical"'], "receiver": "arena-and-mail", "repeat_interval": "1h"},
    ]
    return json.dumps(
        {
            "route": {
                "receiver": "arena",
                "group_by": ["alertname"],
                "group_wait": "10s",
                "group_interval": "1m",
                "repeat_interval": "4h",
                "routes": routes,
            },
            "receivers": [
                {"name": "nothing"},
                {"name": "arena", **to_arena},
                {"name": "arena-and-mail", **to_arena, **_mails()},
            ],
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
        # With TLS from the beginning, a server asks for nothing more.
        "require_tls": settings.EMAIL_USE_TLS,
        "send_resolved": True,
    }
    if settings.EMAIL_HOST_USER:
        common |= {"auth_username": settings.EMAIL_HOST_USER, "auth_password": settings.EMAIL_HOST_PASSWORD}
    return {"email_configs": [{"to": address, **common} for _, address in settings.ADMINS]}
