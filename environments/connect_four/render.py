"""Draws a frame of Connect Four."""

from __future__ import annotations

from collections.abc import Sequence

from arena_kit.environment.choices import Choice, Part
from arena_kit.environment.protocol import Frame
from arena_kit.environment.svg import label, result_text, svg


def frame_to_svg(frame: Frame) -> str:
    """Draw the board with the numbers of its columns; winning pieces have a golden rim, the last one a golden ring."""
    parts = ['<rect class="board" width="440" height="380" rx="20"/>']
    marked = set(frame["line"])
    for cell, mark in enumerate(frame["cells"]):
        x, y = 40 + 60 * (cell % 7), 40 + 60 * (cell // 7)
        colour = {0: "cell", 1: "first", -1: "second"}[mark]
        parts.append(f'<circle class="{colour}" cx="{x}" cy="{y}" r="25"/>')
        if mark:
            parts.append(f'<circle class="rim" cx="{x}" cy="{y}" r="17" fill="none" stroke-width="3"/>')
        if cell in marked:
            parts.append(f'<circle class="mark" cx="{x}" cy="{y}" r="23" fill="none" stroke-width="6"/>')
        if cell == frame["last"]:
            parts.append(f'<circle class="mark" cx="{x}" cy="{y}" r="8" fill="none" stroke-width="4"/>')
    parts += [label(40 + 60 * column, 402, 15, str(column)) for column in range(7)]
    seats = ("The first seat", "The second seat")
    return svg(440, 412, "Connect Four board", parts, description=result_text(frame, seats))


def actions_for_people(frame: Frame, valid_actions: Sequence[int]) -> list[Choice]:
    """Return the columns: a key with their number, and their place on the board."""
    areas = {column: (10.0 + 60 * column, 0.0, 60.0, 412.0) for column in valid_actions}
    return [
        Choice(column, (Part(str(column), f"Column {column}", str(column), area),)) for column, area in areas.items()
    ]
