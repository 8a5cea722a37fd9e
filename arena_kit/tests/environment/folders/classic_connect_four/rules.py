"""The lines of four on six rows and seven columns."""

LINES = [
    [(row + step * down, column + step * right) for step in range(4)]
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1))
    for row in range(6)
    for column in range(7)
    if row + 3 * down < 6 and 0 <= column + 3 * right < 7
]
