"""The folder that the watcher of a pod shares with one container: a connection there ends here, by way of a relay."""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

from arena_kit.cluster.streams import OUTPUT, PING_SECONDS, Stream
from arena_kit.errors import PlatformFault
from arena_kit.rollout.pods.calls import PodCalls
from arena_kit.sandbox.base import SandboxError
from arena_kit.sandbox.channel import LOOK_SECONDS, Channel, Listener

RELAY = (Path(__file__).with_name("inside") / "relay.py").read_text(encoding="utf-8")
LISTENS, CONNECTED = b"L", b"C"
LISTEN_SECONDS = 30.0
_PIECE_BYTES = 1 << 16


class RelayedChannel(Channel):
    """A folder of a pod, which goes with it. What connects there is connected to this process."""

    def __init__(self, calls: PodCalls, watcher: str, folder: str) -> None:
        """watcher: the container that may write to the folder."""
        self._calls, self._watcher, self.folder = calls, watcher, Path(folder)
        self.is_lost = False
        """Whether the cluster has ended a connection, which neither this process nor the container has done."""

    def listen(self, name: str) -> Listener:
        return RelayedListener(self._calls, self._watcher, str(self.folder / name), self._ended)

    def close(self) -> None:
        pass

    def _ended(self, stream: Stream) -> None:
        """Hear that a relay's connection is over. A relay of which one side hangs up ends with 0."""
        if stream.is_over and stream.status != 0:
            self.is_lost = True


class RelayedListener(Listener):
    """A Unix socket in a pod that takes one connection. Raises SandboxError."""

    def __init__(self, calls: PodCalls, watcher: str, path: str, ended: Callable[[Stream], object]) -> None:
        """ended: called with the relay's connection when it is over, unless this process ends it."""
        self._ended = ended
        self._stream = calls.relay(watcher, ["python3", "-I", "-S", "-c", RELAY, path])
        self._is_handed_on = False
        self._early = b""
        if not self._heard(LISTENS, time.monotonic() + LISTEN_SECONDS):
            self.close()
            raise SandboxError("The world's watcher does not listen.", code="channel_failed")

    def accept(self, deadline: float, alive: Callable[[], bool]) -> socket.socket | None:
        while (now := time.monotonic()) < deadline and not self._stream.is_over:
            if self._heard(CONNECTED, min(deadline, now + LOOK_SECONDS)):
                self._is_handed_on = True
                ours, theirs = socket.socketpair()
                given = (self._stream, theirs, self._early, self._ended)
                threading.Thread(target=_pump, args=given, daemon=True).start()
                return ours
            if not alive():
                return None
        self._ended(self._stream)
        return None

    def close(self) -> None:
        if not self._is_handed_on:
            self._stream.close()

    def _heard(self, word: bytes, deadline: float) -> bool:
        """Wait until the relay says a word; what follows it is kept."""
        while not self._early and not self._stream.is_over and time.monotonic() < deadline:
            channel, data = self._stream.take(deadline)
            # What the relay complains about before it ends is no word.
            self._early += data if channel == OUTPUT else b""
        if not self._early.startswith(word):
            return False
        self._early = self._early[len(word) :]
        return True


def _pump(stream: Stream, local: socket.socket, early: bytes, ended: Callable[[Stream], object]) -> None:
    """Hand on what both sides say until one of them ends. One thread reads and writes, as encryption needs."""
    try:
        if _handed_on(stream, local, early):
            ended(stream)
    finally:
        local.close()
        stream.close()


def _handed_on(stream: Stream, local: socket.socket, early: bytes) -> bool:
    """Return whether it was the other side that has ended."""
    poll = select.poll()
    poll.register(stream.fileno(), select.POLLIN)
    poll.register(local, select.POLLIN)
    try:
        local.sendall(early)
        while not stream.is_over:
            ready = dict(poll.poll(0 if stream.pending() else PING_SECONDS * 1000))
            if local.fileno() in ready:
                if not (data := local.recv(_PIECE_BYTES)):
                    return False
                stream.send(data)
            if stream.fileno() in ready or stream.pending():
                # A frame that has begun to arrive is there in a moment; the other side is not kept waiting for it.
                channel, data = stream.take(time.monotonic() + LOOK_SECONDS)
                if channel == OUTPUT:
                    local.sendall(data)
            stream.keep()
    except OSError:
        return False
    except PlatformFault:
        # How the relay has ended was said before nothing could be sent to it.
        until = time.monotonic() + LOOK_SECONDS
        while not stream.is_over and time.monotonic() < until:
            stream.take(until)
    return True
