"""Observations as raw bytes of their wire type."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from arena_kit.environment.spec import WIRE_CODES, ArraySpec


def observation_bytes(observation: ArraySpec, values: Sequence[float] | bytes) -> bytes:
    """Return an observation as bytes. Raises struct.error and ValueError for values that do not fit."""
    if isinstance(values, bytes):
        if len(values) != observation.byte_count:
            raise ValueError(f"an observation has {len(values)} bytes, not {observation.byte_count}")
        return values
    return struct.pack(f"<{len(values)}{WIRE_CODES[observation.wire]}", *values)
