"""Answers that are cached for a second. The database stays the truth."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from weakref import WeakValueDictionary

import msgspec
from django.core.cache import cache

if TYPE_CHECKING:
    from collections.abc import Iterator

Answer = TypeVar("Answer")

FRESH_SECONDS = 1.0
"""Maximum age of an answer."""
RENEW_SECONDS = 0.75
"""Age from which one caller computes the answer anew, while the others still take the old one."""
KEPT_SECONDS = FRESH_SECONDS
"""Time after which the cache itself drops an answer, even if the clocks of two hosts differ."""
PATIENCE_SECONDS = 1.0
"""How long a thread waits for another thread's answer before it computes its own."""

_locks: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
_locks_lock = threading.Lock()


def cached(key: str, kind: Any, compute: Callable[[], Answer], *, clock: Callable[[], float] = time.time) -> Answer:
    """Return what `compute` returned for this key within the last second, or call it now.

    kind: the type of the answer, for msgspec: the cache holds data and never objects that could run code.

    The life is this short, and there is no invalidation, because a result can be written by any process, by hand or by
    a restored backup, and a message about it can be lost. An answer that is trusted for one second needs no message.
    Its age counts from before it was computed, so it never hides what was committed more than a second ago. An empty
    or failed cache costs computing time and never makes an answer wrong.

    One caller computes at a time: shortly before an answer expires the first caller renews it, through a key that all
    processes share, and the others take the old answer. Without an old answer the threads of a process wait for the
    first of them, so each process computes once. `compute` must not call `cached`.

    clock: seconds, the same on all hosts; if one is late, the cache itself still drops answers after a second.
    """
    kept = _read(key, kind)
    if kept is not None and _is_fresh(kept, clock()) and not _is_to_renew(key, kept, clock()):
        old: Answer = kept.answer
        return old
    with _lock_of(key):
        newer = _read(key, kind)
        if newer is not None and _is_fresh(newer, clock()) and (kept is None or newer.begun != kept.begun):
            answer: Answer = newer.answer
            return answer
        begun, answer = clock(), compute()
        cache.set(key, msgspec.msgpack.encode((begun, answer)), timeout=KEPT_SECONDS)
        return answer


def count_key(scope: str, who: str) -> str:
    """Return the key of the counter for how often `who` has done something; its end is stored under this plus `:end`.

    The key is short and plain whatever `who` contains.
    """
    return f"throttle:{scope}:{hashlib.blake2b(who.encode('utf-8', 'replace'), digest_size=16).hexdigest()}"


class _Kept(NamedTuple):
    """An answer and the time at which its computation began."""

    begun: float
    answer: Any


def _read(key: str, kind: Any) -> _Kept | None:
    """Return a kept answer; None without one, or for one that another version of the arena has written."""
    data = cache.get(key)
    try:
        return None if data is None else _Kept(*msgspec.msgpack.decode(data, type=tuple[float, kind]))
    except (msgspec.DecodeError, TypeError):
        return None


def _is_fresh(kept: _Kept, now: float) -> bool:
    return 0 <= now - kept.begun < FRESH_SECONDS


def _is_to_renew(key: str, kept: _Kept, now: float) -> bool:
    """Return whether this caller renews an answer: the first caller that finds it old enough does."""
    if now - kept.begun < RENEW_SECONDS:
        return False
    return cache.add(f"{key}:renewed:{kept.begun}", True, timeout=KEPT_SECONDS)


@contextmanager
def _lock_of(key: str) -> Iterator[None]:
    """Lock an answer for one thread of this process; a thread waits at most PATIENCE_SECONDS."""
    with _locks_lock:
        lock = _locks.setdefault(key, threading.Lock())
    is_mine = lock.acquire(timeout=PATIENCE_SECONDS)
    try:
        yield
    finally:
        if is_mine:
            lock.release()
