"""A collector of traces that only listens, for tests that look at what leaves the arena."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from core import tracing


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


@contextmanager
def collecting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """Let this process send its spans to a collector."""
    made = Collector()
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        monkeypatch.setattr(tracing, "_provider", None)
        monkeypatch.setattr(tracing, "_endpoint", "")
        tracing.tracing_start(made.address, service=lambda: "of-a-test", version="0")
        yield made
        if tracing._provider is not None:
            tracing._provider[1].shutdown()
    finally:
        made.server.shutdown()
        thread.join()
        made.server.server_close()


def sent(collector: Collector) -> list[tuple[str, Any]]:
    tracing._tracer_provider().force_flush()
    return collector.spans()


def attributes(span: Any) -> dict[str, str | int]:
    return {each.key: each.value.string_value or each.value.int_value for each in span.attributes}
