"""The duel of a validation: a submission against itself, to find out whether it plays at all, and quickly.

It ends at the first fault in the order of the schedule, and at a moment that is known beforehand: others wait.
"""

from __future__ import annotations

from typing import Any

from arena_kit.environment.records import Fault
from arena_kit.referee.duel import Duel
from arena_kit.referee.faults import PlayerFault
from arena_kit.referee.link import PlayerLink
from arena_kit.referee.match import Match
from arena_kit.referee.wire import Question

PAIR = 2
"""The matches of the first pair: the player has sat in every seat."""


class Trial(Duel):
    """A duel that ends early. `until`: the moment of the clock at which it ends at the latest.

    A fault in match k ends it as soon as matches 1 to k-1 are over, so the record does not depend on how many matches
    ran at once. The first pair is played alone, or a slow player would end all matches together, too late to show that
    it can end one. At the last moment a trial without a fault is content with the pairs that are over; when there is
    none, the time has run out as it does in a duel.
    """

    def __init__(self, *arguments: Any, until: float, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._until = until
        self._first_fault: tuple[int, PlayerFault, str] | None = None
        """Player, fault and detail of the forfeit that came first in time."""

    def _room(self) -> int:
        is_shown = all(number in self.records for number in range(1, PAIR + 1))
        return super()._room() if is_shown else min(PAIR, super()._room())

    def _open(self, link: PlayerLink, suspects: list[Question] | None) -> None:
        """Start a player only while the trial needs it."""
        is_decided = len(self.records) >= self.count or self._out_of_play != [None, None]
        if not is_decided:
            super()._open(link, suspects)

    def _keep(self, match: Match) -> None:
        super()._keep(match)
        record = match.record
        if record is None or record.fault is not Fault.PLAYER or match.number > self.count:
            return
        self.count = match.number
        self.records = {number: record for number, record in self.records.items() if number <= self.count}
        self._abandon()

    def _forfeit(self, match: Match, player: int, fault: PlayerFault, detail: str = "") -> None:
        if match.is_over:
            # An earlier match of the same player has ended the trial a moment ago.
            return
        if self._first_fault is None:
            self._first_fault = (player, fault, detail)
        super()._forfeit(match, player, fault, detail)

    def _check_time(self, elapsed: float) -> None:
        if self._clock() <= self._until:
            return
        for player, unexplained in enumerate(self._unexplained):
            if unexplained is not None and self._first_fault is None:
                self._first_fault = (player, unexplained[1].fault, unexplained[1].detail)
        if self._first_fault is not None:
            self._note("The time of the trial is used up; what it still looks for is the fault that it has seen.")
            self._take_out(*self._first_fault)
            return
        over = next(number for number in range(1, self.count + 2) if number not in self.records) - 1
        if over < PAIR:
            self._run_out_of_time(elapsed)
            return
        self._note(f"The time of the trial is used up after {over} matches without a fault: that is enough.")
        self.count = over - over % PAIR
        self.records = {number: record for number, record in self.records.items() if number <= self.count}
        self._abandon()

    def _say_goodbye(self, until: float) -> None:
        """As in a duel, and never beyond the moment at which the trial ends: others wait."""
        super()._say_goodbye(min(until, self._until))
