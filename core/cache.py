"""Answers that are kept for a moment. The database stays the truth: nothing here must ever be flushed for a result."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

from django.core.cache import cache

logger = logging.getLogger(__name__)
Answer = TypeVar("Answer")

FRESH_SECONDS = 1.0
"""How old an answer may be. So short that nobody has to tell the cache of a result, in whatever process it was."""
DOWN_SECONDS = 5.0
"""How long a cache that has failed is left alone: nobody shall wait for it again and again."""
_lock = threading.Lock()
_down_until = 0.0


def cached(key: str, compute: Callable[[], Answer], *, clock: Callable[[], float] = time.time) -> Answer:
    """What `compute` has returned for this key within the last second, else what it returns now.

    The age counts from before the answer was computed, by the clock of this host; a cache that is empty, flushed or
    down costs the time of computing and nothing else.
    """
    begun = clock()
    kept = _get(key)
    if isinstance(kept, tuple) and 0 <= begun - kept[0] < FRESH_SECONDS:
        return cast(Answer, kept[1])
    answer = compute()
    _set(key, (begun, answer))
    return answer


def _get(key: str) -> Any:
    return tried(lambda: cache.get(key))


def _set(key: str, value: object) -> None:
    # Longer than it counts, because some caches know whole seconds only.
    tried(lambda: cache.set(key, value, timeout=2))


def tried(action: Callable[[], Any]) -> Any:
    """The action's result; None while the cache is down, which is said once."""
    global _down_until  # noqa: PLW0603  # one cache for each process
    if time.monotonic() < _down_until:
        return None
    try:
        return action()
    # Every backend has errors of its own.
    except Exception as error:
        with _lock:
            _down_until = time.monotonic() + DOWN_SECONDS
        logger.warning("The cache cannot be used for now: %s: %s", type(error).__name__, error)
        return None
