"""Values of agents and pages as a database can hold them: an agent must not be able to make a result unwritable."""

from __future__ import annotations

import math
from typing import Any

MOST_DEPTH = 40
MOST_DIGITS = 300
CUT = "…"


def storable(value: Any, *, depth: int = 0) -> Any:
    """Return a value as JSON that every database accepts: no NUL, no halves of surrogate pairs, no infinite numbers.

    What is nested deeper than MOST_DEPTH, and whole numbers with more than MOST_DIGITS digits, are cut.
    """
    match value:
        case str():
            return storable_text(value)
        case bool() | None:
            return value
        case int():
            return value if value.bit_length() <= MOST_DIGITS * 3 else CUT
        case float():
            return value if math.isfinite(value) else str(value)
    if depth >= MOST_DEPTH:
        return CUT
    if isinstance(value, dict):
        return {storable_text(str(name)): storable(each, depth=depth + 1) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [storable(each, depth=depth + 1) for each in value]
    return storable_text(str(value))


def storable_text(text: str) -> str:
    """Return a text without NUL and halves of surrogate pairs."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")
