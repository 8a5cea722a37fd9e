"""Describes environments that Gymnasium has registered here, each in a limited process.

Only registered ids are taken: an id with a module (`module:Name-v0`) would import that module.
"""

from __future__ import annotations

import json
import math
import re
import threading
import time
from typing import Any

from arena_kit.environment.outside.limited import Limited
from arena_kit.environment.protocol import ArenaEnvironmentError

PROGRAM = "arena_kit.environment.outside.describing_program"
SECONDS = 30.0
ANSWER_BYTES = 1 << 20
ID = re.compile(r"(?:[A-Za-z0-9_-]+/)?[A-Za-z0-9_.-]+")
MOST_ID_CHARACTERS = 100
UNANSWERED_SECONDS = 300.0
"""After a failed query, wait this long before the next one, because a query can take half a minute."""


_asking = threading.Lock()
_known: dict[str, tuple[tuple[str, ...], float]] = {}
"""The ids that are registered, once they have been asked for, and when by the clock they are asked for again."""


class NotDescribed(ArenaEnvironmentError):
    """A registered environment cannot be played here. The message is a sentence for participants.

    detail: what Gymnasium says, for organisers.
    """

    def __init__(self, message: str, *, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


def is_registered(registered_id: str) -> bool:
    """Return whether Gymnasium here has registered exactly this id; False for one with a module."""
    is_plain = len(registered_id) <= MOST_ID_CHARACTERS and ID.fullmatch(registered_id) is not None
    return is_plain and registered_id in registered_ids()


def registered_ids() -> tuple[str, ...]:
    """Return the ids that Gymnasium here has registered, sorted; () if it cannot be asked.

    An answer holds for the life of the process, because what is installed does not change while it runs.
    """
    with _asking:
        ids, until = _known.get("ids", ((), -math.inf))
        if time.monotonic() >= until:
            ids, _ = _known["ids"] = _asked()
        return ids


def _asked() -> tuple[tuple[str, ...], float]:
    try:
        ids = _answer("", "Gymnasium")["ids"]
    except NotDescribed:
        return (), time.monotonic() + UNANSWERED_SECONDS
    return tuple(sorted(name for name in ids if ID.fullmatch(name) and len(name) <= MOST_ID_CHARACTERS)), math.inf


def described(registered_id: str, slug: str) -> str:
    """Return the text of the file of a registered environment, in which its slug is `slug`.

    It has been made from that text, and an episode has begun. Raises NotDescribed.
    """
    said = _answer(registered_id, registered_id, slug)
    if because := str(said["because"]):
        raise NotDescribed(because, detail=str(said["detail"]))
    return str(said["file"])


def _answer(registered_id: str, name: str, *more: str) -> dict[str, Any]:
    """Return the answer of the limited process. Raises NotDescribed without one."""
    try:
        process = Limited(PROGRAM, registered_id, *more)
    except OSError as error:
        raise NotDescribed(f"{name} cannot be tried now. Try again later.", detail=str(error)) from None
    try:
        line, is_late = process.read_line(SECONDS, ANSWER_BYTES)
    finally:
        process.kill()
    try:
        said: dict[str, Any] = json.loads(line)
    except ValueError:
        what = f"takes more than {SECONDS:g} s to try" if is_late else "ended the process that tried it"
        raise NotDescribed(f"{name} cannot be played on this arena: it {what}.") from None
    return said
