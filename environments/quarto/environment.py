"""Quarto without the square variant.

Observation: 16 cells (-1 or a piece), then the piece in hand, at first 15. Action: 16 * cell + the next piece.
"""

from __future__ import annotations

from collections.abc import Mapping

from arena_kit.environment.protocol import Frame, IllegalAction, MatchOver, Observation
from arena_kit.environment.svg import result_text

from .rules import winning_line
from .words import cell_name, piece_name, pieces_by_look

FIRST_PIECE = 15
SEATS = ("The first seat", "The second seat")


class Quarto:
    """Two seats; +100 for a win, -100 for a loss, 0 for a draw.

    The player to move places the piece in hand and chooses the opponent's next one. The last piece is placed on the
    last cell at once, which wins for the opponent if it completes a line; the hand is empty (-1) then. After any other
    win, the hand holds the piece that the winner's action named.
    """

    def reset(self, seed: int) -> None:
        self._cells = [-1] * 16
        self._free = list(range(16))
        self._hand = FIRST_PIECE
        self._reserve = [piece for piece in range(16) if piece != FIRST_PIECE]
        self._seat = 0
        self._line: tuple[int, ...] = ()
        self._last: int | None = None
        self._automatic: int | None = None
        self._winner: int | None = None
        self._over = False

    @property
    def to_move(self) -> tuple[int, ...]:
        return () if self._over else (self._seat,)

    @property
    def truncated(self) -> bool:
        return False

    def observe(self, seat: int) -> Observation:
        valid: tuple[int, ...] = ()
        if not self._over:
            reserve = self._reserve
            valid = tuple([16 * cell + piece for cell in self._free for piece in reserve])
        return Observation([*self._cells, self._hand], valid)

    def step(self, actions: Mapping[int, int]) -> tuple[float, ...]:
        if self._over:
            raise MatchOver("The match is over.")
        mover = self._seat
        action = actions.get(mover, -1)
        cell, piece = action >> 4, action & 15
        if cell not in self._free or piece not in self._reserve:
            raise IllegalAction(f"Action {action} puts a piece on a taken cell or hands over a piece that is not left.")
        self._place(cell)
        self._last = cell
        self._hand = piece
        self._reserve.remove(piece)
        self._seat = 1 - mover
        if self._line:
            return self._finish(winner=mover)
        if not self._reserve:
            self._automatic = self._free[0]
            self._place(self._automatic)
            self._hand = -1
            return self._finish(winner=1 - mover if self._line else None)
        return (0.0, 0.0)

    def _place(self, cell: int) -> None:
        self._cells[cell] = self._hand
        self._free.remove(cell)
        self._line = winning_line(self._cells, cell)

    def _finish(self, winner: int | None) -> tuple[float, ...]:
        self._over, self._winner = True, winner
        if winner is None:
            return (0.0, 0.0)
        return (100.0, -100.0) if winner == 0 else (-100.0, 100.0)

    def frame(self) -> Frame:
        return {
            "cells": list(self._cells),
            "hand": None if self._hand < 0 else self._hand,
            "reserve": list(self._reserve),
            "to_move": None if self._over else self._seat,
            "last": self._last,
            "automatic": self._automatic,
            "line": list(self._line),
            "winner": self._winner,
            "over": self._over,
        }

    def text(self) -> str:
        """Return the board row by row and the pieces by their traits, then sentences about the match."""
        lines = [self._row_text(start) for start in (0, 4, 8, 12)]
        if self._last is not None:
            lines.append(f"Last move: the {piece_name(self._cells[self._last])} on {cell_name(self._last)}.")
        if self._automatic is not None:
            piece, cell = piece_name(self._cells[self._automatic]), cell_name(self._automatic)
            lines.append(f"The last piece, the {piece}, went on {cell} by itself.")
        if not self._over:
            lines.append(f"In hand: the {piece_name(self._hand)}.")
            lines += ["Left:", *pieces_by_look(self._reserve)]
        lines.append(result_text(self.frame(), SEATS))
        return "\n".join(lines)

    def _row_text(self, start: int) -> str:
        row = self._cells[start : start + 4]
        said = ["free" if piece < 0 else piece_name(piece) for piece in row]
        if max(row) < 0:
            return f"Row {start // 4 + 1}: {cell_name(start)} to {cell_name(start + 3)} free."
        cells = ", ".join(f"{cell_name(start + place)} {words}" for place, words in enumerate(said))
        return f"Row {start // 4 + 1}: {cells}."
