"""Waits for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_SECONDS = 600
"""No machine needs this long for anything that a test waits for."""


def wait_until(true: Callable[[], bool], what: str = "") -> None:
    """Return once `true` returns True. what: a sentence for the test's failure otherwise."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not true():
        assert time.monotonic() < deadline, f"not within {PATIENCE_SECONDS} s: {what}"
        time.sleep(0.1)
