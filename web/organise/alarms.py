"""The advice about an alarm: the page of the documentation that speaks of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from core.models import Alarm


@dataclass(frozen=True, slots=True)
class Advice:
    """The advice about alarms whose key matches. doc: a page of the documentation; anchor: its part."""

    pattern: str
    sentence: str
    doc: str
    anchor: str = ""


ADVICE = (
    Advice(r"queue-.*-stands-still", "Start workers for the queue, or free the job that holds them.",
           "operator/troubleshooting"),
    Advice(r"environment-.*-fails", "Fix the environment and run sync_environments, or cancel the duels on hold.",
           "organiser/environments", "an-environment-that-fails-in-matches"),
    Advice(r"environments-left-out", "Correct the files that it names, and run sync_environments.",
           "organiser/environments", "what-happens-to-a-folder-that-is-broken"),
    Advice(r"environment-.*", "Install what is missing and run sync_environments, or close the "
           "environment.", "organiser/environments", "what-happens-to-a-folder-that-is-broken"),
    Advice(r"edition-of-.*", "Remove what it names, and start the edition again; it settles when one begins.",
           "organiser/tournaments", "start-one"),
    Advice(r"(duel|evaluation|recording)-.*", "Look at the job, and void its result if the record is wrong.",
           "organiser/rechecks", "a-mismatch-raises-an-alarm"),
    Advice(r"webhook-.*", "Send a test, and correct the address or switch the webhook off.", "organiser/webhooks"),
    Advice(r"repository-is-not-kept", "Try it with manage.py publisher_check.", "operator/publishing"),
    Advice(r"model-.*", "Correct the model's key or address in the settings.", "organiser/rollouts", "models"),
    Advice(r"scaling-.*", "Look at the provider's account and at the log of manage.py autoscale.", "operator/scaling"),
)  # fmt: skip
"""The first that matches counts."""
OTHER = Advice("", "Read what it says, deal with the cause, and settle it.", "operator/monitor", "alarms")


def advised(alarms: Iterable[Alarm]) -> list[tuple[Alarm, Advice]]:
    """Return alarms with what to do about each."""
    return [(alarm, advice(alarm.key)) for alarm in alarms]


def advice(key: str) -> Advice:
    """Return what to do about the alarm with this key."""
    return next((one for one in ADVICE if re.fullmatch(one.pattern, key)), OTHER)
