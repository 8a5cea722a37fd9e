"""A registry between the engine and a real one, that lies, is full or is slow."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PIECE_BYTES = 16
PIECE_SECONDS = 0.2
FULL = b'{"errors": [{"code": "UNKNOWN", "message": "unknown error", "detail": {"Op": "write", "Err": 28}}]}'
"""What docker-registry answers when its disk is full."""
KEPT = ("content-type", "docker-content-digest", "docker-upload-uuid", "range", "etag", "www-authenticate",
        "docker-distribution-api-version")  # fmt: skip


class Lie(Enum):
    """What it does otherwise than the registry behind it."""

    NOTHING = auto()
    OTHER_MANIFEST = auto()
    """Every manifest is that of another image."""
    OTHER_BYTES = auto()
    """One byte of every layer is another."""
    HALF = auto()
    """Half of every layer comes."""
    SLOW = auto()
    """Layers come a few bytes at a time."""
    FULL = auto()
    """It takes nothing."""


class LyingRegistry:
    """Passes everything on to the registry at a port. manifest: the digest of the image that it gives for others."""

    def __init__(self, behind: int) -> None:
        self._behind = behind
        self.lie, self.manifest, self.asked = Lie.NOTHING, "", 0
        self._ended = threading.Event()

    @contextmanager
    def served(self) -> Iterator[int]:
        """Serve it; the value is its port."""
        registry = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                registry.pass_on(self)

            do_HEAD = do_POST = do_PUT = do_PATCH = do_GET  # noqa: N815  # as the server calls them

            def log_message(self, *_: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: object) -> None:
                """Say nothing: engines that refuse an answer close their connections."""

        with Server(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
            try:
                yield server.server_port
            finally:
                self._ended.set()
                server.shutdown()

    def pass_on(self, request: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        self.asked += 1
        path, sent = request.path, _sent(request)
        is_upload = request.command in ("POST", "PUT", "PATCH")
        if self.lie is Lie.FULL and is_upload:
            _answer(request, 500, {"Content-Type": "application/json"}, FULL)
            return
        if self.lie is Lie.OTHER_MANIFEST and "/manifests/sha256:" in path:
            path = path.partition("sha256:")[0] + self.manifest
        connection = http.client.HTTPConnection("127.0.0.1", self._behind, timeout=60)
        try:
            connection.request(request.command, path, sent, {
                name: value for name, value in request.headers.items() if name.lower() not in ("host", "connection")
            })  # fmt: skip
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
        headers = {name: value for name, value in answer.getheaders() if name.lower() in KEPT}
        if location := answer.getheader("Location"):
            # Uploads go on here.
            headers["Location"] = location.replace(f":{self._behind}/", f":{request.server.server_address[1]}/")  # type: ignore[index]
        if self.lie is Lie.OTHER_MANIFEST and "Docker-Content-Digest" in headers:
            headers["Docker-Content-Digest"] = request.path.rpartition("/")[2]
        is_layer = request.command == "GET" and "/blobs/" in path and answer.status == 200
        if self.lie is Lie.OTHER_BYTES and is_layer:
            body = body[:-1] + bytes([body[-1] ^ 1])
        length = answer.getheader("Content-Length", "0") if request.command == "HEAD" else str(len(body))
        headers["Content-Length"] = length
        if self.lie is Lie.HALF and is_layer:
            _answer(request, answer.status, headers, body[: len(body) // 2])
            request.close_connection = True
        elif self.lie is Lie.SLOW and is_layer:
            _answer(request, answer.status, headers, b"")
            for start in range(0, len(body), PIECE_BYTES):
                is_slow = self.lie is Lie.SLOW
                request.wfile.write(body[start : start + PIECE_BYTES if is_slow else None])
                if not is_slow:
                    return
                request.wfile.flush()
                if self._ended.wait(PIECE_SECONDS):
                    return
        else:
            _answer(request, answer.status, headers, body)


def _sent(request: BaseHTTPRequestHandler) -> bytes:
    if request.headers.get("Transfer-Encoding", "") != "chunked":
        return request.rfile.read(int(request.headers.get("Content-Length") or 0))
    pieces = []
    while size := int(request.rfile.readline(), 16):
        pieces.append(request.rfile.read(size))
        request.rfile.readline()
    request.rfile.readline()
    del request.headers["Transfer-Encoding"]
    return b"".join(pieces)


def _answer(request: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes) -> None:
    request.send_response(status)
    for name, value in {"Content-Length": str(len(body)), **headers}.items():
        request.send_header(name, value)
    request.end_headers()
    if request.command != "HEAD":
        request.wfile.write(body)
