"""Errors in the arena's own code, sent to Sentry where a DSN is set, without data about people or their agents."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import sentry_sdk
from django.conf import settings
from sentry_sdk.integrations.django import DjangoIntegration
from sentry_sdk.integrations.logging import LoggingIntegration, ignore_logger

from arena_kit.log_context import bound_fields, without_secrets
from core.links import site_url
from core.monitoring.logs import REQUESTS, service_name
from core.version import arena_version

if TYPE_CHECKING:
    from sentry_sdk.types import Event, Hint

TAGS = ("request_id", "job_kind", "job_id", "attempt", "stage", "submission_id", "duel_id", "evaluation_id", "env_id")
"""The log fields that are sent: keys of rows and constants of the code."""
MOST_CHARACTERS = 64
"""Sentry's maximum length of an environment name, which is the host of the site here."""
NOT_SENT = (REQUESTS, "core.jobs.log", "django.security.*")
"""Loggers of the ends of requests and jobs, whose errors were sent before, and of bad requests of visitors."""


def sentry_start() -> None:
    """Start sending errors and a sample of traces to SENTRY_DSN."""
    for logger in NOT_SENT:
        ignore_logger(logger)
    sentry_sdk.init(
        dsn=settings.SENTRY_DSN,
        environment=(urlsplit(site_url()).hostname or "production")[:MOST_CHARACTERS],
        release=f"rl-arena@{arena_version()}",
        traces_sample_rate=settings.SENTRY_TRACES_SAMPLE_RATE,
        # Only the integrations named here, not those for every library on this machine.
        auto_enabling_integrations=False,
        default_integrations=True,
        integrations=[DjangoIntegration(transaction_style="url"), LoggingIntegration(level=None)],
        send_default_pii=False,
        # Local variables may contain an archive, a player's log or hidden seeds.
        include_local_variables=False,
        max_request_body_size="never",
        max_breadcrumbs=0,
        auto_session_tracking=False,
        before_send=_without_people,
        before_send_transaction=_without_people,
    )


def _without_people(event: Event, hint: Hint) -> Event:
    fields = bound_fields()
    tags = {name: str(fields[name]) for name in TAGS if name in fields}
    event["tags"] = {**event.get("tags", {}), **tags, "service": service_name()}
    event.pop("user", None)
    event.pop("extra", None)
    event.pop("breadcrumbs", None)
    if (entry := event.get("logentry")) is not None:
        event["logentry"] = {"message": without_secrets(str(entry.get("formatted") or entry.get("message")))}
    for error in event.get("exception", {}).get("values", ()):
        error["value"] = without_secrets(str(error.get("value") or ""))
    # Headers, cookies, query and body are left out.
    event.pop("request", None)
    if "path" in fields:
        event["request"] = {"method": fields.get("method", ""), "url": fields["path"]}
    return event
