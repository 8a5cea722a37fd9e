"""A cache in Redis that survives its outage. Loaded only where Redis is used: its client takes long to load."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec
from django.core.cache.backends.base import BaseCache
from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache, RedisCacheClient
from django.utils.functional import cached_property
from redis import Redis
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)

REST_SECONDS = 5.0
"""How long Redis is not asked after a failure, so that requests do not wait for it again and again."""
SILENT_SECONDS = 60.0
"""Time between two warnings that Redis is down."""
UP = float("-inf")
"""The value of `Outage._rests_until` while Redis is up."""


class Outage:
    """The state of Redis, down or not, as this process has seen it. All its threads share one instance."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._rests_until = self._silent_until = UP

    def may_ask(self) -> bool:
        """Return whether to ask Redis now: always while it is up, otherwise one caller every REST_SECONDS."""
        if self._rests_until == UP:
            return True
        with self._lock:
            now = self._clock()
            if now < self._rests_until:
                return False
            self._rests_until = now + REST_SECONDS
            return True

    def begin(self, error: Exception) -> None:
        """Note that Redis has failed, and log a warning at most every SILENT_SECONDS."""
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
        """Note that Redis has answered."""
        self._rests_until = UP


UNREADABLE = object()
"""Stands for a foreign value, which `SteadyRedisCache` takes for missing."""


def _steady(name: str) -> Callable[..., Any]:
    """Make a cache method that asks Redis, or this process's memory while Redis is down."""

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


class Data:
    """Writes values as msgpack: data alone, so that a foreign value in Redis cannot run code as a pickle would.

    Raises TypeError for a value that is no data. A foreign value that is not msgpack is read as UNREADABLE.
    """

    def dumps(self, value: Any) -> bytes | int:
        # Redis itself counts with whole numbers.
        return value if type(value) is int else msgspec.msgpack.encode(value)

    def loads(self, data: bytes) -> Any:
        try:
            return int(data)
        except ValueError:
            pass
        try:
            return msgspec.msgpack.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return UNREADABLE


class OneClient(RedisCacheClient):
    """Django's client of Redis, which here makes redis-py's only once: making it takes longer than to read a key."""

    @cached_property
    def _only(self) -> Redis:
        return super().get_client()

    def get_client(self, key: Any = None, *, write: bool = False) -> Redis:
        """Return the client of the one server: the arena names one, in REDIS_URL."""
        return self._only


class SharedCache(RedisCache):
    """Django's cache in Redis, with one client."""

    def __init__(self, server: str | list[str], params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._class = OneClient


class SteadyRedisCache(BaseCache):
    """Django's Redis cache that falls back to this process's memory during an outage: slower, but never an error.

    Bound its timeouts by OPTIONS (socket_timeout, socket_connect_timeout): one caller every REST_SECONDS waits so long.
    """

    outage = Outage()
    is_far = True
    """Whether reading a value is slower than reading it from this process's memory."""

    def __init__(self, server: str | list[str], params: dict[str, Any]) -> None:
        super().__init__(params)
        self.shared = SharedCache(server, {**params, "OPTIONS": {**params.get("OPTIONS", {}), "serializer": Data()}})
        self.own = LocMemCache("while Redis is down", {**params, "OPTIONS": {}})

    add = _steady("add")
    _get = _steady("get")
    set = _steady("set")
    touch = _steady("touch")
    delete = _steady("delete")
    has_key = _steady("has_key")
    incr = _steady("incr")
    _get_many = _steady("get_many")
    set_many = _steady("set_many")
    delete_many = _steady("delete_many")
    clear = _steady("clear")

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        value = self._get(key, default, version=version)
        return default if value is UNREADABLE else value

    def get_many(self, keys: Any, version: int | None = None) -> dict[str, Any]:
        found = self._get_many(keys, version=version)
        return {key: value for key, value in found.items() if value is not UNREADABLE}
