"""The gateway of one rollout: serves an agent's requests to its model over a Unix socket, counts them and logs them."""

from __future__ import annotations

import contextlib
import gzip
import http.server
import json
import socketserver
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from arena_kit.errors import PlatformFault
from arena_kit.rollout.agents.meter import Meter
from arena_kit.rollout.gateway.endpoint import Endpoint, ModelRefused
from arena_kit.rollout.gateway.requests import BadRequest, for_log, request_read, stream_of, usage_in
from arena_kit.sandbox.channel import Channel

SOCKET, LOG = "model.sock", "model.jsonl.gz"
CHAT, MODELS = "/v1/chat/completions", "/v1/models"
MOST_REQUEST_BYTES, MOST_LOG_BYTES = 24 << 20, 20 << 20
MOST_REQUESTS_AT_ONCE = 4
READ_SECONDS = 60.0
KEPT_SECONDS = 1200.0
"""How long a connection may be silent: a player in a pod has one for the whole rollout, and acts between requests."""


class Gateway:
    """Listens in a folder of its own. `with` ends it. `socket` is what the agent connects to."""

    def __init__(self, endpoint: Endpoint, meter: Meter, parent: Path, log_folder: Path) -> None:
        """parent: of the folder with the socket. log_folder: gets LOG. Raises SandboxError."""
        self._endpoint, self._meter = endpoint, meter
        self._channel = Channel(parent)
        self.folder = self._channel.folder
        self.socket = self.folder / SOCKET
        self._slots, self._log_lock = threading.BoundedSemaphore(MOST_REQUESTS_AT_ONCE), threading.Lock()
        self._logged = 0
        self._log = gzip.open(log_folder / LOG, "wt", encoding="utf-8")  # noqa: SIM115  # closed in `close`
        self._server = _Server(str(self.socket), _handler(self))
        self.socket.chmod(0o666)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all requests and remove the socket. May be called twice."""
        self._endpoint.close()
        self._server.shutdown()
        self._server.server_close()
        self._channel.close()
        with self._log_lock:
            self._log.close()

    def models(self) -> dict[str, Any]:
        """Return the list of models, which has one."""
        return {"object": "list", "data": [{"id": self._endpoint.model.name, "object": "model", "owned_by": "arena"}]}

    def answer(self, body: Any) -> tuple[int, dict[str, Any]]:
        """Return status and answer for a request of the agent."""
        if limit := self._meter.limit:
            return 402, _error(f"The {limit.replace('_', ' ')} of this rollout is reached.", limit)
        try:
            asked = request_read(body, self._endpoint.model)
        except BadRequest as error:
            return 400, _error(str(error), "bad_request")
        if not self._slots.acquire(timeout=READ_SECONDS):
            return 429, _error(f"At most {MOST_REQUESTS_AT_ONCE} requests may run at once.", "too_many_requests")
        try:
            with self._meter:
                answered = self._endpoint.ask(asked)
        except ModelRefused as refusal:
            self._write(asked, {"refused": str(refusal), "status": refusal.status})
            return refusal.status, _error(str(refusal), "model_refused")
        except PlatformFault as fault:
            self._write(asked, {"failed": fault.code})
            self._meter.fail(fault.code, str(fault))
            return 503, _error(str(fault), fault.code)
        finally:
            self._slots.release()
        self._count(answered)
        self._write(asked, answered)
        return 200, answered

    def _count(self, answered: dict[str, Any]) -> None:
        tokens_in, cached, out = usage_in(answered)
        cost = self._endpoint.model.prices.cost_micros(tokens_in=tokens_in, tokens_cached=cached, tokens_out=out)
        self._meter.add(tokens_in=tokens_in, tokens_out=out, tokens_cached=cached, cost_micros=cost)

    def _write(self, asked: dict[str, Any], answered: dict[str, Any]) -> None:
        line = json.dumps({"request": for_log(asked), "answer": for_log(answered)}) + "\n"
        with self._log_lock:
            if self._logged + len(line) <= MOST_LOG_BYTES and not self._log.closed:
                self._logged += self._log.write(line)


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads, block_on_close, request_queue_size = True, False, 16

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: an agent that hangs up is its own affair."""


def _handler(gateway: Gateway) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version, timeout = "HTTP/1.1", KEPT_SECONDS

        def do_GET(self) -> None:
            """Answer the list of models."""
            found = self.path.partition("?")[0] == MODELS
            self._send(200 if found else 404, gateway.models() if found else _error("There is no such page.", "none"))

        def do_POST(self) -> None:
            """Answer a request to the model."""
            if self.path.partition("?")[0] != CHAT:
                self._send(404, _error(f"Requests go to {CHAT}.", "unknown_path"))
                return
            length = self.headers.get("Content-Length", "")
            if not length.isdecimal() or int(length) > MOST_REQUEST_BYTES:
                self.close_connection = True
                self._send(413, _error(f"A request has at most {MOST_REQUEST_BYTES:,} bytes.", "too_large"))
                return
            try:
                body = json.loads(self.rfile.read(int(length)))
            except (ValueError, RecursionError):
                self._send(400, _error("The request is not JSON.", "bad_request"))
                return
            status, answer = gateway.answer(body)
            if status == 200 and isinstance(body, dict) and body.get("stream") is True:
                self._reply(status, "text/event-stream", stream_of(answer))
            else:
                self._send(status, answer)

        def _send(self, status: int, answer: dict[str, Any]) -> None:
            self._reply(status, "application/json", json.dumps(answer).encode())

        def _reply(self, status: int, kind: str, content: bytes) -> None:
            with contextlib.suppress(OSError):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        def address_string(self) -> str:
            """A Unix socket has no address."""
            return "agent"

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  # as its base names it
            """Print nothing: the log of the gateway is its own."""

    return Handler


def _error(sentence: str, code: str) -> dict[str, Any]:
    return {"error": {"message": sentence, "type": "arena", "code": code}}
