"""A command in a container of a pod, over the WebSocket of `pods/exec`: what it prints, its input and its status."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Sequence
from importlib import import_module
from typing import Any
from urllib.parse import urlencode

from arena_kit.cluster.replies import message_of, silence_of
from arena_kit.errors import PlatformFault

INPUT, OUTPUT, ERRORS, STATUS = 0, 1, 2, 3
"""Channels of the protocol v4.channel.k8s.io: the first byte of each frame."""
INPUT_BYTES = 16 << 10
"""The most bytes of one frame that is sent."""
SEND_SECONDS = 30.0
PING_SECONDS = 20.0
"""Proxies before a cluster's API end connections on which nothing is said for about a minute."""
LEAST_SECONDS, OPEN_SECONDS = 0.001, 10.0
PROTOCOL = "v4.channel.k8s.io"
STATUS_BYTES = 64 << 10
"""The most bytes of a cluster's report on the end of a command."""


class Stream:
    """The command's connection, for one thread. status: of the command once it is over, None before and if unknown.

    The command gets no signal when this is closed; one that reads its input sees its end.
    """

    def __init__(self, connection: Any, errors: tuple[type[BaseException], ...], late: type[BaseException]) -> None:
        """connection: of the package websocket-client. errors: what it raises. late: raised after its time-out."""
        self.connection, self._errors, self._late = connection, errors, late
        self.is_over, self._told = False, b""
        self.status: int | None = None
        self._spoken_at = time.monotonic()

    def fileno(self) -> int:
        """Return the descriptor that can be waited for. `pending` says what has arrived already."""
        return int(self.connection.sock.fileno())

    def pending(self) -> bool:
        """Return whether a part of the next frame was read already, so that its descriptor may stay silent."""
        read = getattr(self.connection.sock, "pending", lambda: 0)()
        return bool(read) or bool(self.connection.frame_buffer.recv_buffer)

    def take(self, deadline: float) -> tuple[int, bytes]:
        """Return the channel and the content of the next frame; nothing after a monotonic deadline, or at the end."""
        while not self.is_over and (left := deadline - time.monotonic()) > 0:
            self.keep()
            self.connection.settimeout(max(min(left, PING_SECONDS), LEAST_SECONDS))
            try:
                code, frame = self.connection.recv_data_frame(True)
            except self._late:
                continue
            except self._errors:
                self._end()
                break
            if code == CLOSE:
                self._end()
            elif code in (TEXT, BINARY) and frame.data:
                channel, data = frame.data[0], bytes(frame.data[1:])
                if channel == STATUS:
                    self._told = (self._told + data)[:STATUS_BYTES]
                elif data:
                    return channel, data
        return OUTPUT, b""

    def send(self, data: bytes) -> None:
        """Write to the command's input. Raises PlatformFault."""
        try:
            self.connection.settimeout(SEND_SECONDS)
            for start in range(0, len(data), INPUT_BYTES):
                self.connection.send(bytes([INPUT]) + data[start : start + INPUT_BYTES], opcode=BINARY)
        except self._errors as error:
            raise PlatformFault(f"A command in a pod takes no input: {error!r}"[:300], code="world_lost") from None
        finally:
            self._spoken_at = time.monotonic()

    def keep(self) -> None:
        """Say something after PING_SECONDS of silence. Whether the connection is lost, `take` finds out."""
        if time.monotonic() - self._spoken_at >= PING_SECONDS:
            self._spoken_at = time.monotonic()
            with contextlib.suppress(*self._errors):
                self.connection.settimeout(SEND_SECONDS)
                self.connection.ping()

    def close(self) -> None:
        """Hang up."""
        with contextlib.suppress(*self._errors):
            self.connection.close(timeout=0)
        with contextlib.suppress(*self._errors):
            self.connection.shutdown()

    def _end(self) -> None:
        self.is_over = True
        self.status = status_of(self._told)


CLOSE, TEXT, BINARY = 8, 1, 2
"""Kinds of frames of a WebSocket."""


def status_of(told: bytes) -> int | None:
    """Return the exit status in the last message about a command; None if it does not say one."""
    try:
        found = json.loads(told)
        if found["status"] == "Success":
            return 0
        causes = found["details"]["causes"]
        return next(int(cause["message"]) for cause in causes if cause["reason"] == "ExitCode")
    except (ValueError, KeyError, TypeError, StopIteration):
        return None


def opened(client: Any, path: str, container: str, command: Sequence[str], *, has_input: bool) -> Stream:
    """Start a command in a container by an ApiClient; return its connection. Raises PlatformFault."""
    websocket: Any = import_module("websocket")
    lost = (websocket.WebSocketException, OSError, ValueError)
    configuration = client.configuration
    asked = [("container", container), ("stdout", "true"), ("stderr", "true"), ("stdin", str(has_input).lower())]
    address = f"{configuration.host}{path}?{urlencode([*asked, *(('command', each) for each in command)])}"
    headers: dict[str, str] = {}
    client.update_params_for_auth(headers, [], ["BearerToken"], path, "GET", None)
    options = {
        "header": [f"{name}: {value}" for name, value in headers.items()],
        "subprotocols": [PROTOCOL],
        "timeout": OPEN_SECONDS,
        "suppress_origin": True,
    }
    if configuration.proxy:
        proxied: Any = import_module("kubernetes.stream.ws_client").websocket_proxycare
        options = proxied(options, configuration, address, headers)
    connection = websocket.WebSocket(sslopt=_tls(configuration), skip_utf8_validation=True)
    try:
        connection.connect(address.replace("http", "ws", 1), **options)
    except websocket.WebSocketBadStatusException as error:
        why = message_of((error.resp_body or b"").decode(errors="replace"))
        sentence = f"The cluster runs no command in the container {container}: {why}"
        raise PlatformFault(sentence, code="world_lost") from None
    except lost as error:
        raise PlatformFault(silence_of(error), code="cluster_unavailable") from None
    return Stream(connection, lost, websocket.WebSocketTimeoutException)


def _tls(configuration: Any) -> dict[str, Any]:
    """Return the options of a connection's encryption, as the client's configuration has them."""
    ssl: Any = import_module("ssl")
    if not configuration.verify_ssl:
        options: dict[str, Any] = {"cert_reqs": ssl.CERT_NONE, "check_hostname": False}
    else:
        options = {"cert_reqs": ssl.CERT_REQUIRED}
        if configuration.ssl_ca_cert:
            options["ca_certs"] = configuration.ssl_ca_cert
        if configuration.assert_hostname is not None:
            options["check_hostname"] = configuration.assert_hostname
    given = {
        "certfile": configuration.cert_file,
        "keyfile": configuration.key_file,
        "server_hostname": configuration.tls_server_name,
    }
    return {**options, **{name: value for name, value in given.items() if value}}
