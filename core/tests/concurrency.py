"""Several workers at once, each with its own connection to the database under test."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import connection

Result = TypeVar("Result")


def at_once(*actions: Callable[[], Result]) -> list[Result]:
    """Run actions in threads that start together, each with its own connection; return their results in order."""
    barrier = threading.Barrier(len(actions), timeout=120)

    def run(action: Callable[[], Result]) -> Result:
        try:
            connection.ensure_connection()
            barrier.wait()
            return action()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(actions)) as pool:
        return [future.result(timeout=300) for future in [pool.submit(run, action) for action in actions]]
