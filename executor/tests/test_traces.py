"""The trace of a run: from the call that asks for it to the worker that plays it."""

from __future__ import annotations

import grpc
import pytest

from core.models import Duel, JobState
from core.tests.working import perform_one
from executor.generated.executor import executor_pb2 as old
from executor.tests.conftest import World
from executor.tests.serving import refused, run, serving, stub, token_of, waiting
from executor.tests.test_service import match
from tests.collector import attributes, collecting, sent


def test_one_trace_goes_from_a_call_to_the_job_that_it_has_made(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    who = token_of(world.cast.alice)

    async def main() -> None:
        async with serving(world.database) as (server, address), grpc.aio.insecure_channel(address) as channel:
            client = stub(channel)
            await refused(client.ValidateAgent(old.ValidationRequest(environment="of-no-one"), metadata=who))
            call = client.RunMatch(match(world, match_id="a-key-of-alice"), metadata=(*who, ("arena-detach", "1")))
            await waiting(server, 1)
            call.cancel()
            await waiting(server, 0)

    with collecting(monkeypatch) as collector:
        run(main())
        duel = Duel.objects.get(run__isnull=False)
        assert duel.trace_context
        assert duel.state == JobState.QUEUED
        perform_one(Duel, duel.pk, lambda *_: None)
        spans = {span.name: span for _, span in sent(collector)}
        start, job = spans["executor.Executor/RunMatch"], spans["job duel"]
        assert (job.trace_id, job.parent_span_id) == (start.trace_id, start.span_id)
        assert attributes(start)["rpc.system"] == "grpc"
        missed = spans["executor.Executor/ValidateAgent"]
        assert missed.trace_id != start.trace_id
        assert attributes(missed)["rpc.grpc.status_code"] == grpc.StatusCode.NOT_FOUND.value[0]
        everything = b"".join(request.SerializeToString() for request in collector.requests)
        assert not [word for word in (b"alice", b"of-no-one", b"anna") if word in everything]
