"""Draws worlds of squares as tiles: FrozenLake, CliffWalking and Taxi. The frames hold them in characters."""

from __future__ import annotations

import re
from collections.abc import Callable

from arena_kit.environment.adapters.picture import WIDTH, with_footer
from arena_kit.environment.adapters.texts import PLAYER
from arena_kit.environment.protocol import Frame
from arena_kit.environment.svg import label

EDGE = 20
GAP = 2
PLACES = {"R": (0, 0), "G": (0, 4), "Y": (4, 0), "B": (4, 3)}
"""The places of Taxi's town, by row and column."""
ERRAND = re.compile(r"The passenger (?:waits at (\w)|is in the taxi) and wants to (\w)\.")


def lake(frame: Frame) -> str:
    """Draw FrozenLake: ice, dark holes, a flag at the goal."""
    grid = [list(line) for line in frame["text"].splitlines()]
    below = ""
    if frame["over"] and frame["return"]:
        below = "G"
    elif frame["over"] and frame.get("truncated") is False:
        # A replay does not say whether the time was over; then nothing is drawn below the player.
        below = "H"
    return _squares(frame, [[below or one if one == PLAYER else one for one in row] for row in grid], grid, _lake_tile)


def cliff(frame: Frame) -> str:
    """Draw CliffWalking: a path, the cliff in red, a flag at the goal."""
    grid = [[one for one in line if one != " "] for line in frame["text"].splitlines()]
    return _squares(frame, grid, grid, _cliff_tile)


def town(frame: Frame) -> str:
    """Draw Taxi: streets with walls, four places, the taxi, the passenger and a ring around the destination."""
    lines = frame["text"].splitlines()
    rows = [line for line in lines if line.startswith("|")]
    size = (WIDTH - 2 * EDGE) / 7
    left = (WIDTH - 5 * size) / 2
    parts = []
    taxi = (0, 0)
    for row, line in enumerate(rows):
        for column in range(5):
            x, y = left + column * size, EDGE + row * size
            parts.append(_tile("cell", x, y, size))
            if line[2 * column + 1] == PLAYER:
                taxi = (row, column)
            if column and line[2 * column] == "|":
                parts.append(f'<path class="ink" d="M{x - 2:.1f} {y:.1f}h4v{size:.1f}h-4z"/>')
    errand = ERRAND.search(lines[-1])
    waits, wanted = errand.groups() if errand else (None, None)
    for name, (row, column) in PLACES.items():
        x, y = left + (column + 0.5) * size, EDGE + (row + 0.5) * size
        parts.append(label(round(x - size * 0.3, 1), round(y - size * 0.2, 1), 14, name, colour="ink"))
        if name == wanted:
            ring = f'cx="{x:.1f}" cy="{y:.1f}" r="{size * 0.42:.1f}"'
            parts.append(f'<circle class="mark" {ring} fill="none" stroke-width="4"/>')
        if name == waits:
            parts.append(f'<circle class="second" cx="{x + size * 0.28:.1f}" cy="{y:.1f}" r="{size * 0.13:.1f}"/>')
    x, y = left + (taxi[1] + 0.5) * size, EDGE + (taxi[0] + 0.5) * size
    parts.append(
        f'<rect class="first" x="{x - size * 0.3:.1f}" y="{y - size * 0.2:.1f}" width="{size * 0.6:.1f}" '
        f'height="{size * 0.4:.1f}" rx="6"/>'
    )
    if waits is None:
        parts.append(f'<circle class="second" cx="{x:.1f}" cy="{y:.1f}" r="{size * 0.13:.1f}"/>')
    return with_footer(frame, parts, round(2 * EDGE + 5 * size), lines[-1])


def _squares(
    frame: Frame, tiles: list[list[str]], grid: list[list[str]], drawn: Callable[[str, float, float, float], list[str]]
) -> str:
    """Draw a grid of tiles with the player on it. tiles: what lies at each place. grid: where the player is."""
    size = min((WIDTH - 2 * EDGE) / max(map(len, grid)), 66.0)
    left = (WIDTH - size * max(map(len, grid))) / 2
    parts = []
    where = ""
    for row, line in enumerate(grid):
        for column, character in enumerate(line):
            x, y = left + column * size, EDGE + row * size
            parts += drawn(tiles[row][column], x, y, size)
            if character == PLAYER:
                where = f"The player is in row {row + 1}, column {column + 1}."
                middle = f'cx="{x + size / 2:.1f}" cy="{y + size / 2:.1f}"'
                parts.append(f'<circle class="first" {middle} r="{size * 0.24:.1f}"/>')
    return with_footer(frame, parts, round(2 * EDGE + len(grid) * size), where)


def _lake_tile(character: str, x: float, y: float, size: float) -> list[str]:
    parts = [_tile("cell", x, y, size)]
    if character == "H":
        middle = f'cx="{x + size / 2:.1f}" cy="{y + size / 2:.1f}"'
        parts.append(f'<circle class="ink" {middle} r="{size * 0.38:.1f}" opacity="0.8"/>')
    if character == "G":
        parts.append(_flag(x, y, size))
    if character == "S":
        parts.append(label(round(x + size / 2, 1), round(y + size * 0.6, 1), 13, "start"))
    return parts


def _cliff_tile(character: str, x: float, y: float, size: float) -> list[str]:
    parts = [_tile("second" if character == "C" else "cell", x, y, size)]
    return [*parts, _flag(x, y, size)] if character == "T" else parts


def _tile(colour: str, x: float, y: float, size: float) -> str:
    side = size - GAP
    return f'<rect class="{colour}" x="{x + 1:.1f}" y="{y + 1:.1f}" width="{side:.1f}" height="{side:.1f}" rx="5"/>'


def _flag(x: float, y: float, size: float) -> str:
    start = f"M{x + size * 0.36:.1f} {y + size * 0.8:.1f}"
    return (
        f'<path class="mark" d="{start}v{-size * 0.6:.1f}l{size * 0.36:.1f} {size * 0.18:.1f}l{-size * 0.36:.1f} '
        f'{size * 0.18:.1f}" fill="none" stroke-width="3"/>'
    )
