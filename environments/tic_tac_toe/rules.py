"""The rules of tic-tac-toe on nine cells: 0 empty, 1 first seat, -1 second seat."""

from __future__ import annotations

LINES: tuple[tuple[int, int, int], ...] = (
    (0, 1, 2),
    (3, 4, 5),
    (6, 7, 8),
    (0, 3, 6),
    (1, 4, 7),
    (2, 5, 8),
    (0, 4, 8),
    (2, 4, 6),
)

LINES_THROUGH: tuple[tuple[tuple[int, int, int], ...], ...] = tuple(
    tuple(line for line in LINES if cell in line) for cell in range(9)
)


def winning_line(cells: list[int], cell: int) -> tuple[int, ...]:
    """Return the line completed by the mark just put on `cell`, or `()`."""
    mark = cells[cell]
    for line in LINES_THROUGH[cell]:
        if cells[line[0]] == cells[line[1]] == cells[line[2]] == mark:
            return line
    return ()
