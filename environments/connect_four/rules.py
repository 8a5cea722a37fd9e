"""The rules of Connect Four on 42 cells, row by row from the top: 0 empty, 1 first seat, -1 second seat."""

from __future__ import annotations

from collections.abc import Sequence

ROWS, COLUMNS = 6, 7

_DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))


def _rays(cell: int) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
    """Return, for each direction, the cells up to three steps forward and backward, the nearest first."""
    row, column = divmod(cell, COLUMNS)

    def ray(down: int, right: int) -> tuple[int, ...]:
        cells = []
        for step in (1, 2, 3):
            r, c = row + step * down, column + step * right
            if not (0 <= r < ROWS and 0 <= c < COLUMNS):
                break
            cells.append(r * COLUMNS + c)
        return tuple(cells)

    return tuple((ray(down, right), ray(-down, -right)) for down, right in _DIRECTIONS)


RAYS = tuple(_rays(cell) for cell in range(ROWS * COLUMNS))


def winning_line(cells: Sequence[int], cell: int) -> tuple[int, ...]:
    """Return the four or more connected cells through the piece just dropped on `cell`, or `()`."""
    mark = cells[cell]
    for forward, backward in RAYS[cell]:
        count = 1
        for other in forward:
            if cells[other] != mark:
                break
            count += 1
        ahead = count - 1
        for other in backward:
            if cells[other] != mark:
                break
            count += 1
        if count >= 4:
            return tuple(sorted((cell, *forward[:ahead], *backward[: count - 1 - ahead])))
    return ()
