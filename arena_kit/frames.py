"""The one framing of every wire: u32 length of the rest, u8 kind, payload; little-endian.

Both ends take nothing for granted: bytes that are no frame raise BadFrame. The file is copied into containers beside
the servers that run there, so it needs only the standard library of Python 3.8.
"""

from __future__ import annotations

import json
import struct
from typing import Any

HEAD = struct.Struct("<IB")
_head_at = HEAD.unpack_from
MESSAGE = 1
"""The kind of frame on a wire that carries only JSON."""


class BadFrame(Exception):
    """Bytes are no frame, or a frame does not fit its kind. length: the one that a frame may not announce."""

    def __init__(self, message: str, *, length: int | None = None) -> None:
        super().__init__(message)
        self.length = length


def pack(kind: int, payload: bytes = b"") -> bytes:
    """Return a frame."""
    return HEAD.pack(len(payload) + 1, kind) + payload


def pack_data(kind: int, data: object) -> bytes:
    """Return a frame whose payload is JSON."""
    return pack(kind, json.dumps(data, allow_nan=False).encode())


def unpack_data(payload: bytes) -> Any:
    """Return the JSON of a payload. Raises BadFrame."""
    try:
        return json.loads(payload)
    except (ValueError, RecursionError):
        raise BadFrame("a payload is not JSON") from None


def frame_at(data: bytes | bytearray, position: int, most_bytes: int) -> tuple[int, bytes, int] | None:
    """Return kind, payload and end of the frame at a position, or None while it is not whole. Raises BadFrame.

    most_bytes: the largest length that a frame may announce, which is checked before its payload arrives.
    """
    whole = len(data)
    if whole - position < 5:
        return None
    length, kind = _head_at(data, position)
    if not 0 < length <= most_bytes:
        raise BadFrame(f"a frame announces {length} bytes", length=length)
    end = position + 4 + length
    return (kind, bytes(data[position + 5 : end]), end) if end <= whole else None


class Splitter:
    """Splits what arrives on a wire into frames, and holds what arrived of those that are not whole."""

    def __init__(self, most_bytes: int) -> None:
        """most_bytes: as for `frame_at`."""
        self._most_bytes = most_bytes
        self._held: bytes | bytearray = b""
        self._position = 0

    @property
    def is_empty(self) -> bool:
        """Return whether every byte that arrived belongs to a frame that was taken."""
        return not self._held

    def feed(self, data: bytes) -> None:
        """Add bytes that have arrived."""
        if not self._held:
            self._held = data
            return
        if self._position or isinstance(self._held, bytes):
            # A bytearray, because a large frame arrives in hundreds of pieces.
            self._held, self._position = bytearray(self._held[self._position :]), 0
        self._held += data

    def take(self) -> tuple[int, bytes] | None:
        """Return kind and payload of the next whole frame, or None until more arrives. Raises BadFrame."""
        found = frame_at(self._held, self._position, self._most_bytes)
        if found is None:
            return None
        kind, payload, end = found
        if end == len(self._held):
            self._held, end = b"", 0
        self._position = end
        return kind, payload
