"""The trace of a run: from the call that asks for it to the worker that plays it."""

from __future__ import annotations

import grpc
import pytest

from core.models import Duel, JobState
from core.tests.working import perform_one
from executor.generated.arena.executor.v1 import executor_pb2 as v1
from executor.tests.conftest import World
from executor.tests.serving import refused, run, serving, stubs, token_of
from executor.tests.test_service import wanted
from tests.collector import attributes, collecting, sent


def test_one_trace_goes_from_a_call_to_the_job_that_it_has_made(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    who = token_of(world.cast.alice)

    async def main() -> int:
        async with serving(world.database) as (_, address), grpc.aio.insecure_channel(address) as channel:
            client = stubs(channel)[1]
            await refused(client.GetRun(v1.GetRunRequest(key="of-nobody"), metadata=who))
            return int((await client.StartRun(wanted(world, "a-key-of-alice"), metadata=who)).run.duel)

    with collecting(monkeypatch) as collector:
        duel = Duel.objects.get(pk=run(main()))
        assert duel.trace_context
        assert duel.state == JobState.QUEUED
        perform_one(Duel, duel.pk, lambda *_: None)
        spans = {span.name: span for _, span in sent(collector)}
        start, job = spans["arena.executor.v1.ExecutorService/StartRun"], spans["job duel"]
        assert (job.trace_id, job.parent_span_id) == (start.trace_id, start.span_id)
        assert attributes(start) == {"rpc.system": "grpc", "rpc.grpc.status_code": 0}
        missed = spans["arena.executor.v1.ExecutorService/GetRun"]
        assert missed.trace_id != start.trace_id
        assert attributes(missed)["rpc.grpc.status_code"] == grpc.StatusCode.NOT_FOUND.value[0]
        everything = b"".join(request.SerializeToString() for request in collector.requests)
        assert not [word for word in (b"alice", b"of-nobody", b"anna") if word in everything]
