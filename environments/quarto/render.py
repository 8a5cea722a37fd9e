"""Picture of a Quarto frame: board, piece in hand and pieces left."""

from __future__ import annotations

from environments.api import Frame
from environments.svg import svg


def piece_parts(piece: int, x: float, y: float, size: float) -> list[str]:
    """One piece centred on (x, y). Its traits by bit: 1 colour, 2 round or square, 4 tall or short, 8 hollow or solid."""
    colour = "second" if piece & 1 else "first"
    half = size * (0.42 if piece & 4 else 0.28)
    parts = []
    if piece & 2:
        parts.append(f'<circle class="{colour}" cx="{x}" cy="{y}" r="{half:.1f}"/>')
    else:
        parts.append(
            f'<rect class="{colour}" x="{x - half:.1f}" y="{y - half:.1f}" width="{2 * half:.1f}" '
            f'height="{2 * half:.1f}" rx="4"/>'
        )
    if piece & 8:
        parts.append(f'<circle class="cell" cx="{x}" cy="{y}" r="{size * 0.13:.1f}"/>')
    return parts


def frame_to_svg(frame: Frame) -> str:
    """A 4 x 4 board on the left, the piece in hand and the reserve on the right."""
    parts = ['<rect class="board" width="320" height="320" rx="20"/>']
    for cell, piece in enumerate(frame["cells"]):
        x, y = 14 + 74 * (cell % 4), 14 + 74 * (cell // 4)
        tint = "glow" if cell == frame["last"] or cell in frame["line"] else "cell"
        parts.append(f'<rect class="{tint}" x="{x}" y="{y}" width="70" height="70" rx="10"/>')
        if cell in frame["line"]:
            parts.append(
                f'<rect class="mark" x="{x + 3}" y="{y + 3}" width="64" height="64" rx="8" fill="none" '
                'stroke-width="5"/>'
            )
        if piece >= 0:
            parts += piece_parts(piece, x + 35, y + 35, 70)
    parts.append('<text class="muted" x="340" y="24" font-size="14">In hand</text>')
    if frame["hand"] >= 0:
        parts += piece_parts(frame["hand"], 372, 66, 64)
    parts.append('<text class="muted" x="340" y="128" font-size="14">Left</text>')
    for index, piece in enumerate(frame["reserve"]):
        parts += piece_parts(piece, 356 + 44 * (index % 4), 156 + 44 * (index // 4), 40)
    return svg(530, 320, "Quarto board", parts)
