"""Whether a container was ended from outside, told by the engine's own events: nothing in a container writes them.

Whatever a submission can bring about is its own fault, and that includes the end of its supervisor. Only what the
engine itself was asked to do, and its own restart, is a fault of the platform.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

REMEMBERED_EVENTS = 256
"""How many events an engine remembers; with its restart it forgets all of them."""
KILLS = {"9", "SIGKILL", "KILL"}


def killed_from_outside(container: Any) -> bool:
    """Ask the engine whether it was told to kill an ended container, or has been restarted since it started it.

    Raises what the engine's client raises.
    """
    client = container.client.api
    started_at = moment(container.attrs["State"]["StartedAt"])
    # By the engine's clock, which may not be ours. An end in the future would be waited for.
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
    """Whether events since a container's start say that it was ended from outside.

    Without its start among them the engine has been restarted, unless so much has happened that it forgot the start.
    """
    own = [event for event in events if (event.get("Actor") or {}).get("ID") == container_id]
    if any(event.get("Action") == "kill" and _signal(event) in KILLS for event in own):
        return True
    return len(events) < REMEMBERED_EVENTS and all(event.get("Action") != "start" for event in own)


def _signal(event: Mapping[str, Any]) -> str:
    return str(event["Actor"].get("Attributes", {}).get("signal", ""))


def moment(text: str) -> datetime:
    """A time as the engine writes it: RFC 3339 with up to nine digits of a second."""
    whole, _, rest = text.partition(".")
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    zone = rest[len(digits) :] if digits else ""
    return datetime.fromisoformat(whole + zone) + timedelta(microseconds=int(digits[:6].ljust(6, "0") or "0"))
