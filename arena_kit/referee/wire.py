"""The referee's side of the wire to a player server, which `docs/reference/protocol.md` describes.

The questions of many matches are sent in one frame, column by column, so that both sides work on whole columns. Answers
come one by one and repeat match and sequence.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from itertools import chain
from struct import Struct
from typing import Any, NamedTuple

from arena_kit.environment.spec import WIRE_CODES, ActionArraySpec, ArraySpec
from arena_kit.frames import BadFrame, frame_at, pack_data, unpack_data
from arena_kit.text import plain_text

VERSION = 2
MAX_ANSWER_BYTES = 64 * 1024
"""The largest frame that a player may send."""


class Kind(IntEnum):
    """The kind of a frame, or (START, STEP, END) of a question within a QUESTIONS frame."""

    HELLO = 1
    START = 2
    STEP = 3
    END = 4
    QUESTIONS = 5
    READY = 129
    ACTION = 130
    DONE = 131
    ERROR = 132
    INVALID = 133


START, STEP, END, ACTION, DONE, ERROR = Kind.START, Kind.STEP, Kind.END, Kind.ACTION, Kind.DONE, Kind.ERROR
"""Shortcuts for the hot path, where looking up a member of an enumeration takes as long as a step of a game."""
_ANSWERS = {kind.value: kind for kind in (ACTION, DONE, Kind.ERROR, Kind.INVALID)}


class ProtocolViolation(Exception):
    """The player sent something that the protocol does not allow. code: typed fault code."""

    def __init__(self, message: str, *, code: str = "malformed_answer") -> None:
        super().__init__(message)
        self.code = code


class Question(NamedTuple):
    """A question to a player, which is one row of a QUESTIONS frame."""

    number: int
    """Number of the match."""
    kind: Kind
    sequence: int
    reward: float
    """Sum of the seat's rewards since its last action; for START the seat."""
    valid: Sequence[int]
    """Valid actions; empty for END."""
    observation: bytes
    """The bytes of `Encoder.observation`."""
    match: Any
    """The referee's Match or Episode; not sent."""
    player: int
    """Index of the player; not sent."""


class Answer(NamedTuple):
    """An answer of a player: ACTION with `action`, DONE, or ERROR or INVALID with `text`."""

    kind: Kind
    match: int
    sequence: int
    action: int | bytes = 0
    text: str = ""


new_tuple = tuple.__new__
"""Makes a named tuple from a tuple of all its values, in a third of the time of an ordinary call."""
_QUESTIONS_HEAD = Struct("<IBI")
_MATCH = Struct("<II")
_ACTION_HEAD_BYTES = 13
_INTEGER_ACTION_FRAME = Struct("<IBIIq")


def hello(
    *,
    environment: str,
    observation: ArraySpec,
    action_count: int,
    action: ActionArraySpec | None = None,
    parallel_matches: int,
    play: Mapping[str, float] | None = None,
) -> bytes:
    """Return the referee's first frame, HELLO. play: the limits of this play, for players that are adapted."""
    actions: dict[str, Any] = {"count": action_count, "wire": _action_wire(action_count)}
    if action is not None:
        actions |= {"wire": action.wire, "dtype": action.dtype, "shape": list(action.shape)}
    return pack_data(
        Kind.HELLO,
        {
            "protocol": VERSION,
            "environment": environment,
            "observation": {
                "dtype": observation.dtype,
                "shape": list(observation.shape),
                "wire": observation.wire,
            },
            "actions": actions,
            "parallel_matches": parallel_matches,
            **({} if play is None else {"play": dict(play)}),
        },
    )


def _action_wire(action_count: int) -> str:
    return "int8" if action_count <= 128 else "int32"


class Encoder:
    """Encodes the questions of one environment, without NumPy, so that a move takes microseconds."""

    def __init__(self, observation: ArraySpec, action_count: int) -> None:
        self._count, self._bytes = math.prod(observation.shape), observation.byte_count
        self._typecode = WIRE_CODES[observation.wire]
        self._pack = Struct(f"<{self._count}{self._typecode}").pack
        self._valid_typecode = WIRE_CODES[_action_wire(action_count)]

    def observation(self, values: Sequence[float] | bytes) -> bytes:
        """Return an observation as bytes; raw bytes and arrays of the wire's type are fastest.

        Raises struct.error when the values do not fit the environment's spec.
        """
        if type(values) is array and values.typecode == self._typecode and len(values) == self._count:
            return values.tobytes()
        if type(values) is bytes and len(values) == self._bytes:
            return values
        return self._pack(*values)

    def questions(self, batch: Sequence[Question]) -> bytes:
        """Return one frame with all these questions."""
        numbers, kinds, sequences, rewards, valid, observations, _, _ = zip(*batch, strict=True)
        data = b"".join(
            (
                array("d", rewards).tobytes(),
                array("I", numbers).tobytes(),
                array("I", sequences).tobytes(),
                array("I", map(len, valid)).tobytes(),
                bytes(kinds),
                array(self._valid_typecode, chain.from_iterable(valid)).tobytes(),
                *observations,
            )
        )
        return _QUESTIONS_HEAD.pack(5 + len(data), Kind.QUESTIONS, len(batch)) + data


class Decoder:
    """Splits the bytes from a player into answers; holds at most one unfinished frame."""

    def __init__(self, action: ActionArraySpec | None = None) -> None:
        """action: the array that an action is, where actions are arrays; its values then come as bytes."""
        self._buffer = b""
        self._frame = _INTEGER_ACTION_FRAME if action is None else Struct(f"<IBII{action.byte_count}s")
        self._is_array = action is not None

    def feed(self, data: bytes) -> Iterator[Answer | dict[str, Any]]:
        """Yield the answers in `data`, and READY as its JSON object. Raises ProtocolViolation."""
        buffer = self._buffer + data if self._buffer else data
        position, size = 0, self._frame.size
        action_length = size - 4
        most_bytes = max(MAX_ANSWER_BYTES, action_length)
        try:
            while len(buffer) - position >= 5:
                # Nearly all answers are actions, so a run of them is read at once.
                run = (len(buffer) - position) // size * size
                frames = memoryview(buffer)[position : position + run]
                for length, kind, match, sequence, action in self._frame.iter_unpack(frames):
                    if kind != ACTION or length != action_length:
                        break
                    position += size
                    yield new_tuple(Answer, (ACTION, match, sequence, action, ""))
                if (frame := frame_at(buffer, position, most_bytes)) is None:
                    break
                kind, payload, position = frame
                yield self._decode(kind, payload)
        except BadFrame as error:
            if error.length:
                sentence = f"An answer of {error.length} bytes is too large."
                raise ProtocolViolation(sentence, code="oversized_answer") from None
            raise ProtocolViolation("An answer is empty.") from None
        finally:
            self._buffer = buffer[position:]

    def _decode(self, kind_code: int, payload: bytes) -> Answer | dict[str, Any]:
        if kind_code == Kind.READY:
            return _ready(payload)
        kind = _ANSWERS.get(kind_code)
        if kind is None:
            raise ProtocolViolation(f"An answer has the unknown kind {kind_code}.")
        if len(payload) < 8:
            raise ProtocolViolation("An answer is too short.")
        match, sequence = _MATCH.unpack_from(payload)
        if kind is ACTION:
            # `feed` reads actions of the right size itself.
            raise ProtocolViolation(f"An action must have {self._frame.size - _ACTION_HEAD_BYTES} bytes.")
        if kind is DONE:
            if len(payload) != 8:
                raise ProtocolViolation("A DONE answer must be empty.")
            return Answer(kind, match, sequence)
        return Answer(kind, match, sequence, text=plain_text(payload[8:].decode("utf-8", "replace")))


def _ready(payload: bytes) -> dict[str, Any]:
    try:
        ready = unpack_data(payload)
    except BadFrame:
        raise ProtocolViolation("READY is not JSON.") from None
    if not isinstance(ready, dict):
        raise ProtocolViolation("READY is not a JSON object.")
    return ready
