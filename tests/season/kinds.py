"""The kinds of faults, and how many of each make a deck."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import signal
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import psycopg2  # type: ignore[import-untyped]  # it ships no types
from redis import RedisError

from tests.season.driver import Driver, Fault, Hit, NotInjected, kill, partial_file, stop
from tests.season.hosts import host_comes_and_goes
from tests.season.scaling import OF_SCALERS
from tests.season.season import LEASE_SECONDS, again
from tests.season.services import until
from tests.season.stores import FolderStore

HOUR = 3600.0
Result = tuple[float | None, str]


def worker_killed(driver: Driver, draw: random.Random, *, place: str) -> Result:
    """SIGKILL for a worker in the act, in every other case for its whole host, as when a machine dies."""
    if place == "mid-build":
        driver.season.upload_late()
    with driver.caught(place) as hit:
        if place == "half-written":
            store = driver.services.store
            name, size = str(hit.facts["name"]), int(hit.facts["size"])
            partial_file(store.files(), name, size, is_folder=isinstance(store, FolderStore))
        whole = draw.random() < 0.5
        begun = kill(hit.pid, host=hit.host if whole else ())
    what = f"{hit.worker}{' whole' if whole else ''} at {hit.facts['kind']} {hit.facts['job']}"
    if "done" in hit.facts:
        what += f" after {hit.facts['done']} of {hit.facts['of']} matches"
    if place == "result-written":
        if driver.job(hit).state != "SUCCEEDED":
            raise NotInjected("its result was not written")
        # Nothing is to be done again; the worker has to come back.
        return driver.seconds_until(lambda: driver.clock(hit.worker)[0] != hit.pid, begun), what
    return driver.seconds_until(lambda: driver.runs_elsewhere(hit), begun), what


def worker_stopped(driver: Driver, draw: random.Random, *, place: str, past_lease: bool = False) -> Result:
    """SIGSTOP for a worker in the act; past its lease it comes back as a zombie whose result must be refused."""
    if place == "mid-build":
        driver.season.upload_late()
    with driver.caught(place) as hit:
        stop(hit.pid)
        begun = time.monotonic()
        try:
            what = f"{hit.worker} at {hit.facts['kind']} {hit.facts['job']}"
            if past_lease:
                seconds = driver.seconds_until(lambda: driver.runs_elsewhere(hit), begun)
                what += f", zombie for {time.monotonic() - begun:.0f} s"
            else:
                # Longer than a player may think, shorter than the lease.
                pause = draw.uniform(2.0, 0.5 * LEASE_SECONDS)
                time.sleep(pause)
                what += f" for {pause:.0f} s"
                begun = time.monotonic()
        finally:
            driver.let_go(hit.number)
            os.kill(hit.pid, signal.SIGCONT)
    if not past_lease:
        seconds = driver.seconds_until(lambda: driver.is_over(hit), begun)
    return seconds, what


def _worker_label() -> str:
    # Settings are there only once the season is.
    from duel_runner.workplace import worker_label

    return worker_label()


def container_killed(driver: Driver, draw: random.Random) -> Result:
    """SIGKILL for a player's container in the middle of its duel."""
    with driver.caught("mid-duel") as hit, driver.engine() as client:
        names = []
        for container in _containers(client, hit, draw):
            container.kill()
            container.reload()
            if container.status == "running":
                raise NotInjected(f"{container.name} still runs")
            names.append(container.name)
    begun = time.monotonic()
    what = f"{', '.join(names)} in duel {hit.facts['job']}"
    return driver.seconds_until(lambda: driver.is_over(hit), begun), what


def container_paused(driver: Driver, draw: random.Random) -> Result:
    """A player's container does not run for a while, in every third case for longer than any move may last."""
    pause = draw.choice((1.0, 2.0, 9.0))
    with driver.caught("mid-duel") as hit, driver.engine() as client:
        containers = _containers(client, hit, draw)
        for container in containers:
            container.pause()
            container.reload()
            if container.status != "paused":
                raise NotInjected(f"{container.name} is not paused")
        driver.let_go(hit.number)
        time.sleep(pause)
    begun = time.monotonic()
    for container in containers:
        _unpause(driver, container.id)
    what = f"{', '.join(row.name for row in containers)} for {pause:.0f} s in duel {hit.facts['job']}"
    return driver.seconds_until(lambda: driver.is_over(hit), begun), what


def engine_restarted(driver: Driver, draw: random.Random) -> Result:
    """The engine ends, by a request or by SIGKILL, and comes back: every player is gone."""
    with driver.alone_with("engine"):
        engine = driver.services.engine
        number = draw.choice((signal.SIGTERM, signal.SIGKILL))
        before, begun = engine.pid, time.monotonic()
        engine.stop(number)
        engine.start()
        if engine.pid == before:
            raise NotInjected("it is the same engine")
        away = time.monotonic() - begun
        return driver.next_success(begun), f"by {number.name}, away for {away:.1f} s"


def database_restarted(driver: Driver, draw: random.Random) -> Result:
    """PostgreSQL ends, in order or by a crash, and comes back."""
    with driver.alone_with("postgres"):
        postgres, how = driver.services.postgres, draw.choice(("fast", "immediate"))
        before, begun = postgres.pid, time.monotonic()
        postgres.stop(how)
        time.sleep(draw.uniform(0.0, 2.0))
        postgres.start()
        if postgres.pid == before:
            raise NotInjected("it is the same server")
        away = time.monotonic() - begun
        return driver.next_success(begun), f"{how}, away for {away:.1f} s"


def connections_cut(driver: Driver, _: random.Random) -> Result:
    """Every connection of workers to the database is ended by the server, in the middle of whatever it does."""
    with driver.alone_with("postgres"):
        begun = time.monotonic()
        ask = "SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = %s"
        try:
            # To another database: this connection is not to end itself.
            with contextlib.closing(psycopg2.connect(driver.services.postgres.url("postgres"))) as connection:
                cursor = connection.cursor()
                cursor.execute(ask, [driver.services.database])
                row = cursor.fetchone()
        except psycopg2.Error as error:
            raise NotInjected(f"the database does not answer: {error}") from error
        count = int(row[0]) if row else 0
        if not count:
            raise NotInjected("no process was connected")
        return driver.next_success(begun), f"{count} connections"


def messages_flushed(driver: Driver, _: random.Random) -> Result:
    """Every message that waits is lost, and whatever Redis keeps."""
    from django.db import Error
    from django_q.models import OrmQ

    with driver.alone_with("redis"):
        begun = time.monotonic()
        pipe: Any = driver.services.redis.client(driver.services.number).pipeline(transaction=True)
        for call in (pipe.dbsize, pipe.flushdb, pipe.dbsize):
            call()
        try:
            lost = OrmQ.objects.all().delete()[0]
            before, _, after = pipe.execute()
        except (Error, RedisError) as error:
            raise NotInjected(f"it does not answer: {error}") from error
        if after or not before + lost:
            raise NotInjected(f"{before} keys before, {after} after, {lost} messages")
        return driver.next_success(begun), f"{before} keys, {lost} messages"


def redis_restarted(driver: Driver, draw: random.Random) -> Result:
    """Redis dies with all it keeps and comes back."""
    with driver.alone_with("redis"):
        redis = driver.services.redis
        before, begun = redis.pid, time.monotonic()
        redis.stop()
        time.sleep(draw.uniform(0.0, 2.0))
        redis.start()
        if redis.pid == before:
            raise NotInjected("it is the same server")
        away = time.monotonic() - begun
        return driver.next_success(begun), f"away for {away:.1f} s"


def message_twice(driver: Driver, _: random.Random) -> Result:
    """The same message is delivered twice, once while its task runs or is over."""
    from django_q.models import OrmQ
    from django_q.tasks import async_task

    from core.jobs.messages import TASK, TOURNAMENT_TASK
    from core.models import Environment

    @again
    def send() -> OrmQ:
        environment = Environment.objects.filter(seats__gt=1, is_active=True).earliest("pk")
        async_task(TASK, TOURNAMENT_TASK, environment.pk, cluster="spare")
        OrmQ.objects.filter(key="spare").update(key="tournament")
        return OrmQ.objects.filter(key="tournament").latest("pk")

    with driver.alone_with("postgres"):
        begun = time.monotonic()
        try:
            first = send()
        except OrmQ.DoesNotExist:
            raise NotInjected("its worker was quicker") from None
        until(lambda: not again(OrmQ.objects.filter(pk=first.pk).exists)(), 60, "the first delivery")
        copy = again(OrmQ.objects.create)(key="tournament", payload=first.payload, lock=first.lock)
    waiting = again(OrmQ.objects.filter(pk=copy.pk).exists)
    return driver.seconds_until(lambda: not waiting(), begun), f"{first.args()}"


def clock_wrong(driver: Driver, draw: random.Random) -> Result:
    """The clock of one worker is an hour off, ahead or behind, for as long as it takes to play a duel."""
    from core.models import Duel

    with driver.alone_with("clock"):
        name, ahead = driver.workers.clocked, draw.choice((HOUR, -HOUR))
        driver.workers.set_clock(int(ahead))
        try:
            until(lambda: abs(driver.clock(name)[1] - ahead) < 60, 20, f"the clock of {name} is wrong")
            begun = time.monotonic()
            before = again(lambda: set(Duel.objects.filter(state="SUCCEEDED").values_list("pk", flat=True)))()

            def has_played() -> bool:
                pid, off = driver.clock(name)
                finished = Duel.objects.filter(state="SUCCEEDED", worker__endswith=f":{pid}").exclude(pk__in=before)
                return abs(off - ahead) < 60 and again(finished.exists)()

            seconds = driver.seconds_until(has_played, begun)
        finally:
            driver.workers.set_clock(0)
        until(lambda: abs(driver.clock(name)[1]) < 60, 60, f"the clock of {name} is right again")
        return seconds, f"{name} by {ahead / HOUR:+.0f} h"


def store_broken(driver: Driver, draw: random.Random, *, begin: str, end: str) -> Result:
    """The artifact store is read-only, full, or ends every connection without an answer, for a while."""
    with driver.alone_with("store"):
        store, begun = driver.services.store, time.monotonic()
        expected = {"read_only": store.READ_ONLY, "fill": errno.ENOSPC}.get(begin)
        try:
            until(lambda: getattr(store, begin)() is not False, 20, f"the store: {begin}")
            refusal = store.refusal()
            if not refusal or refusal != (expected or refusal):
                raise NotInjected(f"it answers with {refusal}")
            time.sleep(draw.uniform(2.0, 5.0))
        finally:
            getattr(store, end)()
        away = time.monotonic() - begun
        return driver.next_success(time.monotonic()), f"for {away:.1f} s"


def _containers(client: Any, hit: Hit, draw: random.Random) -> list[Any]:
    """The running containers in which one player of a caught worker's duel may sit. Raises NotInjected.

    Of a player that is to play again soon there may be a second one, made ready: both, so that the right one is met.
    """
    player = draw.choice(hit.facts["players"])
    wanted = [f"{_worker_label()}={hit.facts['owner']}", f"arena.submission={player}"]
    found = client.containers.list(filters={"label": wanted}, ignore_removed=True)
    if not found:
        raise NotInjected(f"there is no container of submission {player}")
    return list(found)


def _unpause(driver: Driver, container: str) -> None:
    """Let a container run again; it may have been removed meanwhile, or the engine be away for another's fault."""
    try:
        with driver.engine() as client:
            client.containers.get(container).unpause()
    except NotInjected:
        # Who restarts the engine ends every container.
        return


KINDS: dict[str, tuple[int, Fault]] = {
    "worker killed mid-build": (10, partial(worker_killed, place="mid-build")),
    "worker killed mid-duel": (24, partial(worker_killed, place="mid-duel")),
    "worker killed before its result": (12, partial(worker_killed, place="artifact-stored")),
    "worker killed between result and acknowledgement": (16, partial(worker_killed, place="result-written")),
    "artifact half written": (12, partial(worker_killed, place="half-written")),
    "worker stopped mid-build": (4, partial(worker_stopped, place="mid-build")),
    "worker stopped mid-duel": (10, partial(worker_stopped, place="mid-duel")),
    "worker stopped past its lease mid-duel": (6, partial(worker_stopped, place="mid-duel", past_lease=True)),
    "worker stopped past its lease before its result": (
        4,
        partial(worker_stopped, place="artifact-stored", past_lease=True),
    ),
    "worker stopped between result and acknowledgement": (6, partial(worker_stopped, place="result-written")),
    "player's container killed": (22, container_killed),
    "player's container paused": (16, container_paused),
    "engine restarted": (5, engine_restarted),
    "database restarted": (7, database_restarted),
    "database connections cut": (14, connections_cut),
    "messages flushed": (8, messages_flushed),
    "Redis restarted": (5, redis_restarted),
    "message delivered twice": (16, message_twice),
    "clock an hour off": (6, clock_wrong),
    "artifact store read-only": (6, partial(store_broken, begin="read_only", end="writable")),
    "artifact store full": (6, partial(store_broken, begin="fill", end="empty")),
    "host drained": (6, partial(host_comes_and_goes, drained=True)),
    "host died": (6, partial(host_comes_and_goes, drained=False)),
}
"""By name: how often in a deck of a whole season, and what is done."""
OF_BUCKETS: dict[str, tuple[int, Fault]] = {
    "artifact store away": (6, partial(store_broken, begin="go_away", end="writable")),
}
"""Further kinds where artifacts are in an object store."""


def deck(
    count: int, seed: int, words: Sequence[str] = (), *, has_bucket: bool = False, has_scaler: bool = False
) -> list[tuple[str, Fault]]:
    """So many faults, shuffled: in the proportions of KINDS, and every kind at least once where there is room.

    words: only kinds whose name holds one of these.
    """
    kinds = {**KINDS, **(OF_BUCKETS if has_bucket else {}), **(OF_SCALERS if has_scaler else {})}
    chosen = {
        name: times for name, (times, _) in kinds.items() if not words or any(word in name.lower() for word in words)
    }
    total = sum(chosen.values())
    names = [name for name, times in chosen.items() for _ in range(max(1, round(times * count / total)))]
    draw = random.Random(seed)
    draw.shuffle(names)
    return [(name, kinds[name][1]) for name in names]
