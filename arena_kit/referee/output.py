"""The output of a player during each move of a match, and what it raised, from its log.

The player server marks the output (`arena_kit.sandbox.inside.player_server.printing`). A player can forge the marks, so
what is found here is for people who may read the whole log.
"""

from __future__ import annotations

import re

MARK = re.compile(r"\[match (\d{1,9}), (?:move (\d{1,9})|(end))\]")
OTHER = re.compile(r"\[(?:match \d{1,9}\] |the player was started again\]|\d+ bytes cut\]|cut\])")
"""The beginning of a line of the arena's own: what follows belongs to no move."""
END = -1
MOST_CHARACTERS = 4000
"""The most that is shown of one move, or of one traceback."""
CUT = "\n[cut]"


def printed_in(log: str, match: int) -> dict[int, str]:
    """Return what a player printed in a match: by its own move, counted from 0, and by END for what its `end` printed.

    What it printed in several containers for the same move follows each other.
    """
    found: dict[int, list[str]] = {}
    lines: list[str] | None = None
    for line in log.split("\n"):
        if marked := MARK.fullmatch(line):
            place = END if marked[3] else int(marked[2]) - 1
            lines = found.setdefault(place, []) if int(marked[1]) == match else None
        elif OTHER.match(line):
            lines = None
        elif lines is not None:
            lines.append(line)
    texts = {place: "\n".join(lines).rstrip() for place, lines in found.items()}
    return {
        place: text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + CUT
        for place, text in texts.items()
        if text
    }


def trace_in(log: str, match: int) -> str:
    """Return the traceback of the exception that ended a match, without the sentence before it; "" if there is none.

    The referee writes it below all that the player printed (`PlayerLink.keep_trace`), so the last one counts.
    """
    lines: list[str] | None = None
    last: list[str] = []
    for line in log.split("\n"):
        if line.startswith(f"[match {match}] "):
            last = lines = []
        elif MARK.fullmatch(line) or OTHER.match(line):
            lines = None
        elif lines is not None:
            lines.append(line)
    text = "\n".join(last).strip("\n")
    return text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + CUT
