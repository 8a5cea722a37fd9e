"""A request to stop: the processes of a cluster share its moment, and running jobs get a part of the grace."""

from __future__ import annotations

import mmap
import struct
import time

from django.conf import settings

_stopping = mmap.mmap(-1, 8)
"""The time at which the workers were asked to stop, 0 before: a float that a process shares with its forks. The clock
is monotonic and the same for the whole machine."""
FINISH_SHARE, HAND_BACK_SHARE = 1 / 2, 3 / 4
"""Shares of STOP_GRACE_SECONDS. Within the first share a running job may end; then it is given back as soon as it
checks for a stop, and after the second share without such a check. At the end of the grace the process is killed."""


class WorkerStopped(Exception):
    """This worker was asked to stop: its job is given back and starts again elsewhere."""


def stop_apart() -> None:
    """Give this process and its later forks a stop of their own, apart from the process that it was forked from."""
    global _stopping  # noqa: PLW0603  # one for each cluster
    _stopping = mmap.mmap(-1, 8)


def ask_to_stop() -> None:
    """Keep this process and its forks from starting more jobs; a signal handler may call this."""
    if not is_stopping():
        struct.pack_into("d", _stopping, 0, time.monotonic())


def is_stopping() -> bool:
    """Return whether this process was asked to stop."""
    return _asked_at() > 0


def has_time_to_finish() -> bool:
    """Return whether running jobs may still end: this process was not asked to stop, or only a moment ago."""
    return has_grace(FINISH_SHARE)


def _asked_at() -> float:
    (asked_at,) = struct.unpack_from("d", _stopping)
    return float(asked_at)


def has_grace(share: float) -> bool:
    """Return whether this process was not asked to stop, or this share of the grace is not over yet."""
    return not is_stopping() or time.monotonic() < _asked_at() + share * settings.STOP_GRACE_SECONDS
