"""The duel of a validation, in which a submission plays against itself to show that it can play.

It ends at the first fault in the order of the schedule, and at a fixed time at the latest, because other work waits.
"""

from __future__ import annotations

from typing import Any

from arena_kit.environment.records import Fault
from arena_kit.referee.duel import Duel
from arena_kit.referee.faults import PlayerFault
from arena_kit.referee.match import Match

PAIR = 2
"""The number of matches in the first pair, after which the player has played in every seat."""


class Trial(Duel):
    """A duel that ends early. until: the time by the clock at which it ends at the latest.

    A fault in match k ends it as soon as matches 1 to k-1 are over, so the record does not depend on how many matches
    ran at once. The first pair is played alone: a slow player that plays all matches at once might end none in time. At
    `until`, a trial without a fault keeps the pairs that are over; if there is no such pair, its time has run out as in
    a duel.
    """

    def __init__(self, *arguments: Any, until: float, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._until = until
        self._first_fault: tuple[int, PlayerFault, str] | None = None
        """Player, fault and detail of the earliest forfeit."""

    def _room(self) -> int:
        is_shown = self.matches.done_in_order_count >= PAIR
        return super()._room() if is_shown else min(PAIR, super()._room())

    def _is_wanted(self) -> bool:
        """Return whether the trial is undecided."""
        return not self.matches.are_over() and self._losses.all_play

    def _keep(self, match: Match) -> None:
        super()._keep(match)
        record = match.record
        if record is not None and record.fault is Fault.PLAYER and match.number <= self.matches.count:
            self._end_at(match.number)

    def _forfeit(self, match: Match, player: int, fault: PlayerFault, detail: str = "") -> None:
        if match.is_over:
            # A forfeit of an earlier match has just ended the trial.
            return
        if self._first_fault is None:
            self._first_fault = (player, fault, detail)
        super()._forfeit(match, player, fault, detail)

    def _check_time(self, elapsed: float) -> None:
        if self._clock() <= self._until:
            return
        for player, unexplained in enumerate(self._losses.unexplained):
            if unexplained is not None and self._first_fault is None:
                self._first_fault = (player, unexplained[1].fault, unexplained[1].detail)
        if self._first_fault is not None:
            self.notes.add("The time of the trial is used up; the first fault seen counts.")
            self._losses.take_out(*self._first_fault)
            return
        over = self.matches.done_in_order_count
        if over < PAIR:
            self._run_out_of_time(elapsed)
            return
        self.notes.add(f"The time of the trial is used up after {over} matches without a fault, which is enough.")
        self._end_at(over - over % PAIR)

    def _say_goodbye(self, until: float) -> None:
        """Wait for the last `end()` calls as a duel does, but never beyond the end of the trial."""
        super()._say_goodbye(min(until, self._until))
