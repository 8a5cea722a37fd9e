"""Picture of a Connect Four frame."""

from __future__ import annotations

from environments.api import Frame
from environments.svg import svg


def frame_to_svg(frame: Frame) -> str:
    """A 6 x 7 board; the last piece and the winning line wear a golden ring."""
    parts = ['<rect class="board" width="440" height="380" rx="20"/>']
    marked = set(frame["line"])
    for cell, mark in enumerate(frame["cells"]):
        x, y = 40 + 60 * (cell % 7), 40 + 60 * (cell // 7)
        colour = {0: "cell", 1: "first", -1: "second"}[mark]
        parts.append(f'<circle class="{colour}" cx="{x}" cy="{y}" r="24"/>')
        if cell in marked:
            parts.append(f'<circle class="mark" cx="{x}" cy="{y}" r="22" fill="none" stroke-width="6"/>')
        elif cell == frame["last"]:
            parts.append(f'<circle class="mark" cx="{x}" cy="{y}" r="9" fill="none" stroke-width="4"/>')
    return svg(440, 380, "Connect Four board", parts)
