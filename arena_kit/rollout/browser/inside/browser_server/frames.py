"""The form of orders and answers: one JSON object and, behind it, attachments of bytes. Both sides use this module.

A frame is u32 length, so many bytes of JSON, then the attachments; the object's key `sizes` says how long each is. All
numbers are little-endian.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

HEAD_BYTES = 4
MOST_JSON_BYTES = 8 << 20
MOST_ATTACHED_BYTES = 96 << 20
MOST_ATTACHMENTS = 20_000


class BadFrame(Exception):
    """What came is not in the form of a frame. The message is a sentence."""


def encode(message: dict[str, Any], attachments: Sequence[bytes] = ()) -> bytes:
    """Return a frame."""
    text = json.dumps({**message, "sizes": [len(each) for each in attachments]}).encode()
    return b"".join([len(text).to_bytes(HEAD_BYTES, "little"), text, *attachments])


def json_length(head: bytes) -> int:
    """Return how long the JSON of a frame is. Raises BadFrame."""
    length = int.from_bytes(head, "little")
    if not 2 <= length <= MOST_JSON_BYTES:
        raise BadFrame(f"A frame announces {length:,} bytes of JSON.")
    return length


def decode(text: bytes) -> tuple[dict[str, Any], tuple[int, ...]]:
    """Return the object of a frame and the lengths of its attachments. Raises BadFrame."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        raise BadFrame("A frame is not JSON.") from None
    sizes = message.pop("sizes", None) if isinstance(message, dict) else None
    if not isinstance(sizes, list) or len(sizes) > MOST_ATTACHMENTS:
        raise BadFrame("A frame is not an object with the sizes of its attachments.")
    if any(type(size) is not int or size < 0 for size in sizes) or sum(sizes) > MOST_ATTACHED_BYTES:
        raise BadFrame("A frame announces impossible attachments.")
    return message, tuple(sizes)
