"""Moves of Connect Four in words."""

from __future__ import annotations

from arena_kit.environment.protocol import Frame


def move(frame: Frame, action: int) -> str:
    """Return the column of a move, by the number that the board shows."""
    return f"column {action}"
