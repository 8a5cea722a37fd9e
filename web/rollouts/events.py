"""Server-sent events of rollouts and batches: what pages and clients follow while work is under way."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from django.http import HttpResponse

RETRY_MS = 2_000
EVENT_SCHEMA: Final = {
    "type": "object",
    "description": "An event of the stream. data: JSON.",
    "properties": {"event": {"type": "string"}, "data": {"type": "string"}, "id": {"type": "string"}},
    "required": ["event", "data"],
}
"""The description of each event of a stream in OpenAPI."""


def event(kind: str, data: Mapping[str, Any], *, number: int | None = None) -> str:
    """Return an event. JSON has no line breaks, so that nothing an agent said can end it."""
    numbered = f"id: {number}\n" if number is not None else ""
    return f"{numbered}event: {kind}\ndata: {json.dumps(data)}\n\n"


def events_response(events: Iterable[str]) -> HttpResponse:
    """Return an answer that ends at once, so that it holds no thread; `retry` sets when the browser reconnects."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    text = f"retry: {RETRY_MS}\n\n{''.join(events)}"
    return HttpResponse(text, content_type="text/event-stream", headers=headers)
