"""Players that speak the wire themselves, in a thread, to give answers that a real server would not give."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from arena_kit.environment.spec import WIRE_CODES
from arena_kit.referee.wire import Kind
from arena_kit.sandbox.ending import Ending


def frame(kind: int, payload: bytes) -> bytes:
    return struct.pack("<IB", len(payload) + 1, kind) + payload


def ready(parallel_matches: object = 64) -> bytes:
    return frame(Kind.READY, json.dumps({"protocol": 2, "parallel_matches": parallel_matches}).encode())


def action(match: int, sequence: int, value: int) -> bytes:
    return frame(Kind.ACTION, struct.pack("<IIq", match, sequence, value))


def done(match: int, sequence: int) -> bytes:
    return frame(Kind.DONE, struct.pack("<II", match, sequence))


def text_answer(kind: Kind, match: int, sequence: int, text: str) -> bytes:
    return frame(kind, struct.pack("<II", match, sequence) + text.encode())


@dataclass(frozen=True)
class Asked:
    """A question as a fake player reads it. valid: the valid actions; empty for END."""

    kind: Kind
    match: int
    sequence: int
    reward: float
    valid: tuple[int, ...]

    def good_answer(self) -> bytes:
        """Answer with the first valid action, or with DONE."""
        if self.kind is Kind.END:
            return done(self.match, self.sequence)
        return action(self.match, self.sequence, self.valid[0])


@dataclass(frozen=True)
class Stall:
    """An answer of these bytes, after which the player is silent."""

    data: bytes = b""


Said = bytes | Stall | None
Answerer = Callable[[Asked], Said]
"""Returns the bytes to send for a question, or None to hang up."""


class FakeContainer:
    """A Container whose player is a thread of the test."""

    def __init__(
        self, answerer: Answerer, *, hello: bytes | None = None, ending: Ending = Ending.EXITED, log: str = ""
    ) -> None:
        self.wire, self._theirs = socket.socketpair()
        self._answerer, self._hello, self._ending, self._log = answerer, hello, ending, log
        self.closed = 0
        self.throttled = 0
        self.asked: list[Asked] = []
        self.received = bytearray()
        """Everything that the referee sent."""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def raise_if_paused(self) -> None:
        pass

    def ending(self) -> Ending:
        return self._ending

    def log(self) -> str:
        return self._log

    def cpu_seconds(self) -> float | None:
        return None

    def throttle(self) -> None:
        self.throttled += 1

    def close(self) -> None:
        self.closed += 1
        with contextlib.suppress(OSError):
            self._theirs.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
        self._theirs.close()

    def most_at_once(self) -> int:
        """The largest number of matches that ran at the same time."""
        running: set[int] = set()
        most = 0
        for asked in self.asked:
            running.discard(asked.match) if asked.kind is Kind.END else running.add(asked.match)
            most = max(most, len(running))
        return most

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            requests = self._requests()
            kind, payload = next(requests)
            assert kind == Kind.HELLO
            hello = json.loads(payload)
            self._theirs.sendall(ready(hello["parallel_matches"]) if self._hello is None else self._hello)
            code = WIRE_CODES[hello["actions"]["wire"]]
            for kind, payload in requests:
                assert kind == Kind.QUESTIONS
                if not all(self._answer(asked) for asked in parse(payload, code)):
                    break
        with contextlib.suppress(OSError):
            self._theirs.shutdown(socket.SHUT_RDWR)

    def _answer(self, asked: Asked) -> bool:
        """Answer one question; return whether to go on."""
        self.asked.append(asked)
        answer = self._answerer(asked)
        if answer is None:
            return False
        self._theirs.sendall(answer.data if isinstance(answer, Stall) else answer)
        if isinstance(answer, Stall):
            while self._theirs.recv(65536):
                pass
        return True

    def _requests(self) -> Iterator[tuple[int, bytes]]:
        buffer = b""
        while data := self._theirs.recv(65536):
            buffer += data
            self.received += data
            while len(buffer) >= 4 and len(buffer) - 4 >= (length := int.from_bytes(buffer[:4], "little")):
                yield buffer[4], buffer[5 : 4 + length]
                buffer = buffer[4 + length :]


def parse(payload: bytes, code: str) -> Iterator[Asked]:
    """Read the rows of a QUESTIONS frame. code: type code of the valid actions."""
    (rows,) = struct.unpack_from("<I", payload)
    columns = struct.unpack_from(f"<{rows}d{rows}I{rows}I{rows}I{rows}B", payload, 4)
    rewards, matches, sequences, counts, kinds = (columns[n * rows : (n + 1) * rows] for n in range(5))
    position = 4 + rows * (8 + 4 + 4 + 4 + 1)
    for reward, match, sequence, count, kind in zip(rewards, matches, sequences, counts, kinds, strict=True):
        valid = struct.unpack_from(f"<{count}{code}", payload, position)
        position += struct.calcsize(f"<{count}{code}")
        yield Asked(Kind(kind), match, sequence, reward, valid)
