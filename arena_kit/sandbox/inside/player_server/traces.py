"""Tracebacks of a player's errors from its own files on: the frames of this server above them help no author."""

from __future__ import annotations

import os
import traceback
from types import TracebackType

SERVER = os.path.dirname(os.path.abspath(__file__)) + os.sep
FIRST, LAST = 3, 6
"""The frames that are kept of a long traceback: those of the player's own files, and where it ended."""


def traced(error: BaseException) -> str:
    """Return an error with its traceback, from the first frame of the player's own files on.

    An error of this server about a player has no such frame, and is its message alone.
    """
    own: TracebackType | None = error.__traceback__
    while own is not None and _is_ours(own.tb_frame.f_code.co_filename):
        own = own.tb_next
    if own is None and error.__traceback__ is not None and isinstance(error, RuntimeError):
        return f"{error}\n"
    told = traceback.TracebackException(type(error), error, own)
    if len(told.stack) > FIRST + LAST:
        told.stack[FIRST:-LAST] = []
    return "".join(told.format())


def _is_ours(name: str) -> bool:
    return name.startswith((SERVER, "<frozen importlib"))
