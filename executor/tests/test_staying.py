"""What happens to runs when callers and executors go: deadlines, cancelled calls, detached ones, a drain, an outage."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import grpc
import pytest

from core.duels.runs import run_start
from core.models import Duel, JobState, Run
from core.tests import factories
from executor.playing import Playing
from executor.tests.conftest import World
from executor.tests.serving import refused, run, serving, stub, token_of, waiting
from executor.tests.test_service import in_line, match

Code = grpc.StatusCode


def state() -> str:
    return Duel.objects.get(run__isnull=False).state


async def cancelled(world: World) -> None:
    while await world.database.ask(state) != JobState.CANCELLED:  # noqa: ASYNC110  (as in serving.waiting)
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("way", ["gone", "back", "detached"])
def test_a_run_is_cancelled_when_its_caller_stays_away(world: World, way: str) -> None:
    who = token_of(world.cast.alice)
    metadata = (*who, ("arena-detach", "1")) if way == "detached" else who

    async def main() -> str:
        async with serving(world.database) as (server, address), grpc.aio.insecure_channel(address) as channel:
            grace = asyncio.Event()
            left = server.playing.leaving
            left._pause = grace.wait  # type: ignore[method-assign,assignment]  # the test's clock
            client = stub(channel)
            call = client.RunMatch(match(world), metadata=metadata)
            await waiting(server, 1)
            call.cancel()
            await waiting(server, 0)
            assert bool(left.timers) == (way != "detached")
            if way == "back":
                client.RunMatch(match(world), metadata=who)
                await waiting(server, 1)
                assert not left.timers
            grace.set()
            if way == "gone":
                await cancelled(world)
            return await world.database.ask(state)

    assert run(main()) == (JobState.CANCELLED if way == "gone" else JobState.QUEUED)


def test_a_call_that_is_cancelled_while_its_run_is_made_leaves_none(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, go_on, who = threading.Event(), threading.Event(), token_of(world.cast.alice)

    def slow(**arguments: Any) -> tuple[Run, bool]:
        found = run_start(**arguments)
        made.set()
        go_on.wait(30)
        return found

    monkeypatch.setattr("executor.playing.run_start", slow)

    async def main() -> None:
        async with serving(world.database) as (server, address), grpc.aio.insecure_channel(address) as channel:
            grace = asyncio.Event()
            server.playing.leaving._pause = grace.wait  # type: ignore[method-assign,assignment]  # the test's clock
            call = stub(channel).RunMatch(match(world), metadata=who)
            assert await asyncio.to_thread(made.wait, 30)
            call.cancel()
            while server.calls.running:  # noqa: ASYNC110  (as in serving.waiting)
                await asyncio.sleep(0.01)
            go_on.set()
            grace.set()
            await cancelled(world)

    run(main())


@pytest.mark.slow
def test_a_wait_ends_before_the_callers_deadline_and_the_run_goes_on(world: World) -> None:
    who = token_of(world.cast.alice)

    async def main() -> None:
        async with serving(world.database) as (server, address), grpc.aio.insecure_channel(address) as channel:
            client = stub(channel)
            end = await refused(client.RunMatch(match(world), metadata=who, timeout=3))
            # The arena's own answer, not the client's.
            assert (end.code(), "goes on" in str(end.details())) == (Code.DEADLINE_EXCEEDED, True)
            assert not server.playing.leaving.timers
            assert await world.database.ask(state) == JobState.QUEUED

    run(main())


def test_an_executor_that_stops_sends_callers_to_another_one_and_keeps_their_runs(world: World) -> None:
    who = token_of(world.cast.alice)

    async def main() -> None:
        async with serving(world.database) as (first, address), grpc.aio.insecure_channel(address) as channel:
            client = stub(channel)
            calls = [client.RunMatch(match(world, match_id=name), metadata=who) for name in ("ends", "stays")]
            await waiting(first, 2)
            stop = asyncio.create_task(first.stop(drain_seconds=30))
            while not first.calls.is_draining:  # noqa: ASYNC110  (as above)
                await asyncio.sleep(0.01)
            new = await refused(client.RunMatch(match(world, match_id="new"), metadata=who))
            assert new.code() is Code.UNAVAILABLE
            ends = Duel.objects.filter(run__key="ends")
            await world.database.ask(factories.moved, ends, JobState.SUCCEEDED)
            assert (await calls[0]).match_id == "ends"
            first.playing.waiting.close(first.farewell)
            assert (await refused(calls[1])).code() is Code.UNAVAILABLE
            await stop
        async with serving(world.database) as (second, address), grpc.aio.insecure_channel(address) as channel:
            call = stub(channel).RunMatch(match(world, match_id="stays"), metadata=who)
            await waiting(second, 1)
            stays = Duel.objects.filter(run__key="stays")
            await world.database.ask(factories.moved, stays, JobState.SUCCEEDED)
            assert (await call).match_id == "stays"

    run(main())
    assert Run.objects.count() == 2


def test_time_that_is_over_ends_a_wait(world: World) -> None:
    who = token_of(world.cast.alice)

    async def main() -> int:
        async with serving(world.database) as (_, address), grpc.aio.insecure_channel(address) as channel:
            answer = await stub(channel).RunMatch(match(world, timeout_sec=1), metadata=who)
            return int(answer.status)

    assert run(main()) == 2


def test_calls_wait_through_an_outage_of_the_database(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    who = token_of(world.cast.alice)
    asked = 0
    read = Playing._states

    async def shaky(self: Playing, ids: Any) -> Any:
        nonlocal asked
        asked += 1
        if asked <= 2:
            raise ConnectionError("away")
        return await read(self, ids)

    monkeypatch.setattr(Playing, "_states", shaky)

    async def main() -> str:
        async with serving(world.database) as (_, address), grpc.aio.insecure_channel(address) as channel:
            call = stub(channel).RunMatch(match(world), metadata=who)
            await in_line(world)
            await world.database.ask(factories.moved, Duel.objects.filter(run__isnull=False), JobState.SUCCEEDED)
            return str((await call).match_id)

    assert run(main()) == "match_1"
    assert asked > 2


@pytest.mark.slow
@pytest.mark.parametrize("count", [20, pytest.param(500, marks=pytest.mark.nightly)])
def test_many_calls_wait_in_one_process(world: World, count: int) -> None:
    who = token_of(world.cast.olga)

    async def main() -> int:
        async with serving(world.database) as (server, address), grpc.aio.insecure_channel(address) as channel:
            client = stub(channel)
            calls = [client.RunMatch(match(world, match_id=f"m{number}"), metadata=who) for number in range(count)]
            await waiting(server, count)
            await world.database.ask(factories.moved, Duel.objects.filter(run__isnull=False), JobState.SUCCEEDED)
            return len({(await call).match_id for call in calls})

    assert run(main()) == count
