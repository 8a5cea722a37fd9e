"""The requests to webhooks: the bodies for the arena's own JSON, Discord and Slack, and the signature. Pure."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings

from core.links import absolute, site_url
from core.models import Environment, EventKind, WebhookFormat

SCHEMA = 1
"""Raised when a field is renamed or removed; receivers must ignore unknown fields."""
DISCORD_TITLE, DISCORD_TEXT = 256, 4096
"""https://discord.com/developers/docs/resources/message#embed-object-embed-limits"""
SLACK_TEXT = 3000
"""https://docs.slack.dev/reference/block-kit/blocks/section-block"""
_DISCORD_MARKS = re.compile(r"([\\*_~`|>#\[\]()<])")
_SLACK_MARKS = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


@dataclass(frozen=True, slots=True)
class Event:
    """An event for webhooks. data: plain values, by kind."""

    id: UUID
    kind: EventKind
    at: datetime
    title: str
    text: str
    address: str
    environment: Environment | None
    data: dict[str, Any]

    @property
    def url(self) -> str:
        return absolute(self.address) if self.address else site_url()


def body_of(event: Event, form: str) -> str:
    """Return the body of the request for an event, as JSON."""
    make = {WebhookFormat.DISCORD.value: _discord, WebhookFormat.SLACK.value: _slack}.get(form, _generic)
    return json.dumps(make(event), ensure_ascii=False)


def signature(secret: str, body: str, at: int) -> str:
    """Return the header X-Arena-Signature: HMAC-SHA256 of the time in Unix seconds, a dot and the body (RFC 2104)."""
    digest = hmac.new(secret.encode(), f"{at}.{body}".encode(), hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"


def _generic(event: Event) -> dict[str, Any]:
    row = event.environment
    return {
        "schema": SCHEMA,
        "id": str(event.id),
        "kind": event.kind.value,
        "at": event.at.isoformat(),
        "site": {"name": settings.SITE_NAME, "url": site_url()},
        "environment": {"slug": row.slug, "name": row.name} if row is not None else None,
        "title": event.title,
        "text": event.text,
        "url": event.url,
        "data": event.data,
    }


def _discord(event: Event) -> dict[str, Any]:
    embed = {
        "title": _cut(_DISCORD_MARKS.sub(r"\\\1", event.title), DISCORD_TITLE),
        "description": _cut(_DISCORD_MARKS.sub(r"\\\1", event.text), DISCORD_TEXT),
        "url": event.url,
        "timestamp": event.at.isoformat(),
    }
    # No mentions, because names of agents are arbitrary text.
    return {"embeds": [embed], "allowed_mentions": {"parse": []}}


def _slack(event: Event) -> dict[str, Any]:
    title = _cut(event.title, SLACK_TEXT // 10).translate(_SLACK_MARKS)
    # Plain text knows neither links nor mentions, so it needs no escapes.
    parts = [{"type": "section", "text": {"type": "mrkdwn", "text": f"<{event.url}|{title}>"}}]
    if event.text:
        parts.append({"type": "section", "text": {"type": "plain_text", "text": _cut(event.text, SLACK_TEXT)}})
    return {"text": title, "blocks": parts, "unfurl_links": False}


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
