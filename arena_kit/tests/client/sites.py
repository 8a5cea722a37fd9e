"""Sites of every kind, as a local server that answers what a test says."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Said:
    """One answer. raw: what is sent instead of HTTP, if anything."""

    status: int = 200
    body: bytes = b"{}"
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None


@dataclass
class Site:
    """The server: `answer` to every request, unless `by_path` has another; what it was asked."""

    url: str = ""
    answer: Said = field(default_factory=Said)
    by_path: dict[str, Said] = field(default_factory=dict)
    asked: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)


def said(data: Any, status: int = 200, **headers: str) -> Said:
    """Return a JSON answer."""
    return Said(status, json.dumps(data).encode(), headers=headers)


@contextlib.contextmanager
def site() -> Iterator[Site]:
    """Run a server on a port of its own."""
    found = Site()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            found.asked.append((self.command, self.path, dict(self.headers), self.rfile.read(length)))
            told = found.by_path.get(self.path.partition("?")[0], found.answer)
            if told.raw is not None:
                self.wfile.write(told.raw)
                self.close_connection = True
                return
            self.send_response(told.status)
            for name, value in {
                "Content-Type": told.kind,
                "Content-Length": str(len(told.body)),
                **told.headers,
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(told.body)

        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
