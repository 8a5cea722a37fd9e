"""Connect Four.

Observation: 6 x 7 cells row by row from the top (0 empty, 1 or -1), then the player to move. Action: a column.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping

from arena_kit.environment.protocol import Frame, IllegalAction, MatchOver, Observation
from arena_kit.environment.svg import result_text

from .rules import COLUMNS, ROWS, winning_line

SEATS = ("The first seat (X)", "The second seat (O)")
MARKS = {0: ".", 1: "X", -1: "O"}
EMPTY = (0,) * (ROWS * COLUMNS)
ALL_COLUMNS = tuple(range(COLUMNS))


class ConnectFour:
    """Two seats; +1 for a win, -1 for a loss, 0 for a draw. After the end, the state shows who would move next."""

    def reset(self, seed: int) -> None:
        # The cells and the player to move, in the form of the observation.
        self._state = array("b", [*EMPTY, 1])
        self._free_cell = [(ROWS - 1) * COLUMNS + column for column in ALL_COLUMNS]
        self._columns: tuple[int, ...] = ALL_COLUMNS
        self._player = 1
        self._line: tuple[int, ...] = ()
        self._last: int | None = None
        self._over = False

    @property
    def to_move(self) -> tuple[int, ...]:
        if self._over:
            return ()
        return (0,) if self._player == 1 else (1,)

    @property
    def truncated(self) -> bool:
        return False

    def observe(self, seat: int) -> Observation:
        return Observation(self._state[:], () if self._over else self._columns)

    def step(self, actions: Mapping[int, int]) -> tuple[float, ...]:
        if self._over:
            raise MatchOver("The match is over.")
        player = self._player
        column = actions.get(0 if player == 1 else 1, -1)
        if column not in self._columns:
            raise IllegalAction(f"Column {column} does not exist or is full.")
        cell = self._free_cell[column]
        self._state[cell] = player
        self._free_cell[column] = cell - COLUMNS
        if cell < COLUMNS:
            self._columns = tuple(other for other in self._columns if other != column)
        self._last = cell
        self._player = self._state[-1] = -player
        self._line = winning_line(self._state, cell)
        if self._line:
            self._over = True
            return (1.0, -1.0) if player == 1 else (-1.0, 1.0)
        self._over = not self._columns
        return (0.0, 0.0)

    def frame(self) -> Frame:
        mover = 0 if self._player == 1 else 1
        return {
            "cells": self._state.tolist()[:-1],
            "to_move": None if self._over else mover,
            "last": self._last,
            "line": list(self._line),
            "winner": 1 - mover if self._line else None,
            "over": self._over,
        }

    def text(self) -> str:
        """Return the board with its columns' numbers, then sentences about the last move and the result."""
        marks = [MARKS[cell] for cell in self._state[:-1]]
        lines = [" ".join(marks[start : start + COLUMNS]) for start in range(0, ROWS * COLUMNS, COLUMNS)]
        lines.append(" ".join(str(column) for column in ALL_COLUMNS))
        if self._last is not None:
            row, column = divmod(self._last, COLUMNS)
            lines.append(f"Last move: {marks[self._last]} in column {column}, {ROWS - row} from the bottom.")
        lines.append(result_text(self.frame(), SEATS))
        return "\n".join(lines)
