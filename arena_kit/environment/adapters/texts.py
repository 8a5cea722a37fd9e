"""Turns the coloured text pictures that Gymnasium makes for terminals into plain text; characters and words replace
colours."""

from __future__ import annotations

import re
from collections.abc import Sequence

PLAYER = "@"
"""Marks the character whose background Gymnasium colours, which is where the player is."""

_HIGHLIGHTED = re.compile(r"\x1b\[[\d;]*\b4\d[\d;]*m(.)\x1b\[0m")
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_ACTION_LINE = re.compile(r"^\s*\(\w+\)\s*$")


def number(value: float | None) -> str:
    """Write a whole number in full and any other with four digits; None stands for a value that is not finite."""
    if value is None:
        return "not finite"
    return f"{value:.0f}" if value % 1 == 0 and abs(value) < 1e9 else f"{value:.4g}"


def plain(painted: str) -> str:
    """Return a text picture without escape codes, blank lines and the last action's name, which frames hold anyway."""
    text = _COLOUR.sub("", _HIGHLIGHTED.sub(PLAYER, painted))
    lines = [line.rstrip() for line in text.splitlines()]
    return "\n".join(line for line in lines if line and not _ACTION_LINE.match(line))


def explained(name: str, painted: str, observation: Sequence[float]) -> str:
    """Return the picture as `plain` does, with its colours' meaning in words.

    name: the environment's name without its version.
    """
    text = plain(painted)
    if name == "CliffWalking":
        text = text.replace("x", PLAYER)
    return f"{text}\n{_taxi(observation)}" if name == "Taxi" else text


def _taxi(observation: Sequence[float]) -> str:
    """Return a sentence about the passenger; the state is ((row * 5 + column) * 5 + passenger) * 4 + destination."""
    state = int(observation[0])
    passenger = ("waits at R", "waits at G", "waits at Y", "waits at B", "is in the taxi")[state // 4 % 5]
    return f"The passenger {passenger} and wants to {'RGYB'[state % 4]}."
