"""The frames between the arena and an environment server: columns for many matches, little-endian.

A frame is a u32 length of the rest, a u8 kind and its payload. RESET and STEP carry a column per field, and so does
the answer, STATES. What is not on the hot path is JSON. Both ends take nothing for granted: a frame that does not fit
raises BadFrame.
"""

from __future__ import annotations

import json
import struct
from array import array
from collections.abc import Mapping, Sequence
from enum import IntEnum
from itertools import chain
from typing import Any, NamedTuple

from arena_kit.environment.protocol import Action, Observation

HEAD = struct.Struct("<IB")
_COUNT = struct.Struct("<I")
MAX_FRAME_BYTES = 64 << 20


class Kind(IntEnum):
    """The kind of a frame."""

    RESET = 1
    STEP = 2
    OBSERVE = 3
    FRAME = 4
    DRAW = 5
    DROP = 6
    OPENING = 7
    STATES = 129
    DATA = 130


class Status(IntEnum):
    """What came of a match's row in RESET or STEP."""

    PLAYED = 0
    ILLEGAL = 1
    OVER = 2
    BROKEN = 3


class BadFrame(Exception):
    """A frame does not fit its kind."""


class State(NamedTuple):
    """One match after a step. seen: by seat, for those that move now, and for all of them after the end."""

    status: int
    rewards: tuple[float, ...] = ()
    truncated: bool = False
    to_move: tuple[int, ...] = ()
    seen: Mapping[int, Observation] = {}
    message: str = ""


def pack(kind: Kind, payload: bytes) -> bytes:
    """Return a frame."""
    return HEAD.pack(len(payload) + 1, kind) + payload


def pack_data(kind: Kind, data: object) -> bytes:
    """Return a frame whose payload is JSON."""
    return pack(kind, json.dumps(data, allow_nan=False).encode())


def unpack_data(payload: bytes) -> Any:
    """Return the JSON of a payload. Raises BadFrame."""
    try:
        return json.loads(payload)
    except (ValueError, RecursionError):
        raise BadFrame("a payload is not JSON") from None


def pack_resets(matches: Sequence[int], seeds: Sequence[int]) -> bytes:
    """Return the payload of RESET."""
    return _COUNT.pack(len(matches)) + array("I", matches).tobytes() + array("q", seeds).tobytes()


def unpack_resets(payload: bytes) -> list[tuple[int, int]]:
    """Return match and seed of each row. Raises BadFrame."""
    columns = _Columns(payload)
    count = columns.number()
    return list(zip(columns.take("I", count), columns.take("q", count), strict=True))


def pack_steps(rows: Sequence[tuple[int, Mapping[int, Action]]], action_bytes: int) -> bytes:
    """Return the payload of STEP. action_bytes: size of an action that is an array; 0 where actions are numbers."""
    actions = [action for _, chosen in rows for action in chosen.values()]
    if action_bytes:
        packed = b"".join(action for action in actions if isinstance(action, bytes))
    else:
        packed = array("q", [action for action in actions if isinstance(action, int)]).tobytes()
    return b"".join(
        (
            _COUNT.pack(len(rows)),
            array("I", [match for match, _ in rows]).tobytes(),
            bytes([len(chosen) for _, chosen in rows]),
            bytes(chain.from_iterable(chosen for _, chosen in rows)),
            packed,
        )
    )


def unpack_steps(payload: bytes, action_bytes: int) -> list[tuple[int, dict[int, Action]]]:
    """Return match and actions by seat of each row. Raises BadFrame."""
    columns = _Columns(payload)
    count = columns.number()
    matches, counts = columns.take("I", count), columns.raw(count)
    total = sum(counts)
    seats = columns.raw(total)
    actions: Sequence[Action]
    if action_bytes:
        data = columns.raw(total * action_bytes)
        actions = [data[start : start + action_bytes] for start in range(0, len(data), action_bytes)]
    else:
        actions = columns.take("q", total)
    rows, position = [], 0
    for match, size in zip(matches, counts, strict=True):
        end = position + size
        rows.append((match, dict(zip(seats[position:end], actions[position:end], strict=True))))
        position = end
    return rows


def pack_states(states: Sequence[State], seats: int) -> bytes:
    """Return the payload of STATES. Observations are raw bytes here."""
    nothing = (0.0,) * seats
    seen = [item for state in states for item in state.seen.items()]
    return b"".join(
        (
            _COUNT.pack(len(states)),
            bytes([state.status for state in states]),
            array("d", chain.from_iterable(state.rewards or nothing for state in states)).tobytes(),
            bytes([state.truncated for state in states]),
            bytes([len(state.to_move) for state in states]),
            bytes(chain.from_iterable(state.to_move for state in states)),
            bytes([len(state.seen) for state in states]),
            bytes([seat for seat, _ in seen]),
            array("I", [len(one.valid_actions) for _, one in seen]).tobytes(),
            array("i", chain.from_iterable(one.valid_actions for _, one in seen)).tobytes(),
            *(bytes(one.observation) for _, one in seen),  # type: ignore[arg-type]  # raw bytes here
            json.dumps([state.message for state in states if state.status]).encode() if _any_status(states) else b"",
        )
    )


def _any_status(states: Sequence[State]) -> bool:
    return any(state.status for state in states)


def unpack_states(payload: bytes, seats: int, observation_bytes: int) -> list[State]:
    """Return the states of all rows. Raises BadFrame."""
    columns = _Columns(payload)
    count = columns.number()
    statuses = columns.raw(count)
    rewards, truncated = columns.take("d", count * seats), columns.raw(count)
    mover_counts = columns.raw(count)
    movers = columns.raw(sum(mover_counts))
    seen_counts = columns.raw(count)
    total = sum(seen_counts)
    seen_seats, valid_counts = columns.raw(total), columns.take("I", total)
    valid = columns.take("i", sum(valid_counts))
    observations = columns.raw(total * observation_bytes)
    messages = iter(_texts(columns.rest())) if any(statuses) else iter(())
    found, mover, seen, at = [], 0, 0, 0
    for row in range(count):
        observed = {}
        for index in range(seen, seen + seen_counts[row]):
            end = at + valid_counts[index]
            start = index * observation_bytes
            observed[seen_seats[index]] = Observation(
                observations[start : start + observation_bytes], tuple(valid[at:end])
            )
            at = end
        seen += seen_counts[row]
        end = mover + mover_counts[row]
        status = statuses[row]
        found.append(
            State(
                status,
                tuple(rewards[row * seats : (row + 1) * seats]),
                bool(truncated[row]),
                tuple(movers[mover:end]),
                observed,
                next(messages, "") if status else "",
            )
        )
        mover = end
    return found


def _texts(payload: bytes) -> list[str]:
    found = unpack_data(payload)
    if not isinstance(found, list):
        raise BadFrame("the messages are no list")
    return [str(one)[:2000] for one in found]


class _Columns:
    """Reads one column after the other."""

    def __init__(self, payload: bytes) -> None:
        self._payload, self._position = payload, 0

    def number(self) -> int:
        """Return the number of rows."""
        return _COUNT.unpack(self.raw(4))[0]  # type: ignore[no-any-return]

    def raw(self, count: int) -> bytes:
        end = self._position + count
        if end > len(self._payload):
            raise BadFrame("a frame ends within a column")
        data = self._payload[self._position : end]
        self._position = end
        return data

    def take(self, code: str, count: int) -> list[Any]:
        column = array(code)
        column.frombytes(self.raw(count * column.itemsize))
        return column.tolist()

    def rest(self) -> bytes:
        return self._payload[self._position :]
