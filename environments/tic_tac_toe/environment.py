"""Tic-tac-toe.

Observation: 9 cells row by row (0 empty, 1 or -1), then the player to move (1 or -1). Action: a cell, 0 to 8.
"""

from __future__ import annotations

from collections.abc import Mapping

from arena_kit.environment.protocol import Frame, IllegalAction, MatchOver, Observation
from arena_kit.environment.svg import result_text

from .rules import winning_line

SEATS = ("X", "O")
MARKS = {1: "X", -1: "O"}


class TicTacToe:
    """Two seats; +1 for a win, -1 for a loss, 0 for a draw. After the end, the state shows who would move next."""

    def reset(self, seed: int) -> None:
        self._cells = [0] * 9
        self._player = 1
        self._line: tuple[int, ...] = ()
        self._last: int | None = None
        self._free = list(range(9))
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
        return Observation([*self._cells, self._player], () if self._over else tuple(self._free))

    def step(self, actions: Mapping[int, int]) -> tuple[float, ...]:
        if self._over:
            raise MatchOver("The match is over.")
        player = self._player
        cell = actions.get(0 if player == 1 else 1, -1)
        if cell not in self._free:
            raise IllegalAction(f"Cell {cell} does not exist or is taken.")
        self._cells[cell] = player
        self._free.remove(cell)
        self._last = cell
        self._player = -player
        self._line = winning_line(self._cells, cell)
        if self._line:
            self._over = True
            return (1.0, -1.0) if player == 1 else (-1.0, 1.0)
        self._over = not self._free
        return (0.0, 0.0)

    def frame(self) -> Frame:
        mover = 0 if self._player == 1 else 1
        return {
            "cells": list(self._cells),
            "to_move": None if self._over else mover,
            "last": self._last,
            "line": list(self._line),
            "winner": 1 - mover if self._line else None,
            "over": self._over,
        }

    def text(self) -> str:
        """Return the board, then sentences about the last move, the free cells and the result."""
        cells = [MARKS.get(mark, ".") for mark in self._cells]
        lines = [" ".join(cells[start : start + 3]) for start in (0, 3, 6)]
        if self._last is not None:
            mark = MARKS[self._cells[self._last]]
            lines.append(f"Last move: {mark} in row {self._last // 3 + 1}, column {self._last % 3 + 1}.")
        if not self._over:
            lines.append(f"Free cells: {', '.join(str(cell) for cell in self._free)}.")
        lines.append(result_text(self.frame(), SEATS))
        return "\n".join(lines)
