"""A look at a duel while it is played, for another thread."""

from __future__ import annotations

from collections.abc import Container

from arena_kit.environment.records import MatchRecord
from arena_kit.referee.matches import DuelMatches


class LiveView:
    """The view of a duel for another thread. It only reads what the referee keeps anyway, so the play does nothing for
    it.

    Copies of lists and dictionaries are made in one step of the interpreter; the moves of a simultaneous step are in
    the list only once all of them are chosen.
    """

    def __init__(self) -> None:
        self._matches: DuelMatches | None = None

    def show(self, matches: DuelMatches) -> None:
        """Let the other thread see these matches."""
        self._matches = matches

    def over(self, known: Container[int]) -> list[MatchRecord]:
        """Return the records of the matches that are over, by number, without those that are known."""
        records = {} if self._matches is None else self._matches.records
        return [record for number, record in sorted(records.items()) if number not in known]

    def running(self) -> list[int]:
        """Return the numbers of the matches that are being played, the earliest first."""
        return [] if self._matches is None else sorted(self._matches.running)

    def actions(self, number: int) -> tuple[int, ...] | None:
        """Return the actions of a match so far, its opening included; None if it is not being played."""
        match = None if self._matches is None else self._matches.running.get(number)
        return None if match is None else match.actions_so_far()
