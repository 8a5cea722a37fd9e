"""Marks what a player prints with the match and the move during which it is printed, and keeps both ends of it.

The marks are for the owner's eyes. A player that writes such a line itself, or writes past these streams, misleads its
owner alone.
"""

from __future__ import annotations

import contextlib
import io
import sys
from typing import Any


class Answering:
    """The question that is being answered. at: its match, and its sequence, which is -1 for END; None before any."""

    __slots__ = ("at", "marked", "newline")

    def __init__(self) -> None:
        self.at: Any = None
        self.marked: Any = None
        """The last place that was marked in the output."""
        self.newline = True
        """Whether the output is at the beginning of a line."""


place = Answering()
"""The marks of the process's only duel. The server sets `at` before each question, which is all that it costs if
nothing is printed."""


class Marked(io.TextIOWrapper):
    """A text stream that begins the output of every question with a line that names it."""

    def write(self, text: str) -> int:
        at = place.at
        if at is not place.marked and text:
            place.marked = at
            super().write(mark(*at) if place.newline else "\n" + mark(*at))
        if text:
            place.newline = text[-1:] == "\n"
        return super().write(text)


def mark(match: int, sequence: int) -> str:
    """Return the line that names a question; moves are those of the player, from 1."""
    return f"[match {match}, {'end' if sequence < 0 else f'move {sequence + 1}'}]\n"


def install() -> None:
    """Mark what is written to the standard streams from now on; code that has kept one of them writes unmarked."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        # A stream may be missing. Its own buffer is not used: it was made for the file that was there before the pipe
        # to the supervisor. Nothing is held back, so both streams keep their order, also when the player is killed.
        with contextlib.suppress(AttributeError, ValueError, OSError):
            stream.flush()
            file = io.FileIO(stream.fileno(), "w", closefd=False)
            marked = Marked(file, stream.encoding, stream.errors, write_through=True)
            setattr(sys, name, marked)
            setattr(sys, f"__{name}__", marked)


class Log:
    """The first and the last bytes of the output."""

    def __init__(self, limit: int) -> None:
        self._limit, self._head, self._tail, self._cut = limit, b"", b"", 0

    def copy(self) -> Log:
        twin = Log(self._limit)
        twin.__dict__.update(self.__dict__)
        return twin

    def add(self, data: bytes) -> None:
        room = self._limit // 2 - len(self._head)
        self._head += data[:room]
        tail = self._tail + data[room:]
        kept = self._limit - self._limit // 2
        self._cut += max(0, len(tail) - kept)
        self._tail = tail[-kept:] if kept else b""

    def text(self) -> str:
        mark = b"\n[%d bytes cut]\n" % self._cut if self._cut else b""
        return (self._head + mark + self._tail).decode("utf-8", "replace")
