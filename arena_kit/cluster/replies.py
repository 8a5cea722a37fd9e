"""Reads the answers of a cluster's API, which may be slow, broken or silent about what it has left out."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

PIECE_BYTES = 1 << 16
NEVER_DROPPED = (("suspend",), ("template", "spec", "hostUsers"), ("template", "spec", "runtimeClassName"))
"""Fields of a Job without which no lot is played that asks for them."""


def body_of(response: Any, seconds: float) -> bytes:
    """Read an answer to its end. Raises TimeoutError: a connection's own time-out begins anew with every byte."""
    until, pieces = time.monotonic() + seconds, []
    while piece := response.read1(PIECE_BYTES):
        pieces.append(piece)
        if time.monotonic() > until:
            response.close()
            raise TimeoutError
    return b"".join(pieces)


def dropped_of(asked: Mapping[str, Any], made: Mapping[str, Any]) -> list[str]:
    """Return the fields of NEVER_DROPPED that a cluster has left out of a Job, as it does with what it cannot do."""
    return [path[-1] for path in NEVER_DROPPED if _at(asked, path) is not None and _at(made, path) is None]


def message_of(body: object) -> str:
    """Return the sentence in an answer of the API."""
    try:
        return " ".join(str(json.loads(str(body))["message"]).split())[:300]
    except (ValueError, KeyError, TypeError):
        return "it does not say why."


def reason_of(body: object) -> str:
    """Return the reason in an answer of the API: at a quota, a conflict has another than for a name that is taken."""
    try:
        return str(json.loads(str(body))["reason"])
    except (ValueError, KeyError, TypeError):
        return ""


def silence_of(error: BaseException) -> str:
    """Return a sentence about an API that does not answer, or not as it should."""
    status = getattr(error, "status", None)
    why = f"status {status}" if status else type(error).__name__
    return f"The cluster's API does not answer well ({why})."


def _at(job: Mapping[str, Any], path: Sequence[str]) -> object:
    """Return a field of a Job's specification, None if it is not there."""
    found: Any = job.get("spec")
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found
