"""How long the moves of a recorded match took, in the order in which it is played again."""

from __future__ import annotations

from arena_kit.environment.records import MatchRecord
from arena_kit.environment.replay import ReplayStep


class MoveTimes:
    """Gives the times of a match's moves step by step."""

    def __init__(self, record: MatchRecord) -> None:
        self._left = None if record.move_ms is None else [iter(times) for times in record.move_ms]

    def of(self, step: ReplayStep) -> tuple[int | None, ...]:
        """Return the milliseconds of each move of the next step; None for the opening, and where nothing is known."""
        if self._left is None or step.is_opening:
            return (None,) * len(step.moves)
        # A player without long moves has no times in the record.
        return tuple([next(self._left[step.seats[seat]], 0) for seat, _ in step.moves])
