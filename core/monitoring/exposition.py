"""How metrics are read: the text that Prometheus scrapes, the access check, and the workers' own server."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address, ip_network

from django.conf import settings
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from core.monitoring import metrics

logger = logging.getLogger(__name__)

REFUSED = (
    "These metrics are for the operators of the arena. Send METRICS_TOKEN (Authorization: Bearer ...), "
    "or ask from one of METRICS_NETWORKS without going through nginx.\n"
)
ASK_SECONDS = 10.0
"""Time limit for a request to arrive at a worker's server."""


def figures(accept: str, collectors: Iterable[Collector] = ()) -> tuple[bytes, str]:
    """Return what all processes of this machine have counted and what `collectors` find now, with its content type.

    accept: the client's Accept header, which chooses between two formats.
    """
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=str(metrics.FOLDER))  # type: ignore[no-untyped-call]  # the library's
    for collector in collectors:
        registry.register(collector)
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


def may_read(*, authorization: str, address: str, is_forwarded: bool) -> bool:
    """Return whether a client may read the metrics: by the token or an address in METRICS_NETWORKS; all with DEBUG.

    authorization: the header. address: the other end of the connection. is_forwarded: whether a proxy passed the
    request on, so that the address is the proxy's.
    """
    if settings.METRICS_TOKEN and authorization.lower().startswith("bearer "):
        return has_token(authorization)
    if settings.METRICS_NETWORKS and not is_forwarded and _is_in_network(address):
        return True
    return settings.DEBUG and not settings.METRICS_TOKEN and not settings.METRICS_NETWORKS


def has_token(authorization: str) -> bool:
    """Return whether a request sends METRICS_TOKEN. authorization: the header."""
    scheme, _, token = authorization.partition(" ")
    is_given = bool(settings.METRICS_TOKEN) and scheme.lower() == "bearer"
    return is_given and secrets.compare_digest(token.strip().encode(), settings.METRICS_TOKEN.encode())


def serve(port: int) -> ThreadingHTTPServer | None:
    """Answer GET /metrics on a port of this machine, in threads; return None when the port is not available.

    For workers, which have no site. They work on without metrics if necessary.
    """
    try:
        server = ThreadingHTTPServer(("", port), _Figures)
    except OSError as error:
        logger.error("METRICS_PORT %s cannot be used (%s): the metrics of these workers cannot be read.", port, error)
        return None
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server


class _Figures(BaseHTTPRequestHandler):
    timeout = ASK_SECONDS

    def do_GET(self) -> None:
        if self.path.partition("?")[0].rstrip("/") != "/metrics":
            self._answer(404, b"This server has only /metrics.\n")
            return
        authorization, is_forwarded = self.headers.get("Authorization", ""), "X-Forwarded-For" in self.headers
        if not may_read(authorization=authorization, address=self.client_address[0], is_forwarded=is_forwarded):
            self._answer(403, REFUSED.encode())
            return
        body, content_type = figures(self.headers.get("Accept", ""))
        self._answer(200, body, content_type)

    def _answer(self, status: int, body: bytes, content_type: str = "text/plain; charset=utf-8") -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the library's name)
        """Log nothing, because scrapes arrive every few seconds."""


def _is_in_network(address: str) -> bool:
    try:
        found = ip_address(address)
    except ValueError:
        # A Unix socket has no address.
        return False
    # A server that listens on IPv6 and IPv4 sees mapped addresses.
    found = getattr(found, "ipv4_mapped", None) or found
    return any(found in ip_network(network, strict=False) for network in settings.METRICS_NETWORKS)
