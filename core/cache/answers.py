"""Answers that are kept for a while, so that being looked at costs little. The database stays the truth."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from weakref import WeakValueDictionary

import msgspec
from django.core.cache import caches

if TYPE_CHECKING:
    from collections.abc import Iterator

Answer = TypeVar("Answer")

FRESH_SECONDS = 1.0
"""Maximum age of an answer whose caller names no other."""
LATE_SECONDS = 10.0
"""How long an answer that is not fresh is kept: callers take it while another one computes the next."""
PATIENCE_SECONDS = 5.0
"""How long a thread waits for the first answer of another thread before it computes its own."""
LONGEST_SECONDS = 60.0
"""Time after which a caller that computes an answer counts as gone, and another one computes it."""


class Near:
    """Copies of the answers that this process has read last, as bytes; its threads share them."""

    MOST_BYTES = 16_000_000
    BYTES_EACH = 300
    """About what a copy takes beside its bytes, so that many small ones are bounded too."""

    def __init__(self) -> None:
        self._copies: dict[str, bytes] = {}
        self._bytes, self._lock = 0, threading.Lock()

    def get(self, key: str) -> bytes | None:
        """Return the copy of an answer."""
        return self._copies.get(key)

    def put(self, key: str, data: bytes) -> None:
        """Keep a copy; the oldest ones make room for it."""
        with self._lock:
            self._drop(key)
            self._copies[key] = data
            self._bytes += self._size(key, data)
            while self._bytes > self.MOST_BYTES:
                self._drop(next(iter(self._copies)))

    def _drop(self, key: str) -> None:
        if (data := self._copies.pop(key, None)) is not None:
            self._bytes -= self._size(key, data)

    def _size(self, key: str, data: bytes) -> int:
        return self.BYTES_EACH + len(key) + len(data)


_near = Near()
_locks: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
_locks_lock = threading.Lock()


def cached(
    key: str,
    kind: Any,
    compute: Callable[[], Answer],
    *,
    version: str = "",
    seconds: float = FRESH_SECONDS,
    clock: Callable[[], float] = time.time,
) -> Answer:
    """Return what `compute` returned for this key and version within the last seconds, or call it now.

    kind: the type of the answer, for msgspec: the cache holds data and never objects that could run code.
    version: of what the answer shows; an answer of another version is not fresh.
    seconds: age up to which an answer is fresh. It counts from the end of its computation, and is at least as long as
    that took, so that a slow answer is not computed all the time.

    One caller at a time computes an answer that is not fresh any more, through a key that all processes share; the
    others take the last one meanwhile. It is dropped when it has not been fresh for LATE_SECONDS. Without any answer
    the threads of a process wait for the first of them, so each process computes once. What `compute` raises is raised
    here, and nothing is kept.

    An empty or failed cache costs computing time and never makes an answer wrong. `compute` must not call `cached` with
    the same key.

    clock: seconds, the same on all hosts; an answer from the future is not fresh.
    """

    def is_fresh(kept: _Kept) -> bool:
        return kept.version == version and 0 <= clock() - kept.ended < max(seconds, kept.took)

    kept = _read(key, kind, is_fresh)
    if kept is not None and (is_fresh(kept) or not _is_first(key)):
        old: Answer = kept.answer
        return old
    try:
        with _lock_of(key):
            newer = _read(key, kind, is_fresh)
            if newer is not None and is_fresh(newer):
                answer: Answer = newer.answer
                return answer
            begun = clock()
            answer = compute()
            ended = clock()
            took = max(0.0, ended - begun)
            data = msgspec.msgpack.encode((ended, took, version, answer))
            caches["answers"].set(key, data, timeout=max(seconds, took) + LATE_SECONDS)
            return answer
    finally:
        caches["answers"].delete(f"{key}:computed")


def count_key(scope: str, who: str) -> str:
    """Return the key of the counter for how often `who` has done something; its end is stored under this plus `:end`.

    The key is short and plain whatever `who` contains.
    """
    return f"throttle:{scope}:{hashlib.blake2b(who.encode('utf-8', 'replace'), digest_size=16).hexdigest()}"


class _Kept(NamedTuple):
    """An answer, when its computation ended, how many seconds that took, and the version of what it shows."""

    ended: float
    took: float
    version: str
    answer: Any


def _read(key: str, kind: Any, is_fresh: Callable[[_Kept], bool]) -> _Kept | None:
    """Return a kept answer: this process's copy while it is fresh, else what all processes share."""
    is_far = getattr(caches["answers"], "is_far", False)
    if is_far and (mine := _decoded(_near.get(key), kind)) is not None and is_fresh(mine):
        return mine
    data = caches["answers"].get(key)
    if is_far and data is not None:
        _near.put(key, data)
    return _decoded(data, kind)


def _decoded(data: bytes | None, kind: Any) -> _Kept | None:
    """Return a kept answer; None without one, or for one that another version of the arena has written."""
    try:
        return None if data is None else _Kept(*msgspec.msgpack.decode(data, type=tuple[float, float, str, kind]))
    except (msgspec.DecodeError, TypeError):
        return None


def _is_first(key: str) -> bool:
    """Return whether this caller computes the next answer: the first one that finds the last one old does."""
    return caches["answers"].add(f"{key}:computed", True, timeout=LONGEST_SECONDS)


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
