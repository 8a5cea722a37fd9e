"""The referee's log of a duel: short lines, and not too many."""

from __future__ import annotations

LINE_CHARACTERS = 500
MAX_LINES = 200


class Notes:
    """Lines of the referee; those beyond MAX_LINES are dropped, and the last line notes it."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, line: str) -> None:
        """Add one line, with its white space and line ends made single spaces."""
        if len(self.lines) < MAX_LINES:
            self.lines.append(" ".join(line.split())[:LINE_CHARACTERS])
        elif len(self.lines) == MAX_LINES:
            self.lines.append("Further lines were dropped.")
