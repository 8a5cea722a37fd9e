"""Middleware that gives every request an id, a line in the log and a place in the metrics."""

from __future__ import annotations

import logging
import random
import re
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import lru_cache, partial

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import SimpleTemplateResponse

from arena_kit.log_context import bound, without_secrets
from core.monitoring.logs import request_log
from core.monitoring.metrics import OTHER, request_answered
from core.resolving import resolved
from core.tracing import Current, span
from web.site.requests import loaded_user

Next = Callable[[HttpRequest], HttpResponseBase]

HEADER = "X-Request-ID"
GOOD_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
LONGEST_PATH = 200
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
FOR_MACHINES = frozenset({"/health", "/health/live", "/metrics"})
"""Paths that machines request by the address of this process: without a host name, redirects or sessions."""
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
"""Headers of the answers to FOR_MACHINES, which skip all other middleware."""


class Observed:
    """The outermost middleware, so that its figures cover the whole answer.

    The id of a request comes from the proxy if TRUSTED_PROXIES names one, else it is new. It is in every log record
    of the request and in the answer.
    """

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response
        # Ids are no secrets. To ask the system for each would let another thread run first.
        self._ids = random.Random()

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        path = request.path_info
        is_for_machines, is_static = path.removesuffix("/") in FOR_MACHINES, path.startswith(settings.STATIC_URL)
        request_id = _given_id(request) or f"{self._ids.getrandbits(128):032x}"
        method = request.method if request.method in METHODS else OTHER
        trace = nullcontext(Current()) if is_for_machines or is_static else span(method, kind="server")
        with bound(request_id=request_id, method=method, path=_shown(path)), trace as traced:
            response = _answer(request) if is_for_machines else self.get_response(request)
            seconds, status = time.perf_counter() - started, response.status_code
            handler = "static" if is_static else _handler(request)
            _trace(traced, method, handler, status)
            count = partial(request_answered, handler=handler, method=method, status=status, seconds=seconds)
            _tell(request, status, seconds, count, is_quiet=is_for_machines or is_static)
        response.headers[HEADER] = request_id
        # Otherwise Django logs the error again, without the id.
        response._has_been_logged = True  # type: ignore[attr-defined]  # of Django's own
        return response


def _answer(request: HttpRequest) -> HttpResponseBase:
    request.resolver_match = match = resolved(request.path_info)
    response: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response.render() if isinstance(response, SimpleTemplateResponse) else response


def _trace(traced: Current, method: str, handler: str, status: int) -> None:
    """Name the span of a request as OpenTelemetry asks for, with the name of the view as its route."""
    traced.name(f"{method} {handler}")
    traced.set({"http.request.method": method, "http.route": handler, "http.response.status_code": status})
    if status >= 500:
        traced.fail(str(status))


def _tell(request: HttpRequest, status: int, seconds: float, count: Callable[[], None], *, is_quiet: bool) -> None:
    failed = status >= 500
    # An unhealthy component logs a line of its own.
    level = logging.DEBUG if is_quiet and status != 500 else logging.ERROR if failed else logging.INFO
    fields: dict[str, object] = {"status_code": status, "duration_ms": round(seconds * 1000, 1)}
    if (user := loaded_user(request)) is not None:
        fields["user"] = user.pk
    request_log(level, "request_failed" if failed else "request_completed", fields, count=count)


@lru_cache(maxsize=1024)
def _shown(path: str) -> str:
    return without_secrets(path)[:LONGEST_PATH]


def _given_id(request: HttpRequest) -> str:
    given: str = request.META.get("HTTP_X_REQUEST_ID", "")
    return given if given and settings.REST_FRAMEWORK["NUM_PROXIES"] > 0 and GOOD_ID.fullmatch(given) else ""


def _handler(request: HttpRequest) -> str:
    match = request.resolver_match
    return "unmatched" if match is None else match.view_name
