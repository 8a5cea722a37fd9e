"""Streams of the engine, read from a double of it that sends what an engine may send at once."""

from __future__ import annotations

import http.server
import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from arena_kit.image.container import _pieces
from arena_kit.image.streams import archive_pieces
from arena_kit.rollout.worlds.engine import Engine

SAID = b"\x01\0\0\0\0\0\0\x03one\x02\0\0\0\0\0\0\x03two"


class EngineDouble(http.server.BaseHTTPRequestHandler):
    """Answers as an engine does whose command has printed all before the client was scheduled again."""

    protocol_version = "HTTP/1.1"
    left = threading.Event()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.endswith("/start"):
            self.wfile.write(b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n" + SAID)
            self.close_connection = True
        else:
            self._say(b'{"Id": "1"}')

    def do_GET(self) -> None:
        if self.path.endswith("/json"):
            return self._say(b'{"ExitCode": 3}')
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            while True:
                self.wfile.write(b"10000\r\n" + bytes(1 << 16) + b"\r\n")
        except OSError:
            self.left.set()

    def _say(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def get_request(self) -> tuple[socket.socket, Any]:
        return super().get_request()[0], ("engine", 0)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[docker.DockerClient]:
    address = str(tmp_path / "engine")
    with Server(address, EngineDouble) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        client = docker.DockerClient(base_url=f"unix://{address}", version="1.41", timeout=5)
        yield client
        client.close()
        server.shutdown()


def test_what_a_quick_command_prints_is_not_lost(client: docker.DockerClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena_kit.rollout.worlds.engine.connect", lambda: client)
    ran = Engine().run("1", ["echo"], deadline=time.monotonic() + 30)
    assert (ran.status, ran.output) == (3, "onetwo")
    assert b"".join(_pieces(client, "1")) == b"onetwo"


def test_a_tar_that_is_not_read_to_its_end_is_closed(client: docker.DockerClient) -> None:
    with archive_pieces(client, "1", "/") as pieces:
        assert next(pieces)
        assert not EngineDouble.left.is_set()
    assert EngineDouble.left.wait(30)
