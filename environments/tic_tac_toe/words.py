"""Moves of tic-tac-toe in words."""

from __future__ import annotations

from arena_kit.environment.protocol import Frame

CELLS = (
    "top left",
    "top middle",
    "top right",
    "middle left",
    "centre",
    "middle right",
    "bottom left",
    "bottom middle",
    "bottom right",
)


def move(frame: Frame, action: int) -> str:
    """Return the name of the cell that a move marks."""
    return CELLS[action]
