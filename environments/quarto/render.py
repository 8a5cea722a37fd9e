"""Draws a frame of Quarto: the board, the piece in hand and the remaining pieces."""

from __future__ import annotations

from collections.abc import Sequence

from arena_kit.environment.choices import OPPONENT, Choice, Part
from arena_kit.environment.protocol import Frame
from arena_kit.environment.svg import label, result_text, svg

from .words import cell_name, piece_name

KEYS = "1234qwerasdfzxcv"
"""By cell, and by place of a piece that is left: four rows of four keys."""
LIGHT, DARK = 'fill="#f5dcaa" stroke="#8a6426"', 'fill="#7a3f12" stroke="#d19a5c"'
"""How pieces are painted: their colour is a trait, so it differs from the colours of both seats."""


def piece_parts(piece: int, x: float, y: float, size: float) -> list[str]:
    """Draw a piece centred on (x, y). Its bits: 1 is the colour, 2 round or square, 4 large or small, 8 hollow."""
    paint = DARK if piece & 1 else LIGHT
    half = size * (0.42 if piece & 4 else 0.28)
    parts = []
    if piece & 2:
        parts.append(f'<circle {paint} stroke-width="2" cx="{x}" cy="{y}" r="{half:.1f}"/>')
    else:
        parts.append(
            f'<rect {paint} stroke-width="2" x="{x - half:.1f}" y="{y - half:.1f}" width="{2 * half:.1f}" '
            f'height="{2 * half:.1f}" rx="4"/>'
        )
    if piece & 8:
        parts.append(f'<circle class="cell" cx="{x}" cy="{y}" r="{size * 0.13:.1f}"/>')
    return parts


def frame_to_svg(frame: Frame) -> str:
    """Draw the board, and right of it the piece in hand and what is left; free cells have names."""
    parts = ['<rect class="board" width="320" height="320" rx="20"/>']
    recent = (frame["last"], frame["automatic"])
    for cell, piece in enumerate(frame["cells"]):
        x, y = 14 + 74 * (cell % 4), 14 + 74 * (cell // 4)
        tint = "glow" if cell in recent or cell in frame["line"] else "cell"
        parts.append(f'<rect class="{tint}" x="{x}" y="{y}" width="70" height="70" rx="10"/>')
        if cell in frame["line"]:
            parts.append(
                f'<rect class="mark" x="{x + 2.5}" y="{y + 2.5}" width="65" height="65" rx="8" fill="none" '
                'stroke-width="5"/>'
            )
        if piece >= 0:
            parts += piece_parts(piece, x + 35, y + 35, 62)
        else:
            parts.append(label(x + 12, y + 63, 11, cell_name(cell)))
    parts.append(label(340, 24, 14, "In hand", anchor="start"))
    if frame["hand"] is not None:
        parts += piece_parts(frame["hand"], 372, 66, 64)
        size, colour, inside, shape = piece_name(frame["hand"]).split()
        parts.append(label(412, 62, 14, f"{size} {colour}", anchor="start"))
        parts.append(label(412, 80, 14, f"{inside} {shape}", anchor="start"))
    parts.append(label(340, 128, 14, "Left", anchor="start"))
    for index, piece in enumerate(frame["reserve"]):
        parts += piece_parts(piece, 356 + 44 * (index % 4), 156 + 44 * (index // 4), 40)
    description = result_text(frame, ("The first seat", "The second seat"))
    return svg(530, 320, "Quarto board", parts, description=description)


def actions_for_people(frame: Frame, valid_actions: Sequence[int]) -> list[Choice]:
    """Return the actions as two decisions: the cell for the piece in hand, and the piece for the other seat.

    Keys lie on the keyboard as the cells on the board, and as the pieces that are left beside it.
    """
    cells = {cell: _cell_part(cell, piece_name(frame["hand"])) for cell in {action >> 4 for action in valid_actions}}
    pieces = {piece: _piece_part(piece, place) for place, piece in enumerate(frame["reserve"])}
    return [Choice(action, (cells[action >> 4], pieces[action & 15])) for action in valid_actions]


def _cell_part(cell: int, hand: str) -> Part:
    row, column = divmod(cell, 4)
    area = (14.0 + 74 * column, 14.0 + 74 * row, 70.0, 70.0)
    request = f"Choose a cell for the piece in hand, the {hand}."
    return Part(str(cell), f"Cell {cell_name(cell)}", KEYS[cell], area, request)


def _piece_part(piece: int, place: int) -> Part:
    """place: among the pieces that are left."""
    row, column = divmod(place, 4)
    area = (334.0 + 44 * column, 134.0 + 44 * row, 44.0, 44.0)
    picture = svg(44, 44, piece_name(piece), piece_parts(piece, 22, 22, 44))
    request = f"Choose the piece that {OPPONENT} must place."
    return Part(str(piece), piece_name(piece), KEYS[place], area, request, picture)
