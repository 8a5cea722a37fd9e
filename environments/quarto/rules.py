"""Rules of Quarto: 16 cells, -1 empty or a piece 0-15 whose four bits are its traits."""

from __future__ import annotations

LINES: tuple[tuple[int, ...], ...] = (
    *(tuple(range(4 * row, 4 * row + 4)) for row in range(4)),
    *(tuple(range(column, 16, 4)) for column in range(4)),
    (0, 5, 10, 15),
    (3, 6, 9, 12),
)
LINES_THROUGH: tuple[tuple[tuple[int, ...], ...], ...] = tuple(
    tuple(line for line in LINES if cell in line) for cell in range(16)
)


def winning_line(cells: list[int], cell: int) -> tuple[int, ...]:
    """The line through `cell` whose four pieces share a trait (all have it or all lack it), or `()`."""
    for line in LINES_THROUGH[cell]:
        a, b, c, d = (cells[other] for other in line)
        if min(a, b, c, d) >= 0 and (a & b & c & d or (~a & ~b & ~c & ~d) & 15):
            return line
    return ()
