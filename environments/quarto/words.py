"""Pieces, cells and moves of Quarto in words."""

from __future__ import annotations

from collections.abc import Iterable

from arena_kit.environment.protocol import Frame

TRAITS = (("light", "dark"), ("square", "round"), ("small", "large"), ("solid", "hollow"))
"""By bit of a piece, from the lowest: the trait without it, and with it."""


def cell_name(cell: int) -> str:
    """Return the name of a cell: a letter for its column, and a number for its row from the top."""
    return f"{'abcd'[cell % 4]}{cell // 4 + 1}"


def piece_name(piece: int) -> str:
    """Return the four traits of a piece, e.g. `small dark hollow round`."""
    colour, shape, size, inside = (TRAITS[bit][piece >> bit & 1] for bit in range(4))
    return f"{size} {colour} {inside} {shape}"


def pieces_by_look(pieces: Iterable[int]) -> list[str]:
    """Return the pieces in lines, one for each size and colour, e.g. `small dark: solid square, solid round.`"""
    groups: dict[str, list[str]] = {}
    for piece in sorted(pieces, key=lambda piece: (piece & 4, piece & 1, piece & 2, piece & 8)):
        size, colour, *rest = piece_name(piece).split()
        groups.setdefault(f"{size} {colour}", []).append(" ".join(rest))
    return [f"{look}: {', '.join(rest)}." for look, rest in groups.items()]


def move(frame: Frame, action: int) -> str:
    """Return where a move puts the piece in hand, and which piece it hands over."""
    cell, piece = action >> 4, action & 15
    return f"the {piece_name(frame['hand'])} on {cell_name(cell)}, handing over the {piece_name(piece)}"
