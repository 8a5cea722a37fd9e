"""Nim with one heap. Observation: the stones left. Action: take one to three stones, less one."""

from __future__ import annotations

from collections.abc import Mapping

from arena_kit.environment.protocol import Frame, IllegalAction, MatchOver, Observation


class Nim:
    """Two seats; the seat that takes the last stone gets +1, the other -1."""

    def reset(self, seed: int) -> None:
        self._stones = 10
        self._seat = 0

    @property
    def to_move(self) -> tuple[int, ...]:
        return (self._seat,) if self._stones else ()

    @property
    def truncated(self) -> bool:
        return False

    def observe(self, seat: int) -> Observation:
        return Observation([self._stones], range(min(3, self._stones)))

    def step(self, actions: Mapping[int, int]) -> tuple[float, ...]:
        if not self._stones:
            raise MatchOver("The match is over.")
        action = actions.get(self._seat, -1)
        if not 0 <= action < min(3, self._stones):
            raise IllegalAction(f"Action {action} takes a number of stones that is not allowed.")
        self._stones -= action + 1
        self._seat = 1 - self._seat
        if self._stones:
            return (0.0, 0.0)
        return (-1.0, 1.0) if self._seat == 0 else (1.0, -1.0)

    def frame(self) -> Frame:
        return {"stones": self._stones, "to_move": self._seat if self._stones else None}

    def text(self) -> str:
        return f"{self._stones} stones are left."
