"""Processes that hold many streams of server-sent events open and note when each stream told what."""

from __future__ import annotations

import multiprocessing
import os
import re
import resource
import selectors
import signal
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

HOST = "127.0.0.1"
OPEN_SECONDS = 60.0
"""A stream that has not begun by then counts as broken."""
PACE_SECONDS = 0.002
"""Between two new streams of a process: people do not come all in one instant either."""
TOLD = re.compile(rb'"progress": "RUNNING (\d+)"')
TAIL_BYTES = 64
"""Kept of what was read, for an event that arrives in two pieces."""


@dataclass(frozen=True, slots=True)
class Heard:
    """The events of all streams in a period. times: for each stream that is open, pairs of a count and when it was
    read.

    broken: streams that were refused, ended or failed. cpu_seconds: of the processes that listen.
    """

    times: list[list[tuple[int, float]]]
    broken: int
    cpu_seconds: float


@dataclass
class _Stream:
    """One open stream. is_open: whether its answer has begun with status 200."""

    socket: socket.socket
    is_open: bool = False
    is_broken: bool = False
    tail: bytes = b""
    times: list[tuple[int, float]] = field(default_factory=list)

    def read(self) -> None:
        """Read what has come."""
        try:
            data = self.socket.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        at, text = time.monotonic(), self.tail + data
        if not self.is_open and b"\r\n" in text:
            self.is_open = text.split(b"\r\n", 1)[0].endswith(b" 200 OK")
            self.is_broken = not self.is_open
        self.is_broken |= not data
        found = list(TOLD.finditer(text))
        self.times += [(int(one[1]), at) for one in found]
        # What was found is not to be found again.
        self.tail = text[found[-1].end() :][-TAIL_BYTES:] if found else text[-TAIL_BYTES:]


class Listeners:
    """Processes that share the streams of one path."""

    def __init__(self, pipes: Sequence[Connection]) -> None:
        self._pipes = pipes

    def open(self, count: int) -> int:
        """Open more streams until there are `count`; return how many could not be opened or broke off."""
        each = [len(range(number, count, len(self._pipes))) for number in range(len(self._pipes))]
        return sum(self._ask("open", each))

    def listen(self, seconds: float) -> Heard:
        """Read all streams for a while."""
        found: list[Heard] = self._ask("listen", [seconds] * len(self._pipes))
        times = [stream for part in found for stream in part.times]
        return Heard(times, sum(part.broken for part in found), sum(part.cpu_seconds for part in found))

    def _ask(self, what: str, values: Sequence[float]) -> list[Any]:
        for pipe, value in zip(self._pipes, values, strict=True):
            pipe.send((what, value))
        return [pipe.recv() for pipe in self._pipes]


@contextmanager
def listeners(port: int, path: str, *, processes: int) -> Iterator[Listeners]:
    """Start processes that listen; they end with the block."""
    context = multiprocessing.get_context("fork")
    with ExitStack() as stack:
        pipes = []
        for _ in range(processes):
            mine, theirs = context.Pipe()
            # A stop from outside does not wait for these processes.
            process = context.Process(target=_work, args=(theirs, port, path), daemon=True)
            process.start()
            theirs.close()
            stack.callback(process.join)
            stack.callback(mine.close)
            pipes.append(mine)
            stack.callback(process.terminate)
        yield Listeners(pipes)


def files_for(streams: int) -> int:
    """Raise the limit of open files of this process and those it starts; return how many streams fit under it."""
    spare = 200
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = streams + spare if hard == resource.RLIM_INFINITY else min(hard, streams + spare)
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return min(streams, max(soft, wanted) - spare)


def _work(pipe: Connection, port: int, path: str) -> None:
    # Whatever the process that forked does at a stop, this one ends.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    streams: list[_Stream] = []
    with selectors.DefaultSelector() as selector:
        while True:
            try:
                what, value = pipe.recv()
            except EOFError:
                return
            if what == "open":
                pipe.send(_open(selector, streams, port, path, value))
            else:
                pipe.send(_listen(selector, streams, value))


def _open(selector: selectors.BaseSelector, streams: list[_Stream], port: int, path: str, count: int) -> int:
    request = f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\nAccept: text/event-stream\r\n\r\n".encode()
    while len(streams) < count:
        try:
            # A person each, with an address of their own, of those that lead to this machine.
            number = len(streams) + 1
            own = f"127.{os.getpid() % 250 + 1}.{number // 250}.{number % 250 + 1}"
            connection = socket.create_connection((HOST, port), OPEN_SECONDS, (own, 0))
            connection.sendall(request)
        except OSError:
            streams.append(_Stream(socket.socket(), is_broken=True))
            continue
        connection.setblocking(False)
        streams.append(_Stream(connection))
        selector.register(connection, selectors.EVENT_READ, streams[-1])
        _read(selector, PACE_SECONDS)
    deadline = time.monotonic() + OPEN_SECONDS
    while any(not (stream.is_open or stream.is_broken) for stream in streams) and time.monotonic() < deadline:
        _read(selector, 0.05)
    return sum(stream.is_broken or not stream.is_open for stream in streams)


def _listen(selector: selectors.BaseSelector, streams: Sequence[_Stream], seconds: float) -> Heard:
    for stream in streams:
        stream.times.clear()
    before, end = time.process_time(), time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        _read(selector, left)
    sound = [stream for stream in streams if stream.is_open and not stream.is_broken]
    return Heard([list(stream.times) for stream in sound], len(streams) - len(sound), time.process_time() - before)


def _read(selector: selectors.BaseSelector, seconds: float) -> None:
    if not selector.get_map():
        time.sleep(seconds)
        return
    for key, _ in selector.select(seconds):
        stream: _Stream = key.data
        stream.read()
        if stream.is_broken:
            selector.unregister(stream.socket)
            stream.socket.close()
