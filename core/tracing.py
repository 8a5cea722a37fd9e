"""Traces for OpenTelemetry: one goes from a request over the jobs that it has made to their stored results.

A span carries names of the code, keys of rows and codes; nothing of people or their agents. Without
OTEL_EXPORTER_OTLP_ENDPOINT nothing of the SDK is imported. Its other standard variables (headers, sampler, timeouts)
are read by the SDK itself.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from multiprocessing import util
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

TRACEPARENT = "traceparent"
"""The W3C header's name, in which a trace context is `00-TRACE-SPAN-FLAGS`: 55 characters."""
TRACEPARENT_CHARACTERS = 55
EXPORT_SECONDS = 5
"""How long an export may take, so that a collector that is away keeps no process from ending."""

_endpoint = ""
_service: Callable[[], str] = str
_version = ""
_provider: tuple[int, TracerProvider] | None = None
"""The provider and the process that made it: a fork makes its own, with its own thread and connection."""
_stage: ContextVar[Span | None] = ContextVar("stage", default=None)


class Current:
    """A span that is being made; does nothing without tracing."""

    def __init__(self, made: Span | None = None) -> None:
        self._made = made

    def set(self, about: Mapping[str, str | int]) -> None:
        """Add attributes."""
        if self._made is not None:
            self._made.set_attributes(about)

    def name(self, name: str) -> None:
        """Give the span its name, where it is known only later."""
        if self._made is not None:
            self._made.update_name(name)

    def fail(self, code: str) -> None:
        """Mark the span as failed. code: why, a constant of the code."""
        if self._made is not None:
            from opentelemetry.trace import Status, StatusCode

            self._made.set_status(Status(StatusCode.ERROR, code))


def tracing_start(endpoint: str, *, service: Callable[[], str], version: str) -> None:
    """Send spans to the OTLP collector at this address (`http://HOST:4318`) from now on.

    service: returns the name of this process's part of the arena, once it is known. version: of the arena.
    """
    global _endpoint, _service, _version  # one for each process, like the process itself
    _endpoint, _service, _version = endpoint.rstrip("/"), service, version


def span(
    name: str, *, kind: Literal["server", "consumer"], parent: str = "", about: Mapping[str, str | int] | None = None
) -> AbstractContextManager[Current]:
    """Run the block in a root span.

    parent: the trace context (`traceparent`) to go on with; empty for a trace of its own. about: attributes, named as
    in OpenTelemetry's conventions.
    """
    return _span(name, kind, parent, about or {}) if _endpoint else nullcontext(Current())


def stage(name: str) -> None:
    """Begin a stage of the current job: a span until the next stage begins or `stages` ends."""
    if _endpoint:
        _end_stage()
        _stage.set(_tracer_provider().get_tracer("rl-arena").start_span(name))


@contextmanager
def stages() -> Iterator[None]:
    """End the last stage with the block."""
    try:
        yield
    finally:
        _end_stage()


def traceparent() -> str:
    """Return the trace context of the caller, for a row that goes on with it; empty without a span."""
    if not _endpoint:
        return ""
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier.get(TRACEPARENT, "")


@contextmanager
def _span(name: str, kind: str, parent: str, about: Mapping[str, str | int]) -> Iterator[Current]:
    from opentelemetry.context import Context
    from opentelemetry.trace import SpanKind
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    tracer = _tracer_provider().get_tracer("rl-arena")
    context = TraceContextTextMapPropagator().extract({TRACEPARENT: parent}, Context())
    # An exception's message may quote what a person has sent.
    with tracer.start_as_current_span(
        name, context, SpanKind[kind.upper()], about, record_exception=False, set_status_on_exception=False
    ) as made:
        yield Current(made)


def _end_stage() -> None:
    if (begun := _stage.get()) is not None:
        begun.end()
        _stage.set(None)


def _tracer_provider() -> TracerProvider:
    global _provider  # noqa: PLW0603  # one for each process, like the process itself
    if _provider is None or _provider[0] != os.getpid():
        _provider = (os.getpid(), _make_provider())
    return _provider[1]


def _make_provider() -> TracerProvider:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    about = {"service.name": _service(), "service.namespace": "rl-arena", "service.version": _version}
    provider = TracerProvider(resource=Resource.create(about), shutdown_on_exit=False)
    exporter = OTLPSpanExporter(f"{_endpoint}/v1/traces", timeout=EXPORT_SECONDS)
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=1000))
    # The first is for programs, the second for processes of multiprocessing, which run no `atexit`.
    atexit.register(provider.shutdown)
    util.Finalize(provider, provider.shutdown, exitpriority=0)
    return provider
