"""Finds out from the engine's events, which no container can write, whether a container was ended from outside.

Everything that a submission can cause is its own fault, even the end of its supervisor. Only a kill that the engine was
asked for, and a restart of the engine, are faults of the platform.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

REMEMBERED_EVENTS = 256
"""The number of events that an engine remembers; a restart clears them."""
KILLS = {"9", "SIGKILL", "KILL"}


def killed_from_outside(container: Any) -> bool:
    """Return whether the engine was made to kill an ended container, or was restarted after it started the container.

    Raises the errors of the engine's client.
    """
    client = container.client.api
    started_at = moment(container.attrs["State"]["StartedAt"])
    # The time comes from the engine's clock, which may differ from this host's: the engine would wait for a future end.
    until = moment(client.info()["SystemTime"])
    events = client.events(
        since=f"{math.floor(started_at.timestamp())}.000000000",
        until=f"{until.timestamp():.6f}",
        decode=True,
    )
    try:
        return tell_of_outside(list(events), container.id)
    finally:
        events.close()


def tell_of_outside(events: Sequence[Mapping[str, Any]], container_id: str) -> bool:
    """Return whether events since a container's start show that it was ended from outside.

    If the start is missing, the engine was restarted, unless there were so many events that it forgot the start.
    """
    own = [event for event in events if (event.get("Actor") or {}).get("ID") == container_id]
    if any(event.get("Action") == "kill" and _signal(event) in KILLS for event in own):
        return True
    return len(events) < REMEMBERED_EVENTS and all(event.get("Action") != "start" for event in own)


def _signal(event: Mapping[str, Any]) -> str:
    return str(event["Actor"].get("Attributes", {}).get("signal", ""))


def moment(text: str) -> datetime:
    """Parse a time of the engine: RFC 3339 with up to nine digits after the second."""
    whole, _, rest = text.partition(".")
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    zone = rest[len(digits) :] if digits else ""
    return datetime.fromisoformat(whole + zone) + timedelta(microseconds=int(digits[:6].ljust(6, "0") or "0"))
