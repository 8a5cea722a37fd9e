"""The wire between referee and player server, the referee's side. Described in `docs/protocol.md`.

Frames are little-endian: u32 length of what follows, u8 kind, payload. Match messages begin with u32 match and
u32 sequence; every answer echoes both.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from struct import Struct
from typing import Any

from environments.spec import ArraySpec

VERSION = 1
MAX_ANSWER_BYTES = 64 * 1024
"""Largest frame that a player may send."""

DTYPES = {"int8": 1, "uint8": 2, "int16": 3, "int32": 4, "int64": 5, "float32": 6, "float64": 7}
TYPECODES = {"int8": "b", "uint8": "B", "int16": "h", "int32": "i", "int64": "q", "float32": "f", "float64": "d"}


class Kind(IntEnum):
    """First byte of a frame."""

    HELLO = 1
    START = 2
    STEP = 3
    END = 4
    READY = 129
    ACTION = 130
    DONE = 131
    ERROR = 132
    INVALID = 133


_ANSWERS = frozenset({Kind.ACTION, Kind.DONE, Kind.ERROR, Kind.INVALID})


class ProtocolViolation(Exception):
    """The player sent something that the protocol does not allow. code: typed fault code."""

    def __init__(self, message: str, *, code: str = "malformed_answer") -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of a player: ACTION with `action`, DONE, or ERROR and INVALID with `text`."""

    kind: Kind
    match: int
    sequence: int
    action: int = 0
    text: str = ""


_HEAD = Struct("<IB")
_MATCH_HEAD = Struct("<IBII")
_MATCH = Struct("<II")
_ACTION = Struct("<q")
_REWARD = Struct("<d")
_ARRAY = Struct("<BB")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def plain_text(text: str) -> str:
    """Text of a player without control characters and lone surrogates, which databases and terminals dislike."""
    return _CONTROL.sub("", text)


def hello(*, environment: str, observation: ArraySpec, action_count: int, parallel_matches: int) -> bytes:
    """The referee's first frame."""
    payload = json.dumps(
        {
            "protocol": VERSION,
            "environment": environment,
            "observation": {"dtype": observation.dtype, "shape": list(observation.shape)},
            "action_count": action_count,
            "parallel_matches": parallel_matches,
        }
    ).encode()
    return _HEAD.pack(len(payload) + 1, Kind.HELLO) + payload


class Encoder:
    """Encodes the requests of one environment; no NumPy, so that a move costs microseconds."""

    def __init__(self, observation: ArraySpec, action_count: int) -> None:
        self._typecode = TYPECODES[observation.wire]
        dims = Struct(f"<{len(observation.shape)}I").pack(*observation.shape)
        self._observation_head = _ARRAY.pack(DTYPES[observation.wire], len(observation.shape)) + dims
        small = action_count <= 128
        self._valid_typecode = "b" if small else "i"
        self._valid_dtype = DTYPES["int8" if small else "int32"]

    def observation(self, values: Sequence[float]) -> bytes:
        return self._observation_head + array(self._typecode, values).tobytes()

    def valid_actions(self, actions: Sequence[int]) -> bytes:
        head = _ARRAY.pack(self._valid_dtype, 1) + len(actions).to_bytes(4, "little")
        return head + array(self._valid_typecode, actions).tobytes()

    def start(self, match: int, sequence: int, observation: bytes, valid: bytes) -> bytes:
        return _MATCH_HEAD.pack(9 + len(observation) + len(valid), Kind.START, match, sequence) + observation + valid

    def step(self, match: int, sequence: int, observation: bytes, valid: bytes, reward: float) -> bytes:
        length = 17 + len(observation) + len(valid)
        head = _MATCH_HEAD.pack(length, Kind.STEP, match, sequence)
        return head + _REWARD.pack(reward) + observation + valid

    def end(self, match: int, sequence: int, observation: bytes, reward: float) -> bytes:
        head = _MATCH_HEAD.pack(17 + len(observation), Kind.END, match, sequence)
        return head + _REWARD.pack(reward) + observation


class Decoder:
    """Cuts the bytes of a player into answers; holds at most one unfinished frame."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Answer | dict[str, Any]]:
        """Answers in `data`; READY comes as its JSON object. Raises ProtocolViolation."""
        buffer = self._buffer
        buffer += data
        position = 0
        try:
            while len(buffer) - position >= 5:
                length, kind = _HEAD.unpack_from(buffer, position)
                if length > MAX_ANSWER_BYTES:
                    raise ProtocolViolation(f"An answer of {length} bytes is too large.", code="oversized_answer")
                if length == 0:
                    raise ProtocolViolation("An answer is empty.")
                end = position + 4 + length
                if len(buffer) < end:
                    break
                payload = bytes(buffer[position + 5 : end])
                position = end
                yield _decode(kind, payload)
        finally:
            del buffer[:position]


def _decode(kind: int, payload: bytes) -> Answer | dict[str, Any]:
    if kind == Kind.READY:
        return _ready(payload)
    if kind not in _ANSWERS:
        raise ProtocolViolation(f"An answer of the unknown kind {kind}.")
    if len(payload) < 8:
        raise ProtocolViolation("An answer is too short.")
    match, sequence = _MATCH.unpack_from(payload)
    if kind == Kind.ACTION:
        if len(payload) != 16:
            raise ProtocolViolation("An action must have 8 bytes.")
        return Answer(Kind.ACTION, match, sequence, _ACTION.unpack_from(payload, 8)[0])
    if kind == Kind.DONE:
        if len(payload) != 8:
            raise ProtocolViolation("A DONE answer carries nothing.")
        return Answer(Kind.DONE, match, sequence)
    return Answer(Kind(kind), match, sequence, text=plain_text(payload[8:].decode("utf-8", "replace")))


def _ready(payload: bytes) -> dict[str, Any]:
    try:
        ready = json.loads(payload)
    except (ValueError, RecursionError):
        raise ProtocolViolation("READY is not JSON.") from None
    if not isinstance(ready, dict):
        raise ProtocolViolation("READY is not a JSON object.")
    return ready
