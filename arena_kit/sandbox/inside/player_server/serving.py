"""Answers the referee, with one `Player` object per running match."""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import math
import socket
import struct
import time
from array import array
from collections.abc import Callable
from typing import Any

from arena_kit.contract import BadAction, action_of
from arena_kit.frames import Splitter, pack_data

from . import printing
from .traces import traced

numpy: Any = None
"""The module NumPy, once `import_numpy` found it. Only the player's process imports it, because it may be a package of
the submission."""

environment: dict[str, Any] = {}
"""The referee's HELLO, once it has arrived: one process plays one environment."""

HELLO, START, STEP, END, QUESTIONS, JSON_QUESTION = 1, 2, 3, 4, 5, 6
READY, ACTION, DONE, ERROR, INVALID = 129, 130, 131, 132, 133
TYPECODES = {"int8": "b", "uint8": "B", "int16": "h", "int32": "i", "int64": "q", "float32": "f", "float64": "d"}
JSON_HEAD = struct.Struct("<IIBdII")
"""Match, sequence, kind, reward, and the lengths of the JSON and of the picture behind it."""
MOST_BYTES = (1 << 32) - 1
"""The referee is trusted, and its largest question grows with the environment."""
ERROR_CHARACTERS = 2000
SLOW_SECONDS = 0.0002
"""After a move that took longer, the answers are sent at once, so that no match is charged for another's move."""
FLUSH_SECONDS = 0.001
"""Answers wait at most this long to be sent together."""
SMALL_BYTES = 4096
"""Larger observations are copied out of the array of their batch, so that a player that keeps one does not keep all."""


def import_numpy() -> None:
    """Import NumPy if it is installed."""
    with contextlib.suppress(ImportError):
        globals()["numpy"] = importlib.import_module("numpy")


@functools.lru_cache(256)
def head_of(rows: int) -> struct.Struct:
    """Return the layout of a frame's columns before its valid actions."""
    return struct.Struct(f"<{rows}d{3 * rows}I{rows}B")


class Server:
    """Answers questions in order, and sends together the answers that are ready within FLUSH_SECONDS."""

    def __init__(self, wire: socket.socket, form: str, make: Callable[[bool], Any], first: Any, limit: int) -> None:
        """form: name of the entry point. make: makes a `Player`. first: the first `Player`. limit: matches at once."""
        self.wire, self.form, self.make, self.limit = wire, form, make, limit
        self.encode: Callable[[Any], Any] = action_of
        self.action_frame, self.action_length = struct.Struct("<IBIIq").pack, 17
        self.idle = [first]
        self.sits = hasattr(first, "arena_sit")
        """Whether the objects want to know their seat before a match; those of `forms` do."""
        self.playing: dict[int, Any] = {}
        self.out = bytearray()

    def run(self) -> None:
        """Serve until the referee hangs up."""
        arrived = Splitter(MOST_BYTES)
        while data := self.wire.recv(1 << 18):
            arrived.feed(data)
            while (frame := arrived.take()) is not None:
                kind, payload = frame
                if kind == QUESTIONS:
                    self.answer(payload)
                elif kind == JSON_QUESTION:
                    self.answer_json(payload)
                elif kind == HELLO:
                    self.greet(json.loads(payload))
            self.flush()

    def greet(self, hello: dict[str, Any]) -> None:
        """Read the format of the questions from HELLO and answer READY."""
        globals()["environment"] = hello
        observation = hello["observation"]
        if observation.get("form") == "json":
            self.ready(1)
            return
        self.dtype, self.shape = observation["dtype"], tuple(observation["shape"])
        self.wire_type, self.valid_type = TYPECODES[observation["wire"]], TYPECODES[hello["actions"]["wire"]]
        self.size = math.prod(self.shape)
        actions = hello["actions"]
        if "shape" in actions:
            self.encode = functools.partial(array_of, shape=tuple(actions["shape"]), wire=actions["wire"])
            byte_count = math.prod(actions["shape"]) * array(TYPECODES[actions["wire"]]).itemsize
            self.action_frame, self.action_length = struct.Struct(f"<IBII{byte_count}s").pack, 9 + byte_count
        self.ready(min(hello["parallel_matches"], self.limit))

    def ready(self, parallel: int) -> None:
        """Answer READY. parallel: matches at once."""
        ready = {"protocol": 2, "parallel_matches": parallel, "form": self.form, "numpy": numpy is not None}
        self.out += pack_data(READY, ready)

    def answer(self, payload: bytes) -> None:
        """Answer every row of a QUESTIONS frame."""
        rewards, matches, sequences, counts, kinds, valid, states = self.columns(payload)
        action_frame, length, encode, playing = self.action_frame, self.action_length, self.encode, self.playing
        sits, place = self.sits, printing.place
        end = 0
        begun = unsent_since = time.monotonic()
        for match, sequence, kind, reward, count, state in zip(matches, sequences, kinds, rewards, counts, states):
            first, end = end, end + count
            place.at = match, sequence
            try:
                if kind == STEP:
                    action = playing[match].step(state, valid[first:end], reward)
                elif kind == START:
                    playing[match] = player = self.idle.pop() if self.idle else self.make(False)
                    if sits:
                        player.arena_sit(int(reward))
                    action = player.start(state, valid[first:end])
                else:
                    place.at = match, -1
                    self.end(match, state, reward)
                    self.out += struct.pack("<IBII", 9, DONE, match, sequence)
                    continue
                self.out += action_frame(length, ACTION, match, sequence, encode(action))
            except BadAction as error:
                self.put_text(INVALID, match, sequence, str(error))
            except Exception as error:
                sentence = f"{type(error).__name__}: {error}"[:300]
                self.put_text(ERROR, match, sequence, sentence + "\n" + traced(error))
            now = time.monotonic()
            if now - begun > SLOW_SECONDS or now - unsent_since > FLUSH_SECONDS:
                self.flush()
                unsent_since = now
            begun = now

    def answer_json(self, payload: bytes) -> None:
        """Answer one question whose observation and action are JSON; a picture may stand behind it."""
        match, sequence, kind, reward, length, attached = JSON_HEAD.unpack_from(payload)
        end = JSON_HEAD.size + length
        try:
            state = json.loads(payload[JSON_HEAD.size : end])
            state["screenshot"] = payload[end:] if attached else None
            names = state.pop("actions")
            if kind == END:
                self.end(match, state, reward)
                self.out += struct.pack("<IBII", 9, DONE, match, sequence)
                return
            if kind == STEP:
                action = self.playing[match].step(state, names, reward)
            else:
                self.playing[match] = player = self.idle.pop() if self.idle else self.make(False)
                if self.sits:
                    player.arena_sit(0)
                action = player.start(state, names)
            said = json_of(action)
            self.out += struct.pack("<IBII", 9 + len(said), ACTION, match, sequence) + said
        except BadAction as error:
            self.put_text(INVALID, match, sequence, str(error))
        except Exception as error:
            sentence = f"{type(error).__name__}: {error}"[:300]
            self.put_text(ERROR, match, sequence, sentence + "\n" + traced(error))

    def columns(self, payload: bytes) -> tuple[Any, ...]:
        """Return rewards, matches, sequences, counts of valid actions, kinds, valid actions and observations by row.

        Observations and valid actions are new, writable arrays of the environment's own types (lists without NumPy).
        """
        rows = int.from_bytes(payload[:4], "little")
        head = head_of(rows)
        cells = head.unpack_from(payload, 4)
        rewards, matches, sequences, counts, kinds = (cells[n * rows : (n + 1) * rows] for n in range(5))
        begin = 4 + head.size
        middle = begin + sum(counts) * array(self.valid_type).itemsize
        if numpy is None:
            valid: Any = array(self.valid_type, payload[begin:middle]).tolist()
            states: Any = self.lists(array(self.wire_type, payload[middle:]).tolist(), rows)
        else:
            valid = numpy.frombuffer(payload[begin:middle], self.valid_type).astype("int64")
            states = numpy.frombuffer(payload[middle:], self.wire_type).astype(self.dtype).reshape((rows, *self.shape))
            if states.nbytes > rows * SMALL_BYTES:
                states = (state.copy() for state in states)
        return rewards, matches, sequences, counts, kinds, valid, states

    def lists(self, values: list[Any], rows: int) -> list[list[Any]]:
        """Return one flat list for each observation."""
        return [values[row * self.size : (row + 1) * self.size] for row in range(rows)]

    def end(self, match: int, state: Any, reward: float) -> None:
        """Tell a match's player that the match is over, and keep the player for another match."""
        player = self.playing.pop(match, None)
        if player is not None:
            player.end(state, reward)
            self.idle.append(player)

    def put_text(self, kind: int, match: int, sequence: int, text: str) -> None:
        payload = text[:ERROR_CHARACTERS].encode("utf-8", "replace")
        self.out += struct.pack("<IBII", 9 + len(payload), kind, match, sequence) + payload

    def flush(self) -> None:
        """Send the answers that are ready."""
        if self.out:
            self.wire.sendall(self.out)
            self.out.clear()


def json_of(value: object) -> bytes:
    """Return an action as JSON. Raises BadAction."""
    try:
        return json.dumps(value, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise BadAction(f"The action must be JSON: {error}.") from None


def array_of(value: object, shape: tuple[int, ...], wire: str) -> bytes:
    """Return an action as raw values, row-major and little-endian. Raises BadAction.

    The referee decides whether it is legal. shape: the shape that the environment expects; an array with the same
    number of values in another shape is accepted. wire: the type of the values.
    """
    data: Any
    size, whole = math.prod(shape), wire[0] in "iu"
    if numpy is None:
        values = value if isinstance(value, (list, tuple, array)) else [value]
        try:
            data = array(TYPECODES[wire], values)
        except (TypeError, OverflowError) as error:
            raise BadAction(f"The action must be a flat list of {size} numbers: {error}.") from None
    else:
        try:
            data = numpy.asarray(value)
        except (TypeError, ValueError) as error:
            raise BadAction(f"The action is not an array of shape {shape}: {error}.") from None
        if data.dtype.kind not in ("biu" if whole else "biuf"):
            raise BadAction(f"The action must be an array of {wire}, not of {data.dtype}.")
    if (count := len(data) if numpy is None else data.size) != size:
        raise BadAction(f"The action must have the shape {shape}, that is {size} values, not {count}.")
    if numpy is not None:
        # A value too large for the wire becomes infinite, which the referee refuses.
        with numpy.errstate(over="ignore"):
            given, data = data, data.astype("<" + numpy.dtype(wire).str[1:])
        if whole and not (given == data).all():
            raise BadAction(f"The action holds a value that does not fit {wire}.")
    encoded: bytes = data.tobytes()
    return encoded
