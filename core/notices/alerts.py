"""Alerts of Prometheus as alarms of the arena: Alertmanager sends them, and says when they are over."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from arena_kit.text import plain_line
from core.errors import Refused
from core.links import page
from core.notices.alarms import alarm_raise, alarm_settle

MOST_ALERTS = 500
"""Maximum number of alerts of one message."""
LONGEST_NAME = 60
LONGEST_SENTENCE = 1000
OWN = "arena"
"""Value of the label `origin` of alerts about alarms that the arena has raised itself."""
FINGERPRINT = re.compile(r"[0-9a-f]{16}")
UNREADABLE = "This is no message of Alertmanager's webhook, version 4: {}."


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert. key: the same for the same labels. message: its summary."""

    key: str
    message: str
    is_firing: bool


def alerts_read(message: object) -> list[Alert]:
    """Return the alerts of a message of Alertmanager's webhook, without those that tell of the arena's own alarms.

    Raises Refused.
    """
    alerts = message.get("alerts") if isinstance(message, Mapping) else None
    if not isinstance(alerts, list):
        raise Refused(UNREADABLE.format("it has no list of alerts"))
    if len(alerts) > MOST_ALERTS:
        raise Refused(UNREADABLE.format(f"it has more than {MOST_ALERTS} alerts"))
    found = [(_labels(alert, "labels"), alert) for alert in alerts]
    # An alarm about open alarms would never settle.
    return [_alert(labels, alert) for labels, alert in found if labels.get("origin") != OWN]


def alerts_apply(*, alerts: Iterable[Alert]) -> None:
    """Raise the alarms of the alerts that fire, and settle those of the alerts that are over."""
    with transaction.atomic():
        for alert in alerts:
            if alert.is_firing:
                alarm_raise(key=alert.key, message=alert.message, address=page("operations"))
            else:
                alarm_settle(key=alert.key)


def _alert(labels: Mapping[str, str], alert: Mapping[str, Any]) -> Alert:
    name, fingerprint, state = labels.get("alertname", ""), alert.get("fingerprint"), alert.get("status")
    if not name or not isinstance(fingerprint, str) or not FINGERPRINT.fullmatch(fingerprint):
        raise Refused(UNREADABLE.format("an alert has no alertname or fingerprint"))
    if state not in ("firing", "resolved"):
        raise Refused(UNREADABLE.format("an alert is neither firing nor resolved"))
    summary = _labels(alert, "annotations").get("summary") or f"{name} fires."
    key = re.sub(r"[^A-Za-z0-9_-]+", "-", name)[:LONGEST_NAME]
    return Alert(f"prometheus-{key}-{fingerprint}", summary[:LONGEST_SENTENCE], state == "firing")


def _labels(alert: object, name: str) -> dict[str, str]:
    found = alert.get(name, {}) if isinstance(alert, Mapping) else None
    if not isinstance(found, dict):
        raise Refused(UNREADABLE.format(f"the {name} of an alert are missing"))
    return {str(key): plain_line(str(value)) for key, value in found.items()}
