"""Traces that leave the arena: sent by real processes to a collector that only listens."""

from __future__ import annotations

import gzip
import multiprocessing
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from arena_kit.errors import PlatformFault
from core import tracing
from core.models import Build, JobState, User
from core.tests import factories
from core.tests.working import perform_one
from tests.programs import manage
from tests.samples import FIRST, archive, deliver_messages, tic_tac_toe


class Collector:
    """A server for OTLP over HTTP that keeps what it gets. `address`: of it."""

    def __init__(self) -> None:
        self.requests: list[ExportTraceServiceRequest] = []
        requests = self.requests

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                body = gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body
                if self.path == "/v1/traces":
                    requests.append(ExportTraceServiceRequest.FromString(body))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def spans(self) -> list[tuple[str, Any]]:
        """Name of the service, and span, of everything that was sent."""
        return [
            (next(each.value.string_value for each in of.resource.attributes if each.key == "service.name"), span)
            for request in self.requests
            for of in request.resource_spans
            for scope in of.scope_spans
            for span in scope.spans
        ]


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


@pytest.fixture
def traced(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """This process sends its spans to the collector."""
    monkeypatch.setattr(tracing, "_provider", None)
    monkeypatch.setattr(tracing, "_endpoint", "")
    tracing.tracing_start(collector.address, service=lambda: "of-a-test", version="0")
    yield collector
    if tracing._provider is not None:
        tracing._provider[1].shutdown()


def sent(collector: Collector) -> list[tuple[str, Any]]:
    tracing._tracer_provider().force_flush()
    return collector.spans()


def attributes(span: Any) -> dict[str, str | int]:
    return {each.key: each.value.string_value or each.value.int_value for each in span.attributes}


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
