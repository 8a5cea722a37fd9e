"""The changes of a text between two versions, line by line. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher

MOST_LINES = 3_000
"""Longer texts are not compared: the time grows with the square of the lines at worst."""
MOST_PAIRS = 5_000
"""About how many pairs of equal lines are looked at. Lines that stand too often for that, such as blank ones, count as
equal only beside other equal ones. The time grows with the lines times the pairs at worst: a second."""
AROUND = 3
"""Unchanged lines that are shown before and after a change."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a comparison. sign: +, − or a space; … for lines that are left out. number: in its version."""

    sign: str
    number: int
    text: str


def changes(old: str, new: str) -> tuple[Line, ...] | None:
    """Return the changed lines with some around them; empty for equal texts, None for texts that are too long."""
    before, after = old.splitlines(), new.splitlines()
    if max(len(before), len(after)) > MOST_LINES:
        return None
    found: list[Line] = []
    counts = Counter(after)
    often = max(1, MOST_PAIRS // max(len(before), len(after), 1))
    matcher = SequenceMatcher(lambda line: counts[line] > often, before, after, autojunk=True)
    for group in matcher.get_grouped_opcodes(AROUND):
        if found or group[0][1] or group[0][3]:
            found.append(Line("…", group[0][3] + 1, ""))
        for kind, start, end, begin, stop in group:
            if kind == "equal":
                found += [Line(" ", number + 1, after[number]) for number in range(begin, stop)]
                continue
            found += [Line("−", number + 1, before[number]) for number in range(start, end)]
            found += [Line("+", number + 1, after[number]) for number in range(begin, stop)]
    return tuple(found)
