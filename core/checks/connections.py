"""System checks of connections to other machines: each of them is encrypted."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, register
from django.core.checks import Warning as Advice

from core.checks.startup import TAG

CHECKED_MODES = ("verify-ca", "verify-full")
"""Values of sslmode with which the server shows a certificate that is checked."""


@register(TAG, deploy=True)
def check_connections(**_: Any) -> list[CheckMessage]:
    """arena.W013, with `check --deploy`: a connection to another machine lacks TLS or its check."""
    return [
        Advice(
            f"The connection to {name} on another machine is not encrypted.",
            hint=f"{way}, see docs/operator/inventory.md. Ignore this in a network that encrypts by itself.",
            id="arena.W013",
        )
        for name, way in _plain()
    ]


def _plain() -> Iterator[tuple[str, str]]:
    """Yield each service that is asked in plain text, and what to do about it."""
    database = settings.DATABASES["default"]
    if is_elsewhere(database.get("HOST", "")) and database["OPTIONS"].get("sslmode") not in CHECKED_MODES:
        yield "PostgreSQL", "End DATABASE_URL with ?sslmode=verify-full"
    redis = urlsplit(settings.REDIS_URL)
    if redis.scheme == "redis" and is_elsewhere(redis.hostname or ""):
        yield "Redis", "Begin REDIS_URL with rediss://"
    if is_elsewhere(settings.EMAIL_HOST) and not (settings.EMAIL_USE_TLS or settings.EMAIL_USE_SSL):
        yield "the mail server", "Begin EMAIL_URL with smtp+tls:// or smtps://"


def is_elsewhere(host: str) -> bool:
    """Return whether a host is another machine. A name without a dot is one of compose, or this machine."""
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        # A path is that of a Unix socket.
        return "." in host and "/" not in host
