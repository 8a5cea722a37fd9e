"""The rules of Quarto on 16 cells: -1 empty, or a piece from 0 to 15 whose four bits are its traits."""

from __future__ import annotations

LINES: tuple[tuple[int, int, int, int], ...] = (
    (0, 1, 2, 3),
    (4, 5, 6, 7),
    (8, 9, 10, 11),
    (12, 13, 14, 15),
    (0, 4, 8, 12),
    (1, 5, 9, 13),
    (2, 6, 10, 14),
    (3, 7, 11, 15),
    (0, 5, 10, 15),
    (3, 6, 9, 12),
)
LINES_THROUGH = tuple(tuple(line for line in LINES if cell in line) for cell in range(16))


def winning_line(cells: list[int], cell: int) -> tuple[int, ...]:
    """Return a line through `cell` whose four pieces share a trait (all have it or all lack it), or `()`."""
    for line in LINES_THROUGH[cell]:
        a, b, c, d = line
        p, q, r, s = cells[a], cells[b], cells[c], cells[d]
        # The bitwise "or" of the four is negative if and only if one of them is -1, an empty cell.
        if (either := p | q | r | s) >= 0 and (p & q & r & s or either != 15):
            return line
    return ()
