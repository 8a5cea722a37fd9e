"""Observations as raw bytes of their wire type."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Sequence

from arena_kit.environment.spec import WIRE_CODES, ArraySpec


def observation_bytes(observation: ArraySpec, values: Sequence[float] | bytes) -> bytes:
    """Return an observation as bytes. Raises struct.error and ValueError for values that do not fit."""
    if isinstance(values, bytes):
        if len(values) != observation.byte_count:
            raise ValueError(f"an observation has {len(values)} bytes, not {observation.byte_count}")
        return values
    return struct.pack(f"<{len(values)}{WIRE_CODES[observation.wire]}", *values)


def packer(observation: ArraySpec) -> Callable[[Sequence[float] | bytes], bytes]:
    """Return `observation_bytes` of one spec, which is fast with arrays of the wire's type, and checks the size."""
    size, code = observation.byte_count, WIRE_CODES[observation.wire]

    def packed(values: Sequence[float] | bytes) -> bytes:
        if type(values) is array and values.typecode == code:
            data = values.tobytes()
        else:
            data = observation_bytes(observation, values)
        if len(data) != size:
            raise ValueError(f"an observation has {len(data)} bytes, not {size}")
        return data

    return packed
