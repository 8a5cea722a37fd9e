"""Draws a frame of a Gymnasium environment: its picture in characters where it has one, otherwise bars."""

from __future__ import annotations

import re
from html import escape
from itertools import takewhile

from arena_kit.environment.adapters.texts import PLAYER, number
from arena_kit.environment.protocol import Frame
from arena_kit.environment.svg import label, svg

WIDTH = 440
MOST_BARS = 24
ACTION_CHARACTERS = 34
"""A longer action is cut to this length to fit beside the return; the picture's description has all of it."""
SENTENCE = re.compile(r"[A-Z][a-z]+ .*\.")
"""Matches the sentences below a picture in characters, but not its rows, which may hold full stops."""
ROW = 26
MIDDLE, HALF = 256, 80
"""The x coordinate of all bars' zero, and the length of the longest bar to either side."""


def frame_to_svg(frame: Frame) -> str:
    """Draw a board of characters or a bar for each of the first values, with the last action and the return below."""
    return with_footer(frame, *(_text(frame["text"]) if "text" in frame else _bars(frame)))


def with_footer(frame: Frame, parts: list[str], height: int, description: str) -> str:
    """Return the picture of a state, WIDTH wide, with the last action and the return below. height: of the parts."""
    parts.insert(0, f'<rect class="board" width="{WIDTH}" height="{height + 44}" rx="20"/>')
    action = "Start" if frame["action"] is None else f"Step {frame['step']}: {_shown(frame['action'])}"
    line = action if len(action) <= ACTION_CHARACTERS else f"{action[: ACTION_CHARACTERS - 1]}…"
    parts.append(label(24, height + 24, 14, line, anchor="start"))
    parts.append(label(WIDTH - 24, height + 24, 14, f"return {number(frame['return'])}", anchor="end", colour="ink"))
    end = " The episode is over." if frame["over"] else ""
    described = f"{action}. Return {number(frame['return'])}.{end} {description}"
    return svg(WIDTH, height + 44, "State of the episode", parts, description=described)


def _text(text: str) -> tuple[list[str], int, str]:
    """Place each character by itself, so that columns line up in any font; put the sentences below the grid."""
    lines = text.splitlines()
    said = len(list(takewhile(SENTENCE.fullmatch, reversed(lines))))
    grid = lines[: len(lines) - said]
    columns = max(map(len, grid), default=1)
    step = min(32.0, (WIDTH - 56) / columns)
    left, size = (WIDTH - step * columns) / 2, round(min(22.0, step * 1.5))
    row = max(step, size + 6)
    height = round(40 + row * len(grid))
    parts = [f'<rect class="cell" x="14" y="14" width="{WIDTH - 28}" height="{height - 28}" rx="10"/>']
    for index, line in enumerate(grid):
        y = 20 + row * (index + 0.5)
        for column, character in enumerate(line):
            x = left + step * (column + 0.5)
            if character == PLAYER:
                parts.append(f'<circle class="first" cx="{x:.1f}" cy="{y:.1f}" r="{min(row, step) * 0.42 + 2:.1f}"/>')
            elif character != " ":
                parts.append(
                    f'<text class="ink mono" x="{x:.1f}" y="{y + size * 0.35:.1f}" font-size="{size}" '
                    f'text-anchor="middle">{escape(character)}</text>'
                )
    for sentence in lines[len(grid) :]:
        parts.append(label(WIDTH / 2, height + 2, 14, sentence))
        height += 22
    return parts, height, "\n".join(lines)


def _bars(frame: Frame) -> tuple[list[str], int, str]:
    """Draw a row for each value: its name, a bar from the middle and the number.

    A bar's length is |x| / (1 + |x|) of the longest, so that every finite value fits without known bounds.
    """
    values = frame["observation"][:MOST_BARS]
    names = frame["names"] or [str(index) for index in range(len(values))]
    height = 28 + ROW * len(values)
    parts = [f'<rect class="cell" x="14" y="14" width="{WIDTH - 28}" height="{height - 14}" rx="10"/>']
    told = []
    for index, (name, value) in enumerate(zip(names, values, strict=False)):
        y = 20 + ROW * index
        shown = number(value)
        told.append(f"{name}: {shown}")
        parts.append(label(MIDDLE - HALF - 10, y + 18, 14, name, anchor="end"))
        parts.append(f'<rect class="board" x="{MIDDLE - HALF}" y="{y + 5}" width="{2 * HALF}" height="16" rx="4"/>')
        if value:
            length = HALF * abs(value) / (1 + abs(value))
            colour, x = ("first", MIDDLE) if value > 0 else ("second", MIDDLE - length)
            parts.append(f'<rect class="{colour}" x="{x:.1f}" y="{y + 5}" width="{length:.1f}" height="16"/>')
        parts.append(label(WIDTH - 24, y + 18, 14, shown, anchor="end", colour="ink"))
    if (left_out := frame["size"] - len(values)) > 0:
        parts.append(label(WIDTH / 2, height + 18, 13, f"and {left_out} more values"))
        told.append(f"and {left_out} more values")
        height += 26
    return parts, height, ", ".join(told) + "."


def _shown(action: str | int | list[float | None]) -> str:
    if not isinstance(action, list):
        return str(action)
    return ", ".join(number(value) for value in action)
