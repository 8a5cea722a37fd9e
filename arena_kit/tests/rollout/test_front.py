"""The proxy of a world: what it hands on, what it refuses, and the log that it keeps."""

from __future__ import annotations

import asyncio
import http.server
import io
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from arena_kit.errors import PlatformFault
from arena_kit.rollout.exports.requests import requests_in
from arena_kit.rollout.recording.har import har_bytes
from arena_kit.rollout.worlds import front
from arena_kit.rollout.worlds.inside.front_proxy import MOST_BODY, Front

LARGE = 3 * MOST_BODY


class Service(http.server.BaseHTTPRequestHandler):
    """Answers with the length of what it was sent."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        text = f"{self.command} {self.path} {len(body)} {self.headers['Connection']}".encode()
        self.send_response(201)
        self.send_header("Content-Length", str(len(text)))
        self.send_header("Set-Cookie", "session=secret")
        self.end_headers()
        self.wfile.write(text)

    def do_POST(self) -> None:
        """Answer."""
        self.do_GET()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class Services(http.server.ThreadingHTTPServer):
    """Says nothing about connections that the proxy has ended."""

    def handle_error(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    server = Services(("127.0.0.1", 0), Service)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def asked(origin: str, *requests: bytes) -> tuple[list[bytes], list[Any]]:
    """What a proxy for one origin answers to requests, and what it has logged."""
    log = io.StringIO()

    async def talk() -> list[bytes]:
        made = Front(log, frozenset([origin]))
        server = await asyncio.start_server(made.serve, "127.0.0.1", 0, limit=64 << 10)
        port, answers = server.sockets[0].getsockname()[1], []
        for request in requests:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            answers.append(await asyncio.wait_for(reader.read(), 30))
            writer.close()
        server.close()
        await server.wait_closed()
        return answers

    answers = asyncio.run(talk())
    return answers, [json.loads(line) for line in log.getvalue().splitlines()]


def test_a_request_is_handed_on_and_kept_without_its_secrets(origin: str) -> None:
    form = b"text=Buy+milk"
    head = f"POST {origin}/add?x=1 HTTP/1.1\r\nHost: web\r\nCookie: session=secret\r\nProxy-Connection: keep-alive\r\n"
    kind = f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(form)}\r\n\r\n"
    (answer,), kept = asked(origin, (head + kind).encode() + form)
    assert answer.startswith(b"HTTP/1.1 201")
    assert answer.endswith(b"POST /add?x=1 13 close")
    assert b"Set-Cookie: session=secret" in answer
    assert "secret" not in json.dumps(kept)
    log = "".join(json.dumps(each) + "\n" for each in kept).encode()
    (request,) = requests_in(har_bytes(front.requests_kept(log)))
    assert (request.method, request.status, request.address.path) == ("POST", 201, "/add")
    assert (request.form, request.address.query) == ({"text": ("Buy milk",)}, {"x": ("1",)})


def test_a_large_body_is_handed_on_whole_and_kept_in_part(origin: str) -> None:
    request = f"POST {origin}/ HTTP/1.1\r\nContent-Length: {LARGE}\r\n\r\n".encode() + b"x" * LARGE
    (answer,), (kept,) = asked(origin, request)
    assert answer.endswith(f"POST / {LARGE} close".encode())
    assert len(kept["body"]) == MOST_BODY


def test_a_tunnel_is_kept_by_its_address_alone(origin: str) -> None:
    place = origin.removeprefix("http://")
    request = f"CONNECT {place} HTTP/1.1\r\n\r\nGET /socket HTTP/1.1\r\nConnection: close\r\n\r\n".encode()
    (answer,), (kept,) = asked(origin, request)
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 201")
    assert (kept["method"], kept["url"], kept["body"]) == ("CONNECT", origin, "")


@pytest.mark.parametrize(
    ("request_text", "status"),
    [
        ("GET http://169.254.169.254/ HTTP/1.1\r\n\r\n", 403),
        ("GET file:///etc/passwd HTTP/1.1\r\n\r\n", 403),
        ("CONNECT accounts.example.org:443 HTTP/1.1\r\n\r\n", 403),
        ("GET / HTTP/1.1\r\n\r\n", 403),
        ("POST {origin}/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
        ("POST {origin}/ HTTP/1.1\r\nContent-Length: many\r\n\r\n", 502),
        ("GET {origin}/\r\n\r\n", 400),
        ("GET {origin}/ HTTP/1.1\r\nNo header\r\n\r\n", 400),
        ("GET {origin}/ HTTP/1.1\r\nX: " + "x" * (65 << 10) + "\r\n\r\n", 502),
    ],
)
def test_what_goes_elsewhere_or_is_no_request_is_refused(origin: str, request_text: str, status: int) -> None:
    (answer,), _ = asked(origin, request_text.format(origin=origin).encode())
    assert answer.startswith(f"HTTP/1.1 {status} Refused".encode())


def test_a_service_that_is_gone_is_told() -> None:
    (answer,), (kept,) = asked("http://127.0.0.1:1", b"GET http://127.0.0.1:1/x HTTP/1.1\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 502 Refused")
    assert kept["status"] == 0


def test_a_log_that_was_cut_off_is_the_platforms_fault() -> None:
    with pytest.raises(PlatformFault) as caught:
        front.requests_kept(b'{"number": 1')
    assert caught.value.code == "front_failed"


def test_the_container_has_the_walls_of_a_world_and_its_program() -> None:
    options = front.front_options("image", ["http://web:8000"], "pause", {}, "name")
    assert (options["network_mode"], options["cap_drop"]) == ("container:pause", ["ALL"])
    assert options["command"] == [str(front.PORT), front.LOG, "http://web:8000"]
    assert "class Front" in options["entrypoint"][-1]
    assert f'print("{front.READY}", flush=True)' in options["entrypoint"][-1]
