"""Tic-tac-toe. Observation: 9 cells row-major (0, 1, -1), then the player to move (1, -1). Actions: cell 0-8."""

from __future__ import annotations

from collections.abc import Mapping

from environments.api import Frame, IllegalAction, MatchOver, Observation
from environments.tic_tac_toe.rules import winning_line

NAMES = {1: "X", -1: "O"}


class TicTacToe:
    """Two seats; win +1, loss -1, draw 0."""

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
        cell = actions[0 if player == 1 else 1]
        if cell not in self._free:
            raise IllegalAction(f"Cell {cell} is not free.")
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
        return {
            "cells": list(self._cells),
            "player": self._player,
            "last": self._last,
            "line": list(self._line),
            "over": self._over,
        }

    def text(self) -> str:
        marks = [NAMES.get(cell, ".") for cell in self._cells]
        rows = [" ".join(marks[start : start + 3]) for start in (0, 3, 6)]
        if self._line:
            state = f"{NAMES[-self._player]} has won."
        elif self._over:
            state = "Draw."
        else:
            state = f"{NAMES[self._player]} to move."
        return "\n".join([*rows, state])
