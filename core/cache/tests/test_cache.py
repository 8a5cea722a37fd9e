"""Answers kept for a while, with a Redis that may be slow, flushed or gone."""

from __future__ import annotations

import logging
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest
from django.core.cache import cache
from django.core.cache.backends.redis import RedisCache
from pytest_django.fixtures import Settings

import core.cache.answers
from core.cache.answers import Near, cached
from core.cache.redis import Outage, SteadyRedisCache
from core.tests.clocks import Clock
from tests.machine import redis_server

UNUSED = "redis://127.0.0.1:1/0"
"""An address on which no server listens."""
SHORT = {"socket_timeout": 0.05, "socket_connect_timeout": 0.05}
LONG = {"socket_timeout": 60.0, "socket_connect_timeout": 60.0}


@pytest.fixture(autouse=True)
def no_real_time_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that stands still for a second must not change what the tests' own clock decides."""
    monkeypatch.setattr(core.cache.answers, "LATE_SECONDS", 600)
    monkeypatch.setattr(core.cache.answers, "PATIENCE_SECONDS", 600)


@pytest.fixture
def asked() -> list[int]:
    return []


@pytest.fixture
def ask(clock: Clock, asked: list[int]) -> Callable[[], int]:
    """Ask for a number that grows with every computation."""

    def compute() -> int:
        asked.append(len(asked) + 1)
        return asked[-1]

    return lambda: cached("number", Any, compute, clock=clock)


def test_an_answer_is_fresh_for_a_second(ask: Callable[[], int], clock: Clock) -> None:
    assert ask() == 1
    clock.now += 0.99
    assert ask() == 1
    clock.now += 0.01
    assert ask() == 2


def test_the_first_who_finds_an_old_answer_computes_the_next_and_others_take_the_old_meanwhile(clock: Clock) -> None:
    others: list[str] = []

    def renew() -> str:
        others.extend(cached("key", Any, lambda: "computed twice", clock=clock) for _ in range(3))
        return "new"

    cached("key", Any, lambda: "old", clock=clock)
    clock.now += 5
    assert cached("key", Any, renew, clock=clock) == "new"
    assert others == ["old"] * 3
    assert cached("key", Any, lambda: "computed twice", clock=clock) == "new"


def test_the_age_counts_from_the_end_of_the_computation_and_may_reach_what_that_took(clock: Clock) -> None:
    def slowly() -> str:
        clock.now += 3
        return "slow"

    cached("key", Any, slowly, clock=clock)
    clock.now += 2.9
    assert cached("key", Any, lambda: "new", clock=clock) == "slow"
    clock.now += 0.1
    assert cached("key", Any, lambda: "new", clock=clock) == "new"


def test_an_answer_of_another_version_is_computed_again_at_once(clock: Clock) -> None:
    def asked(version: str, answer: str) -> str:
        return cached("key", str, lambda: answer, version=version, seconds=60, clock=clock)

    assert asked("1", "first") == "first"
    clock.now += 59
    assert asked("1", "second") == "first"
    assert asked("2", "second") == "second"
    clock.now += 60
    assert asked("2", "third") == "third"


def test_a_hundred_callers_of_a_slow_part_have_the_last_answer_while_one_computes(clock: Clock) -> None:
    begun, go_on, computed = threading.Event(), threading.Event(), []

    def slowly() -> str:
        computed.append(threading.get_ident())
        begun.set()
        assert go_on.wait(30)
        return "new"

    cached("key", str, lambda: "old", clock=clock)
    clock.now += 3
    with ThreadPoolExecutor(101) as threads:
        first = threads.submit(cached, "key", str, slowly, clock=clock)
        assert begun.wait(30)
        # All of them have their answers before the one that computes has its own.
        others = [threads.submit(cached, "key", str, slowly, clock=clock) for _ in range(100)]
        assert [future.result(30) for future in others] == ["old"] * 100
        go_on.set()
        assert first.result(30) == "new"
    assert len(computed) == 1


def test_an_answer_from_the_future_of_a_late_clock_is_not_taken(ask: Callable[[], int], clock: Clock) -> None:
    ask()
    clock.now -= 5
    assert ask() == 2


def test_an_answer_may_be_none(clock: Clock) -> None:
    cached("key", Any, lambda: None, clock=clock)
    assert cached("key", Any, lambda: 1, clock=clock) is None


def test_threads_that_find_nothing_wait_for_one_that_computes(clock: Clock) -> None:
    begun, go_on, computed = threading.Event(), threading.Event(), []

    def compute() -> str:
        computed.append(threading.get_ident())
        begun.set()
        assert go_on.wait(30)
        return "answer"

    with ThreadPoolExecutor(8) as threads:
        first = threads.submit(cached, "key", str, compute, clock=clock)
        assert begun.wait(30)
        others = [threads.submit(cached, "key", str, compute, clock=clock) for _ in range(7)]
        go_on.set()
        assert {future.result(30) for future in [first, *others]} == {"answer"}
    assert len(computed) == 1


def test_readers_do_not_wait_for_ever_for_one_that_hangs(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core.cache.answers, "PATIENCE_SECONDS", 0.01)
    begun, go_on = threading.Event(), threading.Event()

    def hang() -> str:
        begun.set()
        assert go_on.wait(30)
        return "late"

    with ThreadPoolExecutor(1) as threads:
        late = threads.submit(cached, "key", str, hang, clock=clock)
        assert begun.wait(30)
        assert cached("key", Any, lambda: "own", clock=clock) == "own"
        go_on.set()
        assert late.result(30) == "late"


def test_a_failure_is_not_shared(clock: Clock) -> None:
    def fail() -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        cached("key", Any, fail, clock=clock)
    assert cached("key", Any, lambda: "answer", clock=clock) == "answer"
    assert not core.cache.answers._locks


def test_an_outage_is_asked_about_by_one_caller_every_five_seconds(clock: Clock) -> None:
    outage = Outage(clock)
    assert [outage.may_ask() for _ in range(3)] == [True] * 3
    outage.begin(OSError("gone"))
    assert [outage.may_ask() for _ in range(3)] == [False] * 3
    clock.now += 5
    assert [outage.may_ask() for _ in range(3)] == [True, False, False]
    outage.end()
    assert [outage.may_ask() for _ in range(3)] == [True] * 3


def test_an_outage_is_told_once_a_minute_in_one_line(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    outage = Outage(clock)
    for _ in range(13):
        outage.begin(OSError("gone"))
        clock.now += 5
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
    assert "OSError: gone" in caplog.text
    assert "REDIS_URL" in caplog.text
    assert "Traceback" not in caplog.text


@pytest.fixture
def use(settings: Settings, monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Callable[..., None]:
    """Let Django's cache be in this Redis."""
    monkeypatch.setattr(SteadyRedisCache, "outage", Outage(clock))
    monkeypatch.setattr(core.cache.answers, "_near", Near())

    def use(server: str, options: dict[str, float] = LONG) -> None:
        one = {"BACKEND": "core.cache.redis.SteadyRedisCache", "LOCATION": server, "OPTIONS": options}
        settings.CACHES = {"default": one, "answers": one}
        SteadyRedisCache(server, {}).own.clear()

    return use


def test_while_redis_refuses_connections_a_process_keeps_its_own(
    use: Callable[..., None], ask: Callable[[], int], clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    use(UNUSED)
    assert [ask(), ask()] == [1, 1]
    clock.now += 1
    assert ask() == 2
    assert len(caplog.records) == 1


def test_everything_that_a_cache_can_do_goes_on_without_redis(use: Callable[..., None]) -> None:
    use(UNUSED)
    cache.set("a", 1)
    assert cache.add("a", 2) is False
    assert cache.incr("a", 4) == 5
    assert cache.decr("a") == 4
    assert cache.touch("a", 60) is True
    cache.set_many({"b": 2, "c": 3})
    assert cache.get_many(["a", "b", "c", "d"]) == {"a": 4, "b": 2, "c": 3}
    assert "b" in cache
    cache.delete_many(["b"])
    assert cache.delete("c") is True
    assert cache.get_or_set("b", 7) == 7
    cache.clear()
    assert cache.get("a", "none") == "none"
    with pytest.raises(ValueError, match="not found"):
        cache.incr("a")


def test_a_redis_that_does_not_answer_costs_one_time_out_in_five_seconds(
    use: Callable[..., None], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    get = RedisCache.get

    def counting(self: RedisCache, key: str, *arguments: Any, **named: Any) -> Any:
        asked.append(key)
        return get(self, key, *arguments, **named)

    monkeypatch.setattr(RedisCache, "get", counting)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        use(f"redis://127.0.0.1:{silent.getsockname()[1]}/0", SHORT)
        for _ in range(20):
            assert cache.get("key") is None
        assert len(asked) == 1
        clock.now += 5
        for _ in range(20):
            assert cache.get("key") is None
        assert len(asked) == 2


@pytest.fixture
def redis_socket() -> Iterator[Path]:
    # Not pytest's own folder, which may be too deep for a socket.
    folder = Path(tempfile.mkdtemp(prefix="arena-redis-"))
    yield folder / "redis.sock"
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.redis
@pytest.mark.skipif(not shutil.which("redis-server"), reason="a Redis of its own is started and killed")
def test_answers_stay_right_while_redis_is_used_flushed_killed_and_started_again(
    use: Callable[..., None], ask: Callable[[], int], clock: Clock, redis_socket: Path
) -> None:
    use(f"unix://{redis_socket}?db=0")
    with redis_server(redis_socket) as server:
        assert [ask(), ask()] == [1, 1]
        cache.clear()
        # Of this process's own copy, which is as fresh.
        assert ask() == 1
        clock.now += 1
        assert [ask(), ask()] == [2, 2]
        server.kill()
        server.wait(10)
        clock.now += 1
        assert [ask(), ask()] == [3, 3]
        clock.now += 1
        assert ask() == 4
    with redis_server(redis_socket):
        clock.now += 5
        assert ask() == 5
        assert SteadyRedisCache(f"unix://{redis_socket}?db=0", {}).shared.get("number") is not None


@pytest.mark.redis
def test_a_pickle_in_redis_is_never_loaded(
    use: Callable[..., None], clock: Clock, redis_url: str, tmp_path: Path
) -> None:
    class Hostile:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "ran",)

    use(redis_url)
    shared = RedisCache(redis_url, {})
    shared.set("wall", Hostile())
    assert cached("wall", str, lambda: "right", clock=clock) == "right"
    assert cached("wall", str, lambda: "kept", clock=clock) == "right"
    shared.set("plain", Hostile())
    assert cache.get("plain") is None
    assert cache.get("plain", []) == []
    assert cache.get_many(["plain", "wall"]).keys() == {"wall"}
    assert not (tmp_path / "ran").exists()
    # What is no data is refused when it is written, so that nothing can come to need a pickle.
    with pytest.raises(TypeError):
        cache.set("object", object())


@pytest.mark.redis
def test_data_comes_back_from_redis_as_it_was(use: Callable[..., None], redis_url: str) -> None:
    use(redis_url)
    for value in (True, False, None, 7, -1, 2.5, "text", "17", b"\x80", ["a", 1], {"a": {"b": [1.5]}}):
        cache.set("value", value)
        assert cache.get("value") == value
        assert type(cache.get("value")) is type(value)


@pytest.mark.redis
def test_processes_share_what_is_in_redis_and_take_turns(
    use: Callable[..., None], clock: Clock, redis_url: str
) -> None:
    use(redis_url)
    other = SteadyRedisCache(redis_url, {})
    other.delete("shared")
    cached("shared", Any, lambda: "first", clock=clock)
    assert msgspec.msgpack.decode(other.get("shared"))[-1] == "first"

    clock.now += 1
    # Another process computes the next one.
    assert other.add("shared:computed", True, timeout=600)
    assert cached("shared", Any, lambda: "second", clock=clock) == "first"
    other.delete("shared:computed")
    assert cached("shared", Any, lambda: "second", clock=clock) == "second"
    other.delete("shared")


@pytest.mark.redis
def test_a_process_reads_an_answer_once_while_it_is_fresh(
    use: Callable[..., None], clock: Clock, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(redis_url)
    reads: list[str] = []
    get = SteadyRedisCache.get

    def counting(self: SteadyRedisCache, key: str, *arguments: Any, **named: Any) -> Any:
        reads.append(key)
        return get(self, key, *arguments, **named)

    monkeypatch.setattr(SteadyRedisCache, "get", counting)
    assert cached("near", Any, lambda: "first", clock=clock, version="1") == "first"
    reads.clear()
    for _ in range(3):
        assert cached("near", Any, lambda: "wrong", clock=clock, version="1") == "first"
    assert reads == ["near"]
    # Of another version, and then not fresh any more, though another process has the next one.
    assert cached("near", Any, lambda: "second", clock=clock, version="2") == "second"
    assert cached("near", Any, lambda: "wrong", clock=clock, version="2") == "second"
    clock.now += 1
    SteadyRedisCache(redis_url, {}).set("near", msgspec.msgpack.encode((clock.now, 0.0, "2", "of another")))
    assert cached("near", Any, lambda: "wrong", clock=clock, version="2") == "of another"


def test_copies_of_answers_take_a_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Near, "MOST_BYTES", 1000)
    near = Near()
    for key, size in (("a", 150), ("b", 150), ("b", 250), ("c", 150), ("d", 1001), ("e", 2)):
        near.put(key, bytes(size))
    assert [len(near.get(key) or b"") for key in "abcde"] == [0, 0, 0, 0, 2]
    # Answers to hostile addresses are many, and nearly empty.
    for number in range(100):
        near.put(f"{number}", b"")
    assert sum(near.get(f"{number}") is not None for number in range(100)) == 3


@pytest.mark.redis
def test_redis_itself_drops_an_answer(use: Callable[..., None], clock: Clock, redis_url: str) -> None:
    """Whatever the clocks of two hosts say."""
    use(redis_url)
    cached("dropped", Any, lambda: 1, clock=clock)
    client = SteadyRedisCache(redis_url, {}).shared._cache.get_client()
    assert 0 < client.pttl(":1:dropped") <= 601_000
    cache.delete("dropped")
