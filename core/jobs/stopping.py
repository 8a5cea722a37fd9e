"""A request to stop this worker process: its running job gets a part of the grace."""

from __future__ import annotations

import time

from django.conf import settings

_asked_at: float | None = None
"""The monotonic time at which this process was asked to stop; None before."""
FINISH_SHARE, GIVE_BACK_SHARE = 1 / 2, 3 / 4
"""Shares of STOP_GRACE_SECONDS. Within the first share a running job may end; then it is given back as soon as it
checks for a stop, and after the second share without such a check. At the end of the grace the process is killed."""


class WorkerStopped(Exception):
    """This worker was asked to stop: its job is given back and starts again elsewhere."""


def ask_to_stop() -> None:
    """Keep this process from starting more jobs; a signal handler may call this."""
    global _asked_at  # noqa: PLW0603  # one for each process
    if _asked_at is None:
        _asked_at = time.monotonic()


def is_stopping() -> bool:
    """Return whether this process was asked to stop."""
    return _asked_at is not None


def has_time_to_finish() -> bool:
    """Return whether running jobs may still end: this process was not asked to stop, or only a moment ago."""
    return has_grace(FINISH_SHARE)


def has_grace(share: float) -> bool:
    """Return whether this process was not asked to stop, or this share of the grace is not over yet."""
    return _asked_at is None or time.monotonic() < _asked_at + share * settings.STOP_GRACE_SECONDS
