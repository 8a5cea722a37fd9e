"""A proxy before an object store that answers wrong, or not at all."""

from __future__ import annotations

import contextlib
import http.client
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ALL = frozenset({"GET", "HEAD", "PUT", "DELETE"})
REFUSALS = {
    "403": (403, ALL),
    "503": (503, ALL),
    "507": (507, ALL),
    "read-only": (403, frozenset({"PUT", "DELETE"})),
    "full": (507, frozenset({"PUT"})),
}
"""By fault: the status of the answer, and what is answered so."""


class FaultyProxy(ThreadingHTTPServer):
    """Answers as `fault` says, as often as `times` says. behind: port of the server. path: of the server's address."""

    daemon_threads = True

    def __init__(self, behind: int, path: str = "") -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behind, self.path = behind, path
        self.fault, self.times = "", 0
        self.asked: list[str] = []

    def due(self, *faults: str) -> bool:
        if self.fault not in faults or not self.times:
            return False
        self.times -= 1
        return True

    def set(self, fault: str, times: int = 1000) -> None:
        self.fault, self.times = fault, times
        self.asked.clear()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FaultyProxy

    def do_GET(self) -> None:
        server = self.server
        server.asked.append(f"{self.command} {self.headers.get('Range', '')}".strip())
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size)
        if not self.path.startswith(server.path):
            self.send_error(404)
            return
        if server.due("cut off"):
            self.close_connection = True
            return
        refused = REFUSALS.get(server.fault)
        if refused is not None and self.command in refused[1] and server.due(server.fault):
            self.send_response(refused[0])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if body and server.due("changed on the way"):
            body = b"?" + body[1:]
        asked = http.client.HTTPConnection("127.0.0.1", server.behind, timeout=30)
        with contextlib.closing(asked):
            headers = {**dict(self.headers), **({"X-Forwarded-Prefix": server.path} if server.path else {})}
            asked.request(self.command, self.path.removeprefix(server.path), body, headers)
            if len(body) < size:
                # The client is gone in the middle of its file; the server is told so by the end of the connection.
                self.close_connection = True
                return
            answer = asked.getresponse()
            data = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "connection", "date", "server"):
                    self.send_header(name, value)
            self.end_headers()
            if self.command == "GET" and server.due("half an answer"):
                data, self.close_connection = data[: len(data) // 2], True
            if self.command != "HEAD":
                self.wfile.write(data)

    do_PUT = do_HEAD = do_DELETE = do_GET  # noqa: N815  (names of the library)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextlib.contextmanager
def faulty_proxy(behind: int, path: str = "") -> Iterator[FaultyProxy]:
    """Run a proxy before the server at this port, whose address then has this path."""
    made = FaultyProxy(behind, path)
    threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield made
    finally:
        made.shutdown()
        made.server_close()
