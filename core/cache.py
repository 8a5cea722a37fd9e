"""Answers that are kept for a moment, and a Redis that may be down. The database stays the truth behind both."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from django.core.cache import cache
from django.core.cache.backends.base import BaseCache
from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

if TYPE_CHECKING:
    from collections.abc import Iterator

logger = logging.getLogger(__name__)
Answer = TypeVar("Answer")

FRESH_SECONDS = 1.0
"""How old an answer may be."""
RENEW_SECONDS = 0.75
"""From this age on one caller computes it anew, while others still take it."""
KEPT_SECONDS = FRESH_SECONDS
"""After which the cache itself drops an answer, whatever the clocks of two hosts say."""
PATIENCE_SECONDS = 1.0
"""How long a thread waits for another one's answer before it computes its own."""
REST_SECONDS = 5.0
"""How long a Redis that has failed is not asked, so that nobody waits for it again and again."""
SILENT_SECONDS = 60.0
"""Between two warnings that Redis is down."""
UP = float("-inf")
"""Rests until: not at all."""

_turns: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
_turns_lock = threading.Lock()


def cached(key: str, compute: Callable[[], Answer], *, clock: Callable[[], float] = time.time) -> Answer:
    """What `compute` has returned for this key within the last second, else what it returns now.

    Why so short a life, and nothing that is invalidated: a result may be written by any process, by hand or by a
    restored backup, and a message about it can be lost. An answer that nobody trusts for longer than a second needs no
    message. It is as old as the moment before it was computed, so it never hides what was committed a second ago. A
    cache that is empty, flushed or down costs the time of computing, and no answer can be wrong for it.

    One caller computes at a time: shortly before an answer ends whoever is first renews it, by a key that all
    processes share, and the others take the old one; where there is none the threads of this process wait for the
    first of them, so each process computes once. `compute` must not call `cached`.

    clock: seconds, the same for all hosts; where one is late, the cache itself still drops answers after a second.
    """
    kept: _Kept[Answer] | None = cache.get(key)
    if kept is not None and _is_fresh(kept, clock()) and not _is_to_renew(key, kept, clock()):
        return kept.answer
    with _turn(key):
        newer: _Kept[Answer] | None = cache.get(key)
        if newer is not None and _is_fresh(newer, clock()) and (kept is None or newer.begun != kept.begun):
            return newer.answer
        made = _Kept(clock(), compute())
        cache.set(key, made, timeout=KEPT_SECONDS)
        return made.answer


def count_key(scope: str, who: str) -> str:
    """Where it is counted how often somebody has done something; when that time ends stands at the same with `:end`.

    Whatever `who` holds, the key is short and plain.
    """
    return f"throttle:{scope}:{hashlib.blake2b(who.encode('utf-8', 'replace'), digest_size=16).hexdigest()}"


class _Kept(NamedTuple, Generic[Answer]):
    """An answer, and when computing it began."""

    begun: float
    answer: Answer


def _is_fresh(kept: _Kept[Any], now: float) -> bool:
    return 0 <= now - kept.begun < FRESH_SECONDS


def _is_to_renew(key: str, kept: _Kept[Any], now: float) -> bool:
    """Whether it is this caller's turn to renew an answer: the first one's that finds it old enough."""
    if now - kept.begun < RENEW_SECONDS:
        return False
    return cache.add(f"{key}:renewed:{kept.begun}", True, timeout=KEPT_SECONDS)


@contextmanager
def _turn(key: str) -> Iterator[None]:
    """The threads of this process one after the other, but none waits for long."""
    with _turns_lock:
        lock = _turns.setdefault(key, threading.Lock())
    is_mine = lock.acquire(timeout=PATIENCE_SECONDS)
    try:
        yield
    finally:
        if is_mine:
            lock.release()


class Outage:
    """Whether Redis is down, as this process knows: all its threads share one."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._rests_until = self._silent_until = UP

    def may_ask(self) -> bool:
        """Whether to ask Redis now: always while it is up, else one caller every REST_SECONDS."""
        if self._rests_until == UP:
            return True
        with self._lock:
            now = self._clock()
            if now < self._rests_until:
                return False
            self._rests_until = now + REST_SECONDS
            return True

    def begin(self, error: Exception) -> None:
        """Redis has failed: let it rest, and say so once in a while."""
        with self._lock:
            now = self._clock()
            self._rests_until = now + REST_SECONDS
            if now < self._silent_until:
                return
            self._silent_until = now + SILENT_SECONDS
        logger.warning(
            "The cache in Redis cannot be used (%s: %s). Until it can, each process keeps its own; "
            "check REDIS_URL and the server.",
            type(error).__name__,
            error,
        )

    def end(self) -> None:
        """Redis has answered."""
        self._rests_until = UP


def _steady(name: str) -> Callable[..., Any]:
    """A method of a cache that Redis answers, or this process's own memory while Redis is down."""

    def method(self: SteadyRedisCache, *arguments: Any, **named: Any) -> Any:
        if self.outage.may_ask():
            try:
                result = getattr(self.shared, name)(*arguments, **named)
            except (RedisError, OSError) as error:
                self.outage.begin(error)
            else:
                self.outage.end()
                return result
        return getattr(self.own, name)(*arguments, **named)

    method.__name__ = name
    return method


class SteadyRedisCache(BaseCache):
    """Django's cache in Redis; while that is down, in this process's memory: slower and less shared, never an error.

    Bound its time-outs by OPTIONS (socket_timeout, socket_connect_timeout): one caller every REST_SECONDS pays them.
    """

    outage = Outage()

    def __init__(self, server: str | list[str], params: dict[str, Any]) -> None:
        super().__init__(params)
        self.shared = RedisCache(server, params)
        self.own = LocMemCache("while Redis is down", {**params, "OPTIONS": {}})

    add = _steady("add")
    get = _steady("get")
    set = _steady("set")
    touch = _steady("touch")
    delete = _steady("delete")
    has_key = _steady("has_key")
    incr = _steady("incr")
    get_many = _steady("get_many")
    set_many = _steady("set_many")
    delete_many = _steady("delete_many")
    clear = _steady("clear")
