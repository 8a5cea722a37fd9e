"""Reads streams of the Docker engine to their ends or not at all: they keep their time-outs, and they are closed."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any

import docker

PIECE_BYTES = 1 << 20


@contextlib.contextmanager
def archive_pieces(client: docker.DockerClient, container: str, path: str) -> Iterator[Iterator[bytes]]:
    """Yield the tar of a file or a folder in a container, in pieces.

    The SDK's own call leaves the stream open when a reader stops early, and the engine removes no container while a tar
    of it is under way. It also lifts the client's time-out.
    """
    # The SDK has no types for these calls.
    api: Any = client.api
    address = api._url("/containers/{0}/archive", container)
    response = api._get(address, params={"path": path}, stream=True, headers={"Accept-Encoding": "identity"})
    try:
        api._raise_for_status(response)
        yield response.iter_content(PIECE_BYTES)
    finally:
        response.close()


@contextlib.contextmanager
def command_stream(client: docker.DockerClient, command: str) -> Iterator[tuple[io.BufferedReader, bytes]]:
    """Start a command that was created in a container; yield the reader of its streams, and what it has read already.

    What a quick command prints may arrive together with the engine's answer, in a buffer that the SDK passes over. The
    reader's descriptor gives what follows.
    """
    api: Any = client.api
    stream = api.exec_start(command, socket=True)
    # The response hangs on the stream, whose own `close` would leave the connection open.
    response = stream._response
    try:
        reader: io.BufferedReader = response.raw._fp.fp
        seconds = stream._sock.gettimeout()
        stream._sock.settimeout(0)
        first = reader.read1(io.DEFAULT_BUFFER_SIZE)
        stream._sock.settimeout(seconds)
        yield reader, first
    finally:
        response.close()
