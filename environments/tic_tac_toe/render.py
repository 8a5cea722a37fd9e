"""Draws a frame of tic-tac-toe."""

from __future__ import annotations

from collections.abc import Sequence

from arena_kit.environment.choices import Choice, Part
from arena_kit.environment.protocol import Frame
from arena_kit.environment.svg import label, result_text, svg

from .words import CELLS


def frame_to_svg(frame: Frame) -> str:
    """Draw the board; the last cell is tinted, a winning line is struck through, and empty cells show their action."""
    parts = ['<rect class="board" width="320" height="320" rx="20"/>']
    for cell, mark in enumerate(frame["cells"]):
        x, y = 16 + 98 * (cell % 3), 16 + 98 * (cell // 3)
        tint = "glow" if cell == frame["last"] else "cell"
        parts.append(f'<rect class="{tint}" x="{x}" y="{y}" width="92" height="92" rx="12"/>')
        if mark == 1:
            parts.append(
                f'<path class="stroke-first" d="M{x + 26} {y + 26}l40 40m0 -40l-40 40" fill="none" '
                'stroke-width="11" stroke-linecap="round"/>'
            )
        elif mark == -1:
            parts.append(
                f'<circle class="stroke-second" cx="{x + 46}" cy="{y + 46}" r="23" fill="none" stroke-width="11"/>'
            )
        else:
            parts.append(label(x + 80, y + 84, 12, str(cell)))
    if frame["line"]:
        first, last = frame["line"][0], frame["line"][-1]
        x1, y1, x2, y2 = (62 + 98 * value for value in (first % 3, first // 3, last % 3, last // 3))
        parts.append(
            f'<path class="mark" d="M{x1} {y1}L{x2} {y2}" stroke-width="8" stroke-linecap="round" opacity=".9"/>'
        )
    return svg(320, 320, "Tic-tac-toe board", parts, description=result_text(frame, ("X", "O")))


def actions_for_people(frame: Frame, valid_actions: Sequence[int]) -> list[Choice]:
    """Return the cells: a key with their number, and their place on the board."""
    choices = []
    for cell in valid_actions:
        row, column = divmod(cell, 3)
        name = CELLS[cell].capitalize()
        choices.append(Choice(cell, (Part(str(cell), name, str(cell), (16 + 98 * column, 16 + 98 * row, 92, 92)),)))
    return choices
