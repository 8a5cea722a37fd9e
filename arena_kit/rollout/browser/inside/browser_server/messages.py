"""The form of orders and answers: one JSON object and, behind it, attachments of bytes. Both sides use this module.

A payload is u32 length, so many bytes of JSON, then the attachments; the object's key `sizes` says how long each is.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from arena_kit.frames import MESSAGE, BadFrame, pack, unpack_data

HEAD_BYTES = 4
MOST_BYTES = 104 << 20
MOST_ATTACHMENTS = 20_000


def encode(message: dict[str, Any], attachments: Sequence[bytes] = ()) -> bytes:
    """Return a frame."""
    text = json.dumps({**message, "sizes": [len(each) for each in attachments]}).encode()
    return pack(MESSAGE, b"".join([len(text).to_bytes(HEAD_BYTES, "little"), text, *attachments]))


def decode(payload: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """Return the object of a payload and its attachments. Raises BadFrame."""
    begin = HEAD_BYTES + int.from_bytes(payload[:HEAD_BYTES], "little")
    message = unpack_data(payload[HEAD_BYTES:begin])
    sizes = message.pop("sizes", None) if isinstance(message, dict) else None
    if not isinstance(sizes, list) or len(sizes) > MOST_ATTACHMENTS:
        raise BadFrame("a message is not an object with the sizes of its attachments")
    if any(type(size) is not int or size < 0 for size in sizes) or begin + sum(sizes) != len(payload):
        raise BadFrame("the attachments of a message do not fit")
    ends = list(accumulate(sizes, initial=begin))
    return message, [payload[start:end] for start, end in pairwise(ends)]
