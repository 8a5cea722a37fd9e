"""System checks of the publisher's settings."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, register
from django.core.checks import Warning as Advice

from core.checks.startup import TAG


@register(TAG)
def check_addresses(**_: Any) -> list[CheckMessage]:
    """arena.W007: the repository has no address for people."""
    if not settings.PUBLISHER_REMOTE or settings.PUBLISHER_WEB_URL:
        return []
    message = "PUBLISHER_REMOTE is set without PUBLISHER_WEB_URL: pages do not link to published versions."
    hint = "Set both. With docker-compose.yml nothing is published without PUBLISHER_WEB_URL."
    return [Advice(message, hint=hint, id="arena.W007")]
