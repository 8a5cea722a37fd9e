"""The frames between the arena and an environment server: columns for many matches, little-endian.

RESET and STEP carry a column per field, and so does the answer, STATES. What is not on the hot path is JSON. Both ends
take nothing for granted: a frame that does not fit raises BadFrame.
"""

from __future__ import annotations

import json
import struct
from array import array
from collections.abc import Mapping, Sequence
from enum import IntEnum
from itertools import chain, islice
from math import isfinite
from typing import Any, NamedTuple

from arena_kit.environment.protocol import Action, Observation
from arena_kit.frames import BadFrame, unpack_data
from arena_kit.older import StrEnum

_COUNT = struct.Struct("<I")
MAX_FRAME_BYTES = 64 << 20
PIECE_BYTES = 1 << 18
"""How much one read takes at most. The buffer of a larger one costs more than reading twice."""
_ALONE = tuple((seat,) for seat in range(256))
_new_tuple = tuple.__new__
"""Makes a named tuple from a tuple of all its values, in a third of the time of an ordinary call."""


class ServerKind(IntEnum):
    """The kind of a frame."""

    RESET = 1
    STEP = 2
    OBSERVE = 3
    FRAME = 4
    DRAW = 5
    DROP = 6
    OPENING = 7
    SOLVE = 8
    STATES = 129
    DATA = 130


class Drawing(StrEnum):
    """The drawings of a state, and the words for a move, that a server can make."""

    PICTURE = "picture"
    HTML = "html"
    HEAD = "head"
    WORDS = "words"


class RowStatus(IntEnum):
    """The outcome of a match's row in RESET or STEP."""

    PLAYED = 0
    ILLEGAL = 1
    OVER = 2
    BROKEN = 3


class SteppedMatch(NamedTuple):
    """One match after a step, or after a reset and its opening, whose rewards are added up.

    seen: by seat, for those that move now, and for all of them after the end.
    """

    status: int
    rewards: tuple[float, ...] = ()
    truncated: bool = False
    to_move: tuple[int, ...] = ()
    seen: Mapping[int, Observation] = {}
    message: str = ""


def pack_resets(rows: Sequence[tuple[int, int, Sequence[int]]]) -> bytes:
    """Return the payload of RESET. rows: match, seed, and the actions of the opening that is played after the reset."""
    matches, seeds, openings = zip(*rows, strict=True)
    return b"".join(
        (
            _COUNT.pack(len(rows)),
            array("I", matches).tobytes(),
            array("q", seeds).tobytes(),
            array("I", map(len, openings)).tobytes(),
            array("q", chain.from_iterable(openings)).tobytes(),
        )
    )


def unpack_resets(payload: bytes) -> list[tuple[int, int, tuple[int, ...]]]:
    """Return match, seed and opening of each row. Raises BadFrame."""
    columns = _Columns(payload)
    count = columns.number()
    matches, seeds, counts = columns.take("I", count), columns.take("q", count), columns.take("I", count)
    actions = iter(columns.take("q", sum(counts)))
    return [
        (match, seed, tuple(islice(actions, size))) for match, seed, size in zip(matches, seeds, counts, strict=True)
    ]


def pack_steps(rows: Sequence[tuple[int, Mapping[int, Action]]], action_bytes: int) -> bytes:
    """Return the payload of STEP. action_bytes: size of an action that is an array; 0 where actions are numbers."""
    actions: list[Any] = [action for _, chosen in rows for action in chosen.values()]
    packed = b"".join(actions) if action_bytes else array("q", actions).tobytes()
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
    if counts == b"\1" * count:
        # Nearly always one seat moves.
        return [(match, {seat: action}) for match, seat, action in zip(matches, seats, actions, strict=True)]
    rows, position = [], 0
    for match, size in zip(matches, counts, strict=True):
        end = position + size
        rows.append((match, dict(zip(seats[position:end], actions[position:end], strict=True))))
        position = end
    return rows


def pack_states(states: Sequence[SteppedMatch], seats: int) -> bytes:
    """Return the payload of STATES. Observations are raw bytes here."""
    nothing = (0.0,) * seats
    statuses, rewards, truncated, to_move, seen, messages = zip(*states, strict=True)
    observed = [one for by_seat in seen for one in by_seat.values()]
    valid = [one.valid_actions for one in observed]
    return b"".join(
        (
            _COUNT.pack(len(states)),
            bytes(statuses),
            array("d", chain.from_iterable([row or nothing for row in rewards])).tobytes(),
            bytes(truncated),
            bytes(map(len, to_move)),
            bytes(chain.from_iterable(to_move)),
            bytes(map(len, seen)),
            bytes(chain.from_iterable(seen)),
            array("I", map(len, valid)).tobytes(),
            array("i", chain.from_iterable(valid)).tobytes(),
            *[one.observation for one in observed],
            _pack_messages(statuses, messages) if any(statuses) else b"",
        )
    )


def _pack_messages(statuses: Sequence[int], messages: Sequence[str]) -> bytes:
    return json.dumps([message for status, message in zip(statuses, messages, strict=True) if status]).encode()


def unpack_states(payload: bytes, seats: int, observation_bytes: int, action_count: int) -> list[SteppedMatch]:
    """Return the states of all rows. Raises BadFrame, also for what no environment may send.

    action_count: 0 where actions are arrays.
    """
    columns = _Columns(payload)
    count = columns.number()
    statuses = columns.raw(count)
    rewards, truncated = columns.take("d", count * seats), columns.raw(count)
    mover_counts = columns.raw(count)
    movers = columns.raw(sum(mover_counts))
    seen_counts = columns.raw(count)
    total = sum(seen_counts)
    seen_seats, valid_counts = columns.raw(total), columns.take("I", total)
    valid = tuple(columns.take("i", sum(valid_counts)))
    observations = columns.raw(total * observation_bytes)
    rest = columns.rest()
    # The server checks the same row by row and reports what is wrong; but what it holds may have changed it.
    if not all(map(isfinite, rewards)):
        raise BadFrame("a reward is not finite")
    if max(movers, default=0) >= seats or max(seen_seats, default=0) >= seats:
        raise BadFrame(f"there are {seats} seats")
    seen = _observations(valid_counts, valid, observations, observation_bytes)
    by_seat = zip(*[iter(rewards)] * seats, strict=True)
    fits = not valid or (min(valid) >= 0 and max(valid) < action_count)
    ones = b"\1" * count
    is_plain = fits and mover_counts == seen_counts == ones and movers == seen_seats and 0 not in valid_counts
    if is_plain and not rest and not any(statuses):
        # Nearly always: every match goes on, and one seat moves.
        return [
            _new_tuple(SteppedMatch, (0, row, ended != 0, _ALONE[seat], {seat: one}, ""))
            for row, ended, seat, one in zip(by_seat, truncated, movers, seen, strict=True)
        ]
    if rest and not any(statuses):
        raise BadFrame("a frame goes on after its last column")
    messages = iter(_texts(rest)) if rest else iter(())
    found, mover, index = [], 0, 0
    for row, status, ended, move_count, seen_count in zip(
        by_seat, statuses, truncated, mover_counts, seen_counts, strict=True
    ):
        to_move = tuple(movers[mover : mover + move_count])
        observed = dict(zip(seen_seats[index : index + seen_count], seen[index : index + seen_count], strict=True))
        mover, index = mover + move_count, index + seen_count
        _check_movers(to_move, observed, action_count)
        found.append(SteppedMatch(status, row, ended != 0, to_move, observed, next(messages, "") if status else ""))
    return found


def _observations(
    valid_counts: Sequence[int], valid: tuple[int, ...], observations: bytes, size: int
) -> list[Observation]:
    found, at, start = [], 0, 0
    for count in valid_counts:
        end, stop = at + count, start + size
        found.append(_new_tuple(Observation, (observations[start:stop], valid[at:end])))
        at, start = end, stop
    return found


def _check_movers(to_move: tuple[int, ...], observed: Mapping[int, Observation], action_count: int) -> None:
    """Raise BadFrame if a seat is to move twice, without an observation, or without an action that it may play."""
    if len(set(to_move)) < len(to_move):
        raise BadFrame("a seat moves twice")
    for seat in to_move:
        if seat not in observed:
            raise BadFrame("a seat moves without an observation")
        valid = observed[seat].valid_actions
        if action_count and not (valid and min(valid) >= 0 and max(valid) < action_count):
            raise BadFrame("a seat moves without a valid action")


def _texts(payload: bytes) -> list[str]:
    found = unpack_data(payload)
    if not isinstance(found, list):
        raise BadFrame("the messages are not a list")
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
