"""Traces that leave the arena: sent by real processes to a collector that only listens."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client

from arena_kit.errors import PlatformFault
from core import tracing
from core.models import Build, JobState, User
from core.tests import factories
from core.tests.working import perform_one
from tests.collector import Collector, attributes, collecting, sent
from tests.programs import manage
from tests.samples import FIRST, archive, deliver_messages, tic_tac_toe


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """This process sends its spans to the collector."""
    with collecting(monkeypatch) as collector:
        yield collector


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_one_trace_goes_from_an_upload_to_the_end_of_its_validation(sandbox: str, traced: Collector) -> None:
    environment = tic_tac_toe()
    alice = User.objects.create_user("alice-the-owner", "alice@arena.example")
    client = Client()
    client.force_login(alice)
    form = {"environment": environment.slug, "name": "alices-agent", "archive": archive(FIRST)}
    assert client.post("/api/v1/agents/", form, headers={"x-request-id": "0123456789"}).status_code == 201
    assert client.get("/api/v1/agents/999/").status_code == 404
    deliver_messages()

    spans = {span.name: span for _, span in sent(traced)}
    upload, build, validation = (spans[name] for name in ("POST api:agents", "job build", "job validation"))
    assert attributes(upload)["http.response.status_code"] == 201
    assert upload.trace_id == build.trace_id == validation.trace_id
    assert (build.parent_span_id, validation.parent_span_id) == (upload.span_id, build.span_id)
    assert attributes(validation)["arena.job.event"] == "job_succeeded"
    of_build = [name for name, span in spans.items() if span.parent_span_id == build.span_id]
    of_validation = [name for name, span in spans.items() if span.parent_span_id == validation.span_id]
    assert {"build", "scan", "push"} <= set(of_build)
    assert {"play", "store"} <= set(of_validation)
    # Another request is another trace, and a player's place in the code does not belong to a person.
    assert spans["GET api:agent"].trace_id != upload.trace_id
    everything = b"".join(request.SerializeToString() for request in traced.requests)
    assert not [word for word in (b"alice", b"arena.example", b"0123456789") if word in everything]


@pytest.mark.django_db(transaction=True)
def test_a_failed_job_says_by_its_code_why(traced: Collector) -> None:
    agent = factories.agent(factories.user("alice"), factories.environment())
    waiting = factories.build(factories.submission(agent), JobState.QUEUED)

    def refuse(*_: object) -> None:
        raise PlatformFault("What the engine of alice says.", code="engine_refused")

    perform_one(Build, waiting.pk, refuse)
    ((_, span),) = sent(traced)
    assert (span.status.code, span.status.message) == (span.status.STATUS_CODE_ERROR, "engine_refused")
    assert "exception" not in str(span.events)


def test_a_fork_sends_what_it_has_done_before_it_ends(traced: Collector) -> None:
    def work(name: str) -> None:
        with tracing.span(name, kind="server"), tracing.stages():
            tracing.stage("inside")
            tracing.stage("later")

    work("of the parent")
    fork = multiprocessing.get_context("fork").Process(target=work, args=("of the fork",))
    fork.start()
    fork.join()
    assert fork.exitcode == 0
    assert {span.name for _, span in traced.spans()} >= {"of the fork", "inside"}
    assert {span.name for _, span in sent(traced)} == {"of the parent", "of the fork", "inside", "later"}


@pytest.mark.slow
def test_without_a_collector_nothing_of_the_sdk_is_loaded_and_rows_have_no_trace(tmp_path: Path) -> None:
    program = "import sys; from core.models import Build; assert not Build().trace_context; "
    program += "assert 'opentelemetry' not in sys.modules"
    variables = {"DEBUG": "true", "DATA_DIR": str(tmp_path), "METRICS_DIR": str(tmp_path / "metrics")}
    manage(variables, "shell", "--verbosity", "0", "-c", program)
